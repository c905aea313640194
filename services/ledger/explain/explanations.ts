/** Explanations of nodes, zones, policies and pods, with the state, the history and the policies of this instant. */
import type { LedgerReader } from "../../../protocols/ledger-reader.ts";
import type { Io } from "../../../protocols/ports.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { NO_OUTAGES, nodeOutagesOf } from "../../domain/paused-time/outages.ts";
import type { History } from "../record/history.ts";
import { type PodRecord, targetOf } from "../state/pod-records.ts";
import { presentFreezes } from "../state/present-freezes.policy.ts";
import { shadowOn } from "../state/shadowed-nodes.policy.ts";
import type { StateSubscriber } from "../state/state-subscriber.ts";
import { ratedNow } from "../state/waiting-evictions.policy.ts";
import { explainNode, explainPod, explainPolicy, explainZone } from "./explain.policy.ts";
import type { ExplainContext } from "./explain-context.ts";
import { LivePods, type PodRead } from "./live-pods.ts";

/** What explanations are made of. */
export interface ExplainSources {
  readonly state: StateSubscriber;
  readonly history: History;
  /** Whether Vigil runs in shadow mode. */
  readonly isShadow: boolean;
}

/** The answers that explain the present state. */
export function explanationsOf(
  io: Io,
  sources: ExplainSources,
): Pick<LedgerReader, "explainNode" | "explainZone" | "explainPolicy" | "explainPod"> {
  const { pods } = sources.state.cluster;
  const livePods = new LivePods(io);
  const contextOf = (node: string | null): ExplainContext => explainContext(node, io, sources);
  return {
    explainNode: (name) => explainNode(name, contextOf(name)),
    explainZone: (name) => explainZone(name, contextOf(null)),
    explainPolicy: (name) => explainPolicy(name, io.policies.current(), contextOf(null)),
    explainPod: (namespace, name, done) =>
      livePods.read(namespace, name, (read) => {
        const node = hostOf(read, pods.named(namespace, name));
        done(explainPod(namespace, name, read, contextOf(node)));
      }),
  };
}

/** The context of an explanation about a node or what runs on it; null for no node. */
function explainContext(
  node: string | null,
  { clock, policies, profile }: Io,
  { state, history, isShadow }: ExplainSources,
): ExplainContext {
  const { cluster, drainPods, unknownReason, watchHealth } = state;
  return {
    state: cluster,
    history,
    profile,
    ...shadowOn(node, { state: cluster, policies, isShadow }),
    leasePath: watchHealth.leasePath,
    contestedLease: (name) => watchHealth.contestedLease(name),
    blindness: (name) => watchHealth.blindness(shardOf(name), clock.monotonicMs()),
    freezes: presentFreezes(policies.current(), profile, clock.wallMs()),
    outagesOf: (observed) =>
      profile.upstream === "beside"
        ? NO_OUTAGES
        : nodeOutagesOf(observed, policies.current(), watchHealth.outages, profile),
    observedOutages: watchHealth.outages,
    rated: ratedNow(policies),
    policyNamed: (name) => policies.current()?.policies.find((policy) => policy.name === name) ?? null,
    isPolicyKnown: (observed) => policyOf(observed, policies.current()).kind !== "unknown",
    isDrainEmpty: (name) => drainPods.isEmpty(name),
    unknownReason,
    machineAheadMs: clock.machineAheadMs?.() ?? 0,
    now: clock.wallMs(),
  };
}

/** The node of a pod as read, or as last known; null where none is. */
function hostOf(read: PodRead, named: PodRecord | undefined): string | null {
  if (read.kind === "present") return read.bound?.node ?? null;
  return named === undefined ? null : (targetOf(named)?.node ?? null);
}
