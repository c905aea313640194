/**
 * Decides whether the path of leases is broken: no lease of any node is renewed, while kubelets still post statuses.
 * Sixty nodes renew six times a second together and post a status every five seconds. If statuses of two nodes arrive
 * and no renewal arrives for a grace of 50 s, the nodes are alive and their renewals fail: a user has removed the
 * permission to write leases or the namespace kube-node-lease, or a webhook refuses. Pure; instants are on the
 * monotonic clock.
 */

/** What was received from all nodes. */
export interface HeardHeartbeats {
  /** Nodes that exist and had a lease at some time. */
  readonly leasedNodes: number;
  /** When a lease of any node was last seen renewed, or listed first; null for none yet. */
  readonly renewedMs: number | null;
  /** Nodes whose status was seen since, at least `LIVE_AFTER_MS` later. */
  readonly posted: number;
  /** Since when the watches of leases and of nodes have both been synced; null while one is not. */
  readonly syncedMs: number | null;
}

/**
 * Kubelets renew every ten seconds. A status that comes later than that after a renewal shows that its node is alive.
 */
export const LIVE_AFTER_MS = 10_000;
/** In a smaller cluster the loss of one node looks the same. */
const NODES_MIN = 3;
/** One status may be of a machine whose lease alone is broken. */
const POSTED_MIN = 2;

/** Whether leases are not renewed although nodes are alive. `graceMs` is how long a node may be silent. */
export function isLeasePathBroken(heard: HeardHeartbeats, nowMs: number, graceMs: number): boolean {
  const { leasedNodes, renewedMs, posted, syncedMs } = heard;
  if (renewedMs === null || syncedMs === null) return false;
  const isQuiet = nowMs - Math.max(renewedMs, syncedMs) >= graceMs;
  return isQuiet && leasedNodes >= NODES_MIN && posted >= POSTED_MIN;
}
