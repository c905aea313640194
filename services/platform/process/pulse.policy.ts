/** When the next pulse is due, for every kind of pulse. */

/** A next pulse nearer than this share of the period is the one just sent, by a clock that runs a little slow. */
const NEAR = 0.1;

/**
 * Milliseconds until the next pulse, which is due at a whole period of the wall clock. Processes whose clocks agree
 * pulse at the same instant, so a process that receives them all wakes up once. The first pause may have any length;
 * later ones last a period each, or up to a tenth longer when the clock is set.
 */
export function pauseUntilPulseMs(wallMs: number, periodMs: number): number {
  const restMs = periodMs - (wallMs - Math.floor(wallMs / periodMs) * periodMs);
  return restMs < periodMs * NEAR ? restMs + periodMs : restMs;
}
