/** The nodes that wait for eviction: their places in the queues of their zones, and what blocks them. */
import type { HoldReport, ZoneHold } from "../../../protocols/ledger-reader.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { POLICY_CEILING, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import type { ClusterState, Judged, NodeJudgement, NodeRecord } from "./cluster-state.ts";
import type { PresentFreezes } from "./present-freezes.policy.ts";

/** A state that is not published for this long has no owner or a blind one; an owner repeats it every few seconds. */
const STALE_MS = 15_000;
const SECOND_MS = 1000;

/**
 * When a node is admitted at the present rate, epoch milliseconds; null where none is admitted. Example: at 0.1 nodes
 * per second and with 0.4 tokens in the bucket, the first node waits 6 s and the third 26 s.
 */
export function grantAt(place: number, { judged, publishedAt }: Judged<"judged.zone">): number | null {
  const { tokens, taintsPerSecond, halted } = judged;
  if (halted || taintsPerSecond <= 0) return null;
  const tokensMissing = Math.max(0, 1 - tokens) + (place - 1);
  return publishedAt + (tokensMissing / taintsPerSecond) * SECOND_MS;
}

/** A node's place in the queue of its zone, from 1; null where the zone does not list it. */
export function placeOf(node: string, zone: Judged<"judged.zone"> | undefined): number | null {
  const index = zone?.judged.queue?.indexOf(node) ?? -1;
  return index < 0 ? null : index + 1;
}

/** Whether the state of a zone, or of limits, is recent enough to count. */
export function isRecent({ publishedAt }: Pick<Judged<"judged.zone">, "publishedAt">, now: number): boolean {
  return now - publishedAt < STALE_MS;
}

/** The limit that blocks a waiting node, as its owner published it lately; null for none. */
export function blockedBy(
  { name }: Pick<NodeRecord, "name">,
  judged: Pick<NodeJudgement, "eviction" | "conditions" | "policy">,
  limits: ClusterState["limits"],
  now: number,
): HoldReport | null {
  if (waitingTaintOf(judged) === null) return null;
  const { policy, eviction } = judged;
  // For its conditions a node waits under all policies together.
  const together = eviction === "toBeEvicted" ? undefined : limits.get(POLICY_CEILING);
  // Limits that a policy has lost are not published any more, so those of the cluster remain.
  const known = [together, policy === undefined ? undefined : limits.get(policy), limits.get(WHOLE_CLUSTER)];
  const record = known.find((limited) => limited !== undefined && isRecent(limited, now));
  if (record === undefined) return null;
  const { permits, holds } = record.judged;
  if (permits.some(({ node }) => node === name)) return null;
  // What blocks nodes of other policies under all policies together does not block this one.
  const of = (whose: string | undefined): HoldReport | undefined => holds.find((hold) => hold.policy === whose);
  return of(policy) ?? of(WHOLE_CLUSTER) ?? null;
}

/** The fields that block waiting nodes, by the key of their zone, or of their policy's domain in it. */
export function blocksByZone(
  { nodes, limits }: Pick<ClusterState, "nodes" | "limits">,
  freezes: PresentFreezes,
): ReadonlyMap<string, readonly ZoneHold[]> {
  const zones = new Map<string, ZoneHold[]>();
  for (const node of nodes.values()) {
    if (node.observed === null || node.judged === null || waitingTaintOf(node.judged) === null) continue;
    const { zone } = node.judged;
    const isFrozen = freezes.evictionFreeze(node.judged) !== null;
    const block = isFrozen ? FROZEN : blockedBy(node, node.judged, limits, freezes.at);
    if (block !== null) zones.set(zone, withNode(zones.get(zone) ?? [], block));
  }
  return zones;
}

const FROZEN: Omit<ZoneHold, "nodes"> = { policy: null, field: null };

function withNode(blocks: readonly ZoneHold[], { policy, field }: Omit<ZoneHold, "nodes">): ZoneHold[] {
  const isSame = (block: ZoneHold): boolean => block.policy === policy && block.field === field;
  if (!blocks.some(isSame)) return [...blocks, { policy, field, nodes: 1 }];
  return blocks.map((block) => (isSame(block) ? { ...block, nodes: block.nodes + 1 } : block));
}
