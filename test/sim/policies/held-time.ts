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
export interface HeldNode {
  /** The state of the condition of `maintenance`. */
  readonly statuses: readonly Status[];
  readonly snapshots: readonly PolicySnapshot[];
  readonly pool: string | undefined;
}

/** A time in which one policy blocked evictions, at most for so long after the maintenance began. */
interface Held {
  readonly policy: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly atMostMs: number;
}

/**
 * The times in which maintenance blocked a node. Vigil observes and records maintenance up to a lag after it begins. If
 * it begins again within a lag, Vigil may not have observed the break, so `atMost` counts from the first beginning.
 */
export function leastHeldTimes(node: HeldNode, lagMs: number): readonly (readonly [fromMs: number, toMs: number])[] {
  let [beganMs, endedMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return heldTimes(node).map(({ fromMs, toMs, atMostMs }) => {
    if (fromMs > endedMs + lagMs) beganMs = fromMs;
    endedMs = Math.max(endedMs, toMs);
    return [fromMs + lagMs, Math.min(toMs, beganMs + atMostMs)] as const;
  });
}

/** Sorted by their beginnings. Times of one policy without a break between them are one. */
function heldTimes({ statuses, snapshots, pool }: HeldNode): Held[] {
  const holding = snapshots.flatMap((snapshot, index) =>
    policiesOf(snapshot, pool).flatMap(({ name, holdAtMostMs }) => {
      const toMs = snapshots[index + 1]?.fromMs ?? Infinity;
      return holdAtMostMs === null ? [] : [{ policy: name, fromMs: snapshot.fromMs, toMs, atMostMs: holdAtMostMs }];
    }),
  );
  const held = statuses.flatMap(({ status, fromMs }, index) => {
    const toMs = statuses[index + 1]?.fromMs ?? Infinity;
    return status === "True" ? joined(holding.flatMap((each) => within(each, fromMs, toMs))) : [];
  });
  return held.toSorted((left, right) => left.fromMs - right.fromMs);
}

function within(held: Held, fromMs: number, toMs: number): Held[] {
  const part = { ...held, fromMs: Math.max(held.fromMs, fromMs), toMs: Math.min(held.toMs, toMs) };
  return part.fromMs < part.toMs ? [part] : [];
}

/** A policy that changes continues to block: the shortest of its `atMost` counts. */
function joined(parts: readonly Held[]): Held[] {
  const held: Held[] = [];
  for (const part of parts) {
    const index = held.findIndex(({ policy, toMs }) => policy === part.policy && toMs === part.fromMs);
    const before = held[index];
    if (before === undefined) held.push(part);
    else held[index] = { ...before, toMs: part.toMs, atMostMs: Math.min(before.atMostMs, part.atMostMs) };
  }
  return held;
}
