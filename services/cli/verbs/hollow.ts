/** `vigil hollow`: nodes without machines by the thousand, and orders to those that run already. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type Setting } from "../../platform/config/value.ts";
import { askLine } from "../../platform/process/line-socket.ts";
import { dnsSubdomainProblems } from "../../sandbox/apiserver/validation/object-names.ts";
import { HOLLOW_ORDERS, type HollowAnswer, type HollowOrder } from "../../sandbox/hollow/control.ts";
import { HOLLOW_NODE_SETTINGS, runHollow } from "../hollow/hollow-process.ts";
import { ORDER_SETTINGS, orderOf } from "../hollow/order.ts";
import { summaryLine } from "../hollow/progress.ts";
import { defineVerb, Failure, type Verb } from "../verb.ts";

const SETTINGS = {
  ...HOLLOW_NODE_SETTINGS,
  socket: {
    unit: "text",
    flag: "socket",
    standard: join(tmpdir(), "vigil-hollow.sock"),
    meaning: "Socket on which running hollow nodes take orders.",
    example: "hollow.sock",
  } as Setting<string>,
  ...ORDER_SETTINGS,
  ...KUBE_SETTINGS,
  ...LOG_SETTINGS,
} as const;

/** The verb that runs hollow nodes or gives them orders. */
export const hollowVerb: Verb = defineVerb({
  name: "hollow",
  summary: "run hollow nodes that register and heartbeat like real ones, or order running ones about",
  words: `[${HOLLOW_ORDERS.join("|")}]`,
  firstWords: HOLLOW_ORDERS,
  settings: SETTINGS,
  examples: [
    { command: "vigil hollow --nodes=1000 --zones=10 --pods-per-node=5", does: "runs nodes until it is interrupted" },
    { command: "vigil hollow stop --zone=zone-3", does: "silences a zone; resume brings it back" },
    { command: "vigil hollow set --condition=MemoryPressure=True --fraction=0.1", does: "puts a tenth under pressure" },
    { command: "vigil hollow lag 45s --match='hollow-1.*'", does: "makes heartbeats come 45 s late; lag 0 ends it" },
    { command: "vigil hollow flap 60s --node=hollow-7", does: "stops and resumes a node each minute; flap 0 ends it" },
    { command: "vigil hollow remove", does: "deletes the nodes and their leases from the cluster" },
  ],
  run: async (values, words, host) => {
    if (words.length === 0) return runHollow(checked(values), host);
    const answer = await ask(values.socket, orderOf(words, values));
    if ("problem" in answer) throw new Failure(answer.problem);
    const reached = words[0] === "status" ? "" : `${words[0]} reached ${answer.reached} nodes; now `;
    host.print(`${reached}${summaryLine(answer.summary)}\n`);
    return 0;
  },
});

/** The settings, when nodes can be named by them: the API server would refuse each node for ever. */
function checked<V extends { readonly namePrefix: string }>(values: V): V {
  const { namePrefix } = values;
  if (dnsSubdomainProblems(`${namePrefix}-0`).length === 0) return values;
  throw new ConfigProblem(
    `--name-prefix=${namePrefix}: not what names of nodes can begin with; write it as hollow, in lower case`,
  );
}

async function ask(socket: string, order: HollowOrder): Promise<HollowAnswer> {
  const line = await askLine(socket, JSON.stringify(order)).catch((error: Error) => {
    throw new Failure(`no hollow nodes take orders at --socket=${socket} (${error.message}); start vigil hollow first`);
  });
  return JSON.parse(line) as HollowAnswer;
}
