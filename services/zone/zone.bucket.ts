/** A zone's token bucket as pure functions of (bucket, now). It holds one token at most and never waits. */

import { oneTokenAfterMs, type TokenBucket, tokensGained, tokensIn } from "../platform/structures/token-bucket.ts";

/** A token bucket of burst 1, with -DEBT_MAX to BURST tokens. Instants are monotonic milliseconds. */
export interface Bucket extends TokenBucket {
  /** Tokens per second while not stopped, a float32 widened to double (R7.8). */
  readonly perSecond: number;
  /** A stopped bucket never grants. A flag, because upstream's "never" limiter passes for one of rate 1 (L12). */
  readonly stopped: boolean;
}

/** Tokens a bucket can hold (section 1.5). */
const BURST = 1;
/** Tokens a bucket can owe: two owners may both grant before they hear each other, and then pay for both. */
const DEBT_MAX = 1;

/** A full bucket, as a new zone gets it (R2.18); a rate of 0 or less is a stopped one (R7.10, step 2 of 7.5). */
export function newBucket(perSecond: number, now: number): Bucket {
  return { perSecond, tokens: perSecond > 0 ? BURST : 0, at: now, stopped: perSecond <= 0 };
}

/** The bucket as another owner has announced it: with so many tokens at `at`. */
export function bucketWith(perSecond: number, tokens: number, at: number): Bucket {
  return { ...newBucket(perSecond, at), tokens: perSecond > 0 ? Math.max(-DEBT_MAX, Math.min(BURST, tokens)) : 0 };
}

/**
 * The bucket with its first token not before `waitMs` from now, or when an empty one would have it if that is sooner.
 */
export function waiting(bucket: Bucket, waitMs: number, now: number): Bucket {
  const tokens = Math.max(0, BURST - tokensGained(bucket.perSecond, waitMs));
  return { ...bucket, tokens: Math.min(tokensAt(bucket, now), tokens), at: now };
}

/** Tokens in the bucket now. A clock that went back adds none and takes none (R7.9). */
export function tokensAt(bucket: Bucket, now: number): number {
  return bucket.stopped ? 0 : tokensIn(bucket, { perSecond: bucket.perSecond, burst: BURST }, now);
}

/** Whether a token is there now. */
export function hasToken(bucket: Bucket, now: number): boolean {
  return bucket.tokens >= BURST || now >= nextTokenAt(bucket);
}

/** When the next token will be there, at or before now when it already is; infinite for a stopped bucket. */
export function nextTokenAt(bucket: Bucket): number {
  return bucket.stopped ? Number.POSITIVE_INFINITY : bucket.at + oneTokenAfterMs(bucket, bucket.perSecond);
}

/** The bucket without the token it has now; only for a bucket that has one. */
export function withoutToken(bucket: Bucket, now: number): Bucket {
  return { ...bucket, tokens: Math.max(0, tokensAt(bucket, now) - BURST), at: now };
}

/** The bucket after a grant of another owner, which may have come beside one of this owner. */
export function charged(bucket: Bucket, now: number): Bucket {
  if (bucket.stopped) return bucket;
  return { ...bucket, tokens: Math.max(-DEBT_MAX, tokensAt(bucket, now) - BURST), at: now };
}

/** The bucket with a token given back, because the turn it paid for changed nothing. */
export function withTokenBack(bucket: Bucket, now: number): Bucket {
  if (bucket.stopped) return bucket;
  return { ...bucket, tokens: Math.min(BURST, tokensAt(bucket, now) + BURST), at: now };
}

/**
 * The bucket of a zone that spent a token at `paidAt`, which is all that is known of it: it holds what was gained
 * since.
 */
export function paid(bucket: Bucket, paidAt: number, now: number): Bucket {
  return { ...bucket, tokens: Math.min(tokensAt(bucket, now), tokensGained(bucket.perSecond, now - paidAt)), at: now };
}

/**
 * The bucket under another rate (section 7.5). The same rate changes nothing; 0 or less stops it; a new rate starts
 * full only when the old bucket held a whole token, else drained, so that no change of pace grants a turn out of order.
 */
export function atRate(bucket: Bucket, perSecond: number, now: number): Bucket {
  if (perSecond <= 0) return bucket.stopped ? bucket : { perSecond: 0, tokens: 0, at: now, stopped: true };
  if (!bucket.stopped && bucket.perSecond === perSecond) return bucket;
  return { perSecond, tokens: hasToken(bucket, now) ? BURST : 0, at: now, stopped: false };
}
