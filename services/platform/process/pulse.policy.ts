/** When the next pulse is due. Whose pulse it is, and what it tells, is decided elsewhere. */

/** Nearer than this share of the period the next pulse is the one just told, by a clock that runs a little slow. */
const NEAR = 0.1;

/**
 * Milliseconds until the next pulse, at the next whole period of the wall clock. So processes whose clocks agree pulse
 * at the same moment, and whoever hears them all is woken once for all of them. The first pause may be of any length,
 * the others last one period each; where the clock is set, one lasts up to a tenth longer.
 */
export function pauseUntilPulseMs(wallMs: number, periodMs: number): number {
  const restMs = periodMs - (wallMs - Math.floor(wallMs / periodMs) * periodMs);
  return restMs < periodMs * NEAR ? restMs + periodMs : restMs;
}
