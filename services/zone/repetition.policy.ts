/**
 * When an owner publishes again what has not changed: with each pulse for a while, in case readers missed the change,
 * then less often, for readers that have started since.
 */
import type { Profile } from "../../protocols/profile.ts";

/** How often what has been the same for a while is published again, in milliseconds. */
const REPEAT_MS = 5_000;

/** When something was published first and last since it changed, on the monotonic clock. */
export interface Published {
  readonly sinceMs: number;
  readonly atMs: number;
}

type Pulses = Pick<Profile, "pulsePeriodMs" | "pulseTimeoutMs">;

/**
 * Whether a pulse repeats what is unchanged. A reader drops what a former owner said once that is older than a pulse
 * timeout and somebody contradicts it, so what is new is repeated with each pulse for twice as long.
 */
export function isRepeatDue({ sinceMs, atMs }: Published, nowMs: number, pulses: Pulses): boolean {
  const { pulsePeriodMs, pulseTimeoutMs } = pulses;
  return nowMs - sinceMs <= 2 * pulseTimeoutMs || nowMs - atMs > REPEAT_MS - pulsePeriodMs / 2;
}

/**
 * Whether something of an owner has not been published for the whole time. The owner then repeats all that is due for
 * nothing else too: one tick in five seconds with everything costs less than five with a share each.
 */
export function isRoundDue(all: Iterable<Published>, nowMs: number, { pulsePeriodMs }: Pulses): boolean {
  for (const { atMs } of all) if (nowMs - atMs > REPEAT_MS - pulsePeriodMs / 2) return true;
  return false;
}

/** How long a reader relies on what was published, in milliseconds: until a repetition is overdue. */
export function announcementTimeoutMs({ pulseTimeoutMs }: Pulses): number {
  return REPEAT_MS + pulseTimeoutMs;
}
