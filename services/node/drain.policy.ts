/**
 * From when a node may be drained, as it is published for people who want to know what is to come. It reads no clock.
 */
import type { BodyOf } from "../../protocols/messages.ts";

/** An instant that moves by less than this is the same one: clocks are slewed. */
const MOVED_MS = 1000;

/** The earliest instant of a drain as `judged.node` carries it. */
export type DrainFrom = Pick<BodyOf<"judged.node">, "evictionFromAt">;

/**
 * The earliest instant of a drain on the wall clock, from the one on the monotonic clock; null when none lies ahead.
 */
export function drainFrom(before: DrainFrom, fromMs: number | null, nowMs: number, wallMs: number): DrainFrom {
  if (fromMs === null || !Number.isFinite(fromMs)) return {};
  const evictionFromAt = Math.round(wallMs + (fromMs - nowMs));
  const isSame = Math.abs(evictionFromAt - (before.evictionFromAt ?? Number.POSITIVE_INFINITY)) < MOVED_MS;
  return isSame ? before : { evictionFromAt };
}
