/** A token bucket as pure functions. Each user adds its own rules for spending. */

/** Tokens at an instant, in milliseconds of one clock. */
export interface TokenBucket {
  readonly tokens: number;
  readonly at: number;
}

/** How a bucket fills: tokens per second, up to `burst`. */
export interface BucketRate {
  readonly perSecond: number;
  readonly burst: number;
}

const SECOND_MS = 1000;

/** Tokens gained in a time; a clock that went back gains none. */
export function tokensGained(perSecond: number, elapsedMs: number): number {
  return (Math.max(0, elapsedMs) / SECOND_MS) * perSecond;
}

/** Tokens in the bucket now. */
export function tokensIn({ tokens, at }: TokenBucket, { perSecond, burst }: BucketRate, now: number): number {
  return Math.min(burst, tokens + tokensGained(perSecond, now - at));
}

/** How many milliseconds after `at` the bucket holds one token; 0 or less when it does already. */
export function oneTokenAfterMs({ tokens }: TokenBucket, perSecond: number): number {
  return ((1 - tokens) / perSecond) * SECOND_MS;
}
