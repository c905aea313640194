/** The context of an explanation. */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { BrokenLeasePath, ContestedLease } from "../../../protocols/observed.ts";
import type { FrozenInterval, NodePolicy } from "../../../protocols/policy-set.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import type { OutageTime } from "../../domain/paused-time/outages.ts";
import { leasePathText } from "../../platform/shard-view/lease-path-text.ts";
import type { ClusterState, NodeRecord } from "../cluster-state.ts";
import type { History } from "../history.ts";
import type { PresentFreezes } from "../present-freezes.policy.ts";
import { type Sentence, sentence } from "./sentences.ts";

/**
 * How long the judgement of a node may be older than its Ready status, in milliseconds. Its owner follows within a
 * second; a judgement that was lost is published again after a request for a resync.
 */
const REJUDGED_WITHIN_MS = 30_000;

/** What an explanation is computed from. */
export interface ExplainContext {
  readonly state: ClusterState;
  readonly history: History;
  readonly profile: Pick<
    Profile,
    | "nodeMonitorGraceMs"
    | "nodeStartupGraceMs"
    | "largeClusterSizeThreshold"
    | "evictionMode"
    | "upstream"
    | "askRetryMaxMs"
    | "tolerationComparisonOperators"
    | "circuitBreakerNodesMax"
    | "circuitBreakerPercentage"
    | "circuitBreakerHolds"
  >;
  /** Why the shard of a node is blind; null where it is not. */
  readonly blindness: (node: string) => string | null;
  /** How no lease of any node is renewed though statuses still arrive; null while leases are renewed. */
  readonly leasePath: BrokenLeasePath | null;
  /** How the lease of a node is contested; null where it is not. */
  readonly contestedLease: (node: string) => ContestedLease | null;
  /** Whether a drain would delete no pod of a node (direct mode); false while its pods are not known. */
  readonly isDrainEmpty: (node: string) => boolean;
  /** What is frozen now. */
  readonly freezes: PresentFreezes;
  /** What outages mean for countdowns by the health of a node. */
  readonly outagesOf: (node: ObservedNode) => OutageTime;
  /** The outages that the observer has found. */
  readonly observedOutages: readonly FrozenInterval[];
  /** The policies in force that have eviction rates; null while this process does not know the policies. */
  readonly rated: ReadonlySet<string> | null;
  /** The policy of this name that is in force; null for none, and while this process does not know the policies. */
  readonly policyNamed: (name: string) => NodePolicy | null;
  /** Whether this process knows the policy of a node, or that it has none. */
  readonly isPolicyKnown: (node: ObservedNode) => boolean;
  /** Why it is not known which nodes exist in the shard of a node; null where it is. */
  readonly unknownReason: (node: string) => string | null;
  /** Whether Vigil is in shadow mode, so that what it is about to do is only what it would do. */
  readonly isShadow: boolean;
  /** How far the clock of this machine is ahead of the API server's, which counts, in milliseconds. */
  readonly machineAheadMs: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** The node of that name; undefined where only a late judgement names it and it is known not to exist. */
export function presentNode(name: string, { state, unknownReason }: ExplainContext): NodeRecord | undefined {
  const node = state.nodes.get(name);
  return node?.observed === null && unknownReason(name) === null ? undefined : node;
}

/**
 * Whether the judgement of a node is of an earlier time: the API has shown another Ready status since, and its owner,
 * which may stand still, has not judged it again. A verdict that is not written yet is newer than the status.
 */
export function isOutdated(
  { judged, judgedAt, observed, readyChangedAt }: NodeRecord,
  { now }: Pick<ExplainContext, "now">,
): boolean {
  if (judged === null || judgedAt === null || observed === null || readyChangedAt === null) return false;
  const isOlder = judgedAt < readyChangedAt && now - readyChangedAt >= REJUDGED_WITHIN_MS;
  return isOlder && judged.ready !== (readyConditionOf(observed)?.status ?? null);
}

/** The judgement of a node as of now; null where it has none. */
export function presentJudgement(node: NodeRecord, context: ExplainContext): NodeRecord["judged"] {
  return isOutdated(node, context) ? null : node.judged;
}

/** The sentence that names the broken path of leases; none while leases are renewed. */
export function leasePathSentences({ leasePath }: Pick<ExplainContext, "leasePath">): Sentence[] {
  return leasePath === null ? [] : [sentence("leasePathBroken", { why: leasePathText(leasePath) })];
}
