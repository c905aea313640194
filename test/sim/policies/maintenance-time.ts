/**
 * How long `maintenance` has blocked the evictions of a node in any case, from the objects of the API alone. Each
 * policy that selects the node blocks them. What Vigil may have observed late, or not at all, does not count.
 */
import { type PolicySnapshot, policiesOf } from "./api-policies.ts";

/** A status that a condition had; null for none. */
export interface Status {
  readonly status: string | null;
  readonly fromMs: number;
}

/** What the API has shown of a node, in order. */
export interface MaintainedNode {
  /** The state of the condition of `maintenance`. */
  readonly statuses: readonly Status[];
  readonly snapshots: readonly PolicySnapshot[];
  readonly pool: string | undefined;
}

/** A time in which one policy blocked evictions, at most for so long after the maintenance began. */
interface MaintenanceTime {
  readonly policy: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly atMostMs: number;
}

/**
 * The times in which maintenance blocked a node. Vigil observes and records maintenance up to a lag after it begins.
 * Example: with a lag of 4 s, a drain from second 10 to second 20 blocks from 14 to 20, so a countdown of 30 s that
 * began at 0 ends at 36. If it begins again within a lag, Vigil may not have observed the break, so `atMost` counts
 * from the first beginning.
 */
export function leastMaintenanceTimes(
  node: MaintainedNode,
  lagMs: number,
): readonly (readonly [fromMs: number, toMs: number])[] {
  let [beganMs, endedMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return maintenanceTimes(node).map(({ fromMs, toMs, atMostMs }) => {
    if (fromMs > endedMs + lagMs) beganMs = fromMs;
    endedMs = Math.max(endedMs, toMs);
    return [fromMs + lagMs, Math.min(toMs, beganMs + atMostMs)] as const;
  });
}

/** Sorted by their beginnings. Times of one policy without a break between them are one. */
function maintenanceTimes({ statuses, snapshots, pool }: MaintainedNode): MaintenanceTime[] {
  const enforced = snapshots.flatMap((snapshot, index) =>
    policiesOf(snapshot, pool).flatMap(({ name, holdAtMostMs }) => {
      const toMs = snapshots[index + 1]?.fromMs ?? Infinity;
      return holdAtMostMs === null ? [] : [{ policy: name, fromMs: snapshot.fromMs, toMs, atMostMs: holdAtMostMs }];
    }),
  );
  const times = statuses.flatMap(({ status, fromMs }, index) => {
    const toMs = statuses[index + 1]?.fromMs ?? Infinity;
    return status === "True" ? joined(enforced.flatMap((each) => within(each, fromMs, toMs))) : [];
  });
  return times.toSorted((left, right) => left.fromMs - right.fromMs);
}

function within(time: MaintenanceTime, fromMs: number, toMs: number): MaintenanceTime[] {
  const part = { ...time, fromMs: Math.max(time.fromMs, fromMs), toMs: Math.min(time.toMs, toMs) };
  return part.fromMs < part.toMs ? [part] : [];
}

/** A policy that changes continues to block: the shortest of its `atMost` counts. */
function joined(parts: readonly MaintenanceTime[]): MaintenanceTime[] {
  const times: MaintenanceTime[] = [];
  for (const part of parts) {
    const index = times.findIndex(({ policy, toMs }) => policy === part.policy && toMs === part.fromMs);
    const before = times[index];
    if (before === undefined) times.push(part);
    else times[index] = { ...before, toMs: part.toMs, atMostMs: Math.min(before.atMostMs, part.atMostMs) };
  }
  return times;
}
