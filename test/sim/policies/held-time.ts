/**
 * How long the evictions of a node have been held by `maintenance` in any case, from the objects of the API alone. Of
 * policies that select the node each holds it. What Vigil may have seen late, or not at all, does not count.
 */
import { type PolicySnapshot, policiesOf } from "./api-policies.ts";

/** A status that a condition had; null for none. */
export interface Status {
  readonly status: string | null;
  readonly fromMs: number;
}

/** What the API has shown of a node, in order. */
export interface HeldNode {
  /** Of the condition that holds. */
  readonly statuses: readonly Status[];
  readonly snapshots: readonly PolicySnapshot[];
  readonly pool: string | undefined;
}

/** A time in which one policy held, at most for so long after the hold began. */
interface Held {
  readonly policy: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly atMostMs: number;
}

/**
 * The times in which a node was held. Vigil sees and records a hold up to a lag after it begins. One that begins again
 * within a lag may be the same hold to it, so its `atMost` counts from the first of them.
 */
export function leastHeldTimes(node: HeldNode, lagMs: number): readonly (readonly [fromMs: number, toMs: number])[] {
  let [beganMs, endedMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return heldTimes(node).map(({ fromMs, toMs, atMostMs }) => {
    if (fromMs > endedMs + lagMs) beganMs = fromMs;
    endedMs = Math.max(endedMs, toMs);
    return [fromMs + lagMs, Math.min(toMs, beganMs + atMostMs)] as const;
  });
}

/** By their beginnings. What one policy holds without a break is one. */
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

/** A policy that changes goes on holding: the shortest of its `atMost` counts. */
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
