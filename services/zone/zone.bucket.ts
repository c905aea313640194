/** A zone's token bucket as pure functions of (bucket, now). It holds at most one token. */
import { oneTokenAfterMs, type TokenBucket, tokensGained, tokensIn } from "../structures/token-bucket.ts";

/** A token bucket of burst 1, with -DEBT_MAX to BURST tokens. Instants are monotonic milliseconds. */
export interface Bucket extends TokenBucket {
  /** Tokens per second while not stopped, a float32 widened to double (R7.8). */
  readonly perSecond: number;
  /** A stopped bucket never grants. It is a flag, because upstream's "never" limiter equals one of rate 1 (L12). */
  readonly stopped: boolean;
}

const BURST = 1;
/** Tokens a bucket can owe: two owners may both grant before they receive each other's grant, and then pay for both. */
const DEBT_MAX = 1;

/** A full bucket for a new zone (R2.18). A rate of 0 or less stops it (R7.10). */
export function newBucket(perSecond: number, now: number): Bucket {
  return { perSecond, tokens: perSecond > 0 ? BURST : 0, at: now, stopped: perSecond <= 0 };
}

/** The bucket that another owner announced, with this many tokens at `at`. */
export function bucketWith(perSecond: number, tokens: number, at: number): Bucket {
  return { ...newBucket(perSecond, at), tokens: perSecond > 0 ? Math.max(-DEBT_MAX, Math.min(BURST, tokens)) : 0 };
}

/** The bucket without a token before `waitMs` from now, or before an empty bucket would have one if that is sooner. */
export function waiting(bucket: Bucket, waitMs: number, now: number): Bucket {
  const tokens = Math.max(0, BURST - tokensGained(bucket.perSecond, waitMs));
  return { ...bucket, tokens: Math.min(tokensAt(bucket, now), tokens), at: now };
}

/** Tokens in the bucket now. A clock that went back adds and removes none (R7.9). */
export function tokensAt(bucket: Bucket, now: number): number {
  return bucket.stopped ? 0 : tokensIn(bucket, { perSecond: bucket.perSecond, burst: BURST }, now);
}

/** Whether the bucket holds a token now. */
export function hasToken(bucket: Bucket, now: number): boolean {
  return bucket.tokens >= BURST || now >= nextTokenAt(bucket);
}

/** When the bucket holds a token: at or before now if it does already, infinite for a stopped bucket. */
export function nextTokenAt(bucket: Bucket): number {
  return bucket.stopped ? Number.POSITIVE_INFINITY : bucket.at + oneTokenAfterMs(bucket, bucket.perSecond);
}

/** Spends a token of a bucket that has one. */
export function withoutToken(bucket: Bucket, now: number): Bucket {
  return { ...bucket, tokens: Math.max(0, tokensAt(bucket, now) - BURST), at: now };
}

/** Pays for a grant of another owner, which may coincide with a grant of this owner. */
export function charged(bucket: Bucket, now: number): Bucket {
  if (bucket.stopped) return bucket;
  return { ...bucket, tokens: Math.max(-DEBT_MAX, tokensAt(bucket, now) - BURST), at: now };
}

/** Returns a token to the bucket, because its grant changed nothing. */
export function withTokenBack(bucket: Bucket, now: number): Bucket {
  if (bucket.stopped) return bucket;
  return { ...bucket, tokens: Math.min(BURST, tokensAt(bucket, now) + BURST), at: now };
}

/**
 * The bucket of a zone known only to have spent a token at `paidAt`: it holds at most what it gained since. Example: at
 * 0.1/s a zone that spent a token 4 s ago holds 0.4 tokens, so its next grant is 6 s away.
 */
export function paid(bucket: Bucket, paidAt: number, now: number): Bucket {
  return { ...bucket, tokens: Math.min(tokensAt(bucket, now), tokensGained(bucket.perSecond, now - paidAt)), at: now };
}

/**
 * The bucket at another rate. The same rate changes nothing, and 0 or less stops it. A new rate starts full only if the
 * old bucket held a whole token, otherwise empty, so no change of rate advances a grant. Example: at 0.1/s a bucket has
 * 0.9 tokens, so its next grant is one second away. At 0.01/s it starts empty, and the next grant is 100 s away.
 */
export function atRate(bucket: Bucket, perSecond: number, now: number): Bucket {
  if (perSecond <= 0) return bucket.stopped ? bucket : { perSecond: 0, tokens: 0, at: now, stopped: true };
  if (!bucket.stopped && bucket.perSecond === perSecond) return bucket;
  return { perSecond, tokens: hasToken(bucket, now) ? BURST : 0, at: now, stopped: false };
}
