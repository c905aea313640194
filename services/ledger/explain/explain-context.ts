/** The context of an explanation. */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import type { ClusterState, NodeRecord } from "../cluster-state.ts";
import type { History } from "../history.ts";
import type { PresentFreezes } from "../present-freezes.policy.ts";

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
  >;
  /** Why the shard of a node is blind; null where it is not. */
  readonly blindness: (node: string) => string | null;
  /** Whether a drain would delete no pod of a node (direct mode); false while its pods are not known. */
  readonly isDrainEmpty: (node: string) => boolean;
  /** What is frozen now. */
  readonly freezes: PresentFreezes;
  /** The policies in force that have eviction rates; null while this process does not know the policies. */
  readonly rated: ReadonlySet<string> | null;
  /** Whether this process knows the policy of a node, or that it has none. */
  readonly isPolicyKnown: (node: ObservedNode) => boolean;
  /** Why it is not known which nodes exist in the shard of a node; null where it is. */
  readonly unknownReason: (node: string) => string | null;
  /** Whether the explained object is in shadow mode, so that what Vigil is about to do is only what it would do. */
  readonly isShadow: boolean;
  /** The policy that puts the node in shadow mode; null or absent where none does. */
  readonly shadowPolicy?: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** The node of that name; undefined where only a late judgement names it and it is known not to exist. */
export function presentNode(name: string, { state, unknownReason }: ExplainContext): NodeRecord | undefined {
  const node = state.nodes.get(name);
  return node?.observed === null && unknownReason(name) === null ? undefined : node;
}
