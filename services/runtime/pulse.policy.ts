/** When the next pulse is due. Whose pulse it is, and what it tells, is decided elsewhere. */

/** A pulse so near, as a share of the period, is the one just told, by a clock that runs a little slow. */
const NEAR = 0.1;

/**
 * Milliseconds until the next pulse: the next whole period of the wall clock. Processes whose clocks agree so pulse at
 * the same moment, and who hears them all is woken once for all of them. The first pause may be any, the others are one
 * period each; where the clock is set, one is up to a tenth longer.
 */
export function pauseUntilPulseMs(wallMs: number, periodMs: number): number {
  const restMs = periodMs - (wallMs - Math.floor(wallMs / periodMs) * periodMs);
  return restMs < periodMs * NEAR ? restMs + periodMs : restMs;
}
