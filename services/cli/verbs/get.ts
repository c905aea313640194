/** `vigil get`: what a running fleet knows of zones, nodes, countdowns and of itself. */
import { readinessSchema } from "../../../protocols/judged.ts";
import type { NodeReport, PendingEviction, ZoneReport } from "../../../protocols/status.ts";
import { NATS_SETTINGS } from "../../runtime/config.settings.ts";
import { ConfigProblem, type Setting, type ValuesOf } from "../../runtime/config.value.ts";
import { askConsole, CONSOLE_SETTINGS } from "../console-client.ts";
import { fleetTable, hearFleet } from "../fleet-roll.ts";
import { nodesTable, timersTable, zonesTable } from "../get-tables.ts";
import { defineVerb, type Host, type Verb } from "../verb.ts";

const ANY = "any";

const SETTINGS = {
  output: {
    unit: "choice",
    flag: "output",
    standard: "table",
    choices: ["table", "json"],
    meaning: "How it is printed.",
  } as Setting<string>,
  readiness: {
    unit: "choice",
    flag: "readiness",
    standard: ANY,
    choices: [ANY, ...readinessSchema.options],
    meaning: "Only nodes judged so.",
  } as Setting<string>,
  limit: {
    unit: "count",
    flag: "limit",
    standard: 1000,
    meaning: "How many nodes or timers are shown at most.",
    example: "100",
  } as Setting<number>,
  ...CONSOLE_SETTINGS,
  ...NATS_SETTINGS,
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

/** What can be got: the answer, and the answer as a table. */
interface Topic<A> {
  ask(values: Values): Promise<A>;
  table(answer: A, nowMs: number): string;
}

const topic = <A>(definition: Topic<A>): { show(values: Values, nowMs: number): Promise<string> } => ({
  show: async (values, nowMs) => {
    const answer = await definition.ask(values);
    return values.output === "json" ? `${JSON.stringify(answer, null, 2)}\n` : definition.table(answer, nowMs);
  },
});

const TOPICS = new Map([
  ["zones", topic({ ask: ({ server }) => askConsole<ZoneReport[]>(server, "/api/zones"), table: zonesTable })],
  [
    "nodes",
    topic({
      ask: async ({ server, limit, readiness }) => {
        const judged = readiness === ANY ? "" : `&readiness=${readiness}`;
        return (await askConsole<{ nodes: NodeReport[] }>(server, `/api/nodes?limit=${limit}${judged}`)).nodes;
      },
      table: nodesTable,
    }),
  ],
  [
    "timers",
    topic({
      ask: async ({ server, limit }) =>
        (await askConsole<{ next: PendingEviction[] }>(server, `/api/evictions?limit=${limit}`)).next,
      table: timersTable,
    }),
  ],
  ["fleet", topic({ ask: hearFleet, table: fleetTable })],
]);

/** The verb that shows what is known. */
export const getVerb: Verb = defineVerb({
  name: "get",
  summary: "show zones, nodes, running countdowns, or the members of the fleet",
  words: `<${[...TOPICS.keys()].join("|")}>`,
  firstWords: [...TOPICS.keys()],
  settings: SETTINGS,
  examples: [
    { command: "vigil get zones", does: "state, pace and queue of every zone" },
    {
      command: "vigil get nodes --readiness=unknown",
      does: "the nodes that fell silent, and when they were last heard",
    },
    { command: "vigil get timers --limit=20", does: "the twenty pods to be evicted next, and when" },
    { command: "vigil get fleet --nats=nats://127.0.0.1:4222", does: "the processes on this NATS and their shards" },
  ],
  run: async (values, [name = ""], host: Host) => {
    const found = TOPICS.get(name);
    if (found === undefined)
      throw new ConfigProblem(`${`get ${name}`.trim()}: name one of ${[...TOPICS.keys()].join(", ")}`);
    host.print(await found.show(values, host.wallMs()));
    return 0;
  },
});
