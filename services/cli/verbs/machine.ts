/** `vigil machine`: prints the state machine of a node or a zone, as it runs, as a Mermaid diagram. */
import { nodeMachine } from "../../node/node.machine.ts";
import { ConfigProblem } from "../../platform/config/value.ts";
import { type DrawnState, machineMermaid } from "../../structures/machine-mermaid.ts";
import { zoneMachine } from "../../zone/zone.machine.ts";
import { defineVerb, type Verb } from "../verb.ts";

const MACHINES = new Map<string, DrawnState>([
  ["node", nodeMachine.config],
  ["zone", zoneMachine.config],
]);

/** The verb that draws a machine. */
export const machineVerb: Verb = defineVerb({
  name: "machine",
  summary: "draw the state machine of a node or a zone as a Mermaid diagram",
  words: `<${[...MACHINES.keys()].join("|")}>`,
  firstWords: [...MACHINES.keys()],
  wordsMax: 1,
  settings: {},
  examples: [{ command: "vigil machine node", does: "prints the states of a node, for any page that renders Mermaid" }],
  run: async (_values, [name = ""], host) => {
    const chart = MACHINES.get(name);
    if (chart === undefined)
      throw new ConfigProblem(`${`machine ${name}`.trim()}: name a machine, ${[...MACHINES.keys()].join(" or ")}`);
    host.print(machineMermaid(chart));
    return 0;
  },
});
