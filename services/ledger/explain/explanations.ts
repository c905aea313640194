/** Explanations of nodes, zones, policies and pods at the instant of the question. */
import type { LedgerReader } from "../../../protocols/ledger-reader.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { History } from "../record/history.ts";
import type { StateSubscriber } from "../state/state-subscriber.ts";
import { explainNode, explainPod, explainPolicy, explainZone } from "./explain.policy.ts";
import { type ExplainContext, explainContext } from "./explain-context.ts";
import { LivePods } from "./live-pods.ts";

/** The answers that explain the present state. */
export function explanationsOf(
  setup: Pick<LedgerSetup, "io" | "isShadow">,
  state: StateSubscriber,
  history: History,
): Pick<LedgerReader, "explainNode" | "explainZone" | "explainPolicy" | "explainPod"> {
  const livePods = new LivePods(setup.io);
  const context = (): ExplainContext => explainContext(setup, { state, history });
  return {
    explainNode: (name) => explainNode(name, context()),
    explainZone: (name) => explainZone(name, context()),
    explainPolicy: (name) => explainPolicy(name, setup.io.policies.current(), context()),
    explainPod: (namespace, name, done) =>
      livePods.read(namespace, name, (read) => done(explainPod(namespace, name, read, context()))),
  };
}
