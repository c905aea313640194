/** Which limits and freezes hold back the waiting nodes of each zone. */
import type { ZoneHold } from "../../../protocols/ledger-reader.ts";
import { countText, type NamedText, named, namedList } from "../../domain/format.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { holdOn, limiterText } from "../explain/queue.policy.ts";
import type { ClusterState } from "../state/cluster-state.ts";
import type { PresentFreezes } from "../state/present-freezes.policy.ts";

/** The fields that hold back waiting nodes, by the key of their zone, or of their policy's domain in it. */
export function zoneHolds(
  { nodes, limits }: Pick<ClusterState, "nodes" | "limits">,
  freezes: PresentFreezes,
): ReadonlyMap<string, readonly ZoneHold[]> {
  const zones = new Map<string, ZoneHold[]>();
  for (const node of nodes.values()) {
    if (node.observed === null || node.judged === null || waitingTaintOf(node.judged) === null) continue;
    const { zone } = node.judged;
    const isFrozen = freezes.ofNode(node.judged) !== null;
    const hold = isFrozen ? FROZEN : holdOn(node, node.judged, limits, freezes.at);
    if (hold !== null) zones.set(zone, withNode(zones.get(zone) ?? [], hold));
  }
  return zones;
}

/** These fields as English: `2 nodes by maxUnhealthy of NodePolicy gpu and 1 node by a freeze`. */
export function holdsText(holds: readonly ZoneHold[]): NamedText {
  return namedList(
    holds.map(({ policy, field, nodes }) => {
      const by = policy === null || field === null ? "a freeze" : named`${field} of ${limiterText(policy)}`;
      return named`${countText(nodes, "node")} by ${by}`;
    }),
  );
}

const FROZEN: Omit<ZoneHold, "nodes"> = { policy: null, field: null };

function withNode(holds: readonly ZoneHold[], { policy, field }: Omit<ZoneHold, "nodes">): ZoneHold[] {
  const isSame = (hold: ZoneHold): boolean => hold.policy === policy && hold.field === field;
  if (!holds.some(isSame)) return [...holds, { policy, field, nodes: 1 }];
  return holds.map((hold) => (isSame(hold) ? { ...hold, nodes: hold.nodes + 1 } : hold));
}
