/** Explanations of nodes, zones, policies and pods at the instant of the question. */
import type { LedgerReader } from "../../../protocols/ledger-reader.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { History } from "../record/history.ts";
import { type PodRecord, targetOf } from "../state/pod-records.ts";
import type { StateSubscriber } from "../state/state-subscriber.ts";
import { explainNode, explainPod, explainPolicy, explainZone } from "./explain.policy.ts";
import { type ExplainContext, explainContext } from "./explain-context.ts";
import { LivePods, type PodRead } from "./live-pods.ts";

/** The answers that explain the present state. */
export function explanationsOf(
  setup: Pick<LedgerSetup, "io" | "isShadow">,
  state: StateSubscriber,
  history: History,
): Pick<LedgerReader, "explainNode" | "explainZone" | "explainPolicy" | "explainPod"> {
  const livePods = new LivePods(setup.io);
  const contextOf = (node: string | null): ExplainContext => explainContext(node, setup, { state, history });
  return {
    explainNode: (name) => explainNode(name, contextOf(name)),
    explainZone: (name) => explainZone(name, contextOf(null)),
    explainPolicy: (name) => explainPolicy(name, setup.io.policies.current(), contextOf(null)),
    explainPod: (namespace, name, done) =>
      livePods.read(namespace, name, (read) => {
        const node = hostOf(read, state.cluster.pods.named(namespace, name));
        done(explainPod(namespace, name, read, contextOf(node)));
      }),
  };
}

/** The node of a pod as read, or as last known; null where none is. */
function hostOf(read: PodRead, named: PodRecord | undefined): string | null {
  if (read.kind === "present") return read.bound?.node ?? null;
  return named === undefined ? null : (targetOf(named)?.node ?? null);
}
