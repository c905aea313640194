/** `vigil hollow`: runs nodes without machines by the thousand, and sends orders to running ones. */
import { countText } from "../../domain/format.ts";
import { textSetting } from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem } from "../../platform/config/value.ts";
import { requestLine } from "../../platform/process/line-socket.ts";
import { dnsSubdomainProblems } from "../../sandbox/apiserver/validation/object-names.ts";
import { HOLLOW_ORDERS, type HollowAnswer, type HollowOrder } from "../../sandbox/hollow/control.ts";
import { HOLLOW_NODE_SETTINGS, runHollow } from "../hollow/hollow-process.ts";
import { HOLLOW_SOCKET, ORDER_SETTINGS, orderOf } from "../hollow/order.ts";
import { summaryLine } from "../hollow/progress.ts";
import { defineVerb, Failure, type Verb } from "../verb.ts";

const SETTINGS = {
  ...HOLLOW_NODE_SETTINGS,
  socket: textSetting("socket", "hollow.sock", "Socket on which running hollow nodes take orders.", HOLLOW_SOCKET),
  ...ORDER_SETTINGS,
  ...KUBE_SETTINGS,
  ...LOG_SETTINGS,
} as const;

/** The verb that runs hollow nodes or sends them orders. */
export const hollowVerb: Verb = defineVerb({
  name: "hollow",
  summary: "run hollow nodes that register and heartbeat like real ones, or send orders to running ones",
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
    const answer = await sendOrder(values.socket, orderOf(words, values));
    if ("problem" in answer) throw new Failure(answer.problem);
    const isQuestion = words[0] === "status";
    const reached = isQuestion ? "" : `${words[0]} reached ${countText(answer.reached, "node")}; now `;
    const report = `${reached}${summaryLine(answer.summary)}`;
    if (!isQuestion && answer.reached === 0)
      throw new Failure(`${report}; check --node, --match, --zone and --fraction`);
    host.print(`${report}\n`);
    return 0;
  },
});

/** The settings, if their prefix makes valid node names: the API server would reject any other. */
function checked<V extends { readonly namePrefix: string }>(values: V): V {
  const { namePrefix } = values;
  if (dnsSubdomainProblems(`${namePrefix}-0`).length === 0) return values;
  throw new ConfigProblem(`--name-prefix=${namePrefix}: not a prefix of node names; use lower case, such as hollow`);
}

async function sendOrder(socket: string, order: HollowOrder): Promise<HollowAnswer> {
  const line = await requestLine(socket, JSON.stringify(order)).catch((error: Error) => {
    throw new Failure(`no hollow nodes take orders at --socket=${socket} (${error.message}); start vigil hollow first`);
  });
  return JSON.parse(line) as HollowAnswer;
}
