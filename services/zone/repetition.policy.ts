/**
 * When an owner republishes what has not changed: with each pulse for a while, in case readers missed the change, then
 * less often, for readers that have started since.
 */
import type { Profile } from "../../protocols/profile.ts";

/** How often a zone that has been the same for a while is published again, in milliseconds. */
const ZONE_REPEAT_MS = 5_000;

/** When something was published first and last since it changed, on the monotonic clock. */
export interface Published {
  readonly sinceMs: number;
  readonly atMs: number;
}

type Pulses = Pick<Profile, "pulsePeriodMs" | "pulseTimeoutMs">;

/** How something is repeated: with pulses after a change, and then every `repeatMs` milliseconds. */
export interface Repetition {
  readonly pulses: Pulses;
  readonly repeatMs: number;
}

/** How zones are repeated. */
export function zoneRepetition(pulses: Pulses): Repetition {
  return { pulses, repeatMs: ZONE_REPEAT_MS };
}

/**
 * Whether a pulse repeats what is unchanged. A reader drops an announcement of a former owner once it is older than a
 * pulse timeout and another owner contradicts it. So a new one is repeated with each pulse for twice as long.
 */
export function isRepeatDue(published: Published, nowMs: number, repetition: Repetition): boolean {
  const isNew = nowMs - published.sinceMs <= 2 * repetition.pulses.pulseTimeoutMs;
  return isNew || isOverdue(published, nowMs, repetition);
}

/**
 * Whether a pulse repeats everything of an owner, because the repetition of a part is due by its age: one pulse with
 * everything costs less than several with a part each.
 */
export function isRoundDue(all: Iterable<Published>, nowMs: number, repetition: Repetition): boolean {
  for (const published of all) if (isOverdue(published, nowMs, repetition)) return true;
  return false;
}

function isOverdue({ atMs }: Published, nowMs: number, { repeatMs, pulses }: Repetition): boolean {
  return nowMs - atMs > repeatMs - pulses.pulsePeriodMs / 2;
}

/** How long a reader relies on what was published about a zone, in milliseconds: until a repetition is overdue. */
export function announcementTimeoutMs({ pulseTimeoutMs }: Pulses): number {
  return ZONE_REPEAT_MS + pulseTimeoutMs;
}
