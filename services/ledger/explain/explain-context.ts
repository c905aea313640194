/** What an explanation rests on, and what several of its sentences ask of that. It decides nothing. */
import type { Profile } from "../../../protocols/profile.ts";
import type { ClusterState, NodeRecord } from "../cluster-state.ts";
import type { History } from "../history.ts";

/** What an explanation rests on. */
export interface ExplainContext {
  readonly state: ClusterState;
  readonly history: History;
  readonly profile: Pick<
    Profile,
    | "nodeMonitorGraceMs"
    | "nodeStartupGraceMs"
    | "largeClusterSizeThreshold"
    | "evictionMode"
    | "askRetryMaxMs"
    | "tolerationComparisonOperators"
  >;
  /** Why no verdict can be passed on a node now; null when it can. */
  readonly blindness: (node: string) => string | null;
  /** Why a node that was not observed may be there all the same; null when it cannot. */
  readonly unknownReason: (node: string) => string | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** The node of that name; undefined where only a late judgement names it, and it is known not to be there. */
export function presentNode(name: string, { state, unknownReason }: ExplainContext): NodeRecord | undefined {
  const node = state.nodes.get(name);
  return node?.observed === null && unknownReason(name) === null ? undefined : node;
}
