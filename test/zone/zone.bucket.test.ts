/** The token bucket: grants, changes of rate, and the rate in every window. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  atRate,
  type Bucket,
  hasToken,
  newBucket,
  nextTokenAt,
  paid,
  tokensAt,
  withoutToken,
  withTokenBack,
} from "../../services/zone/zone.bucket.ts";

const RATE = Math.fround(0.1);
const SECONDARY = Math.fround(0.01);
const S = 1000;
const taken = (bucket: Bucket, now: number) => withoutToken(bucket, now);

/** Grants as soon as possible, `count` times; the instants in seconds. */
function grants(start: Bucket, count: number): number[] {
  let bucket = start;
  return Array.from({ length: count }, () => {
    const at = Math.max(bucket.at, nextTokenAt(bucket));
    bucket = withoutToken(bucket, at);
    return at / S;
  });
}

describe("a bucket of 0.1/s, burst 1", () => {
  test("grants at 0, 10, 20, 30 and 40 s", () => {
    const [first, ...rest] = grants(newBucket(RATE, 0), 5);
    expect(first).toBe(0);
    for (const [index, at] of rest.entries()) expect(at).toBeCloseTo((index + 1) * 10, 5);
  });

  test("holds at most one token (R7.8)", () => {
    expect(tokensAt(newBucket(RATE, 0), 1e9)).toBe(1);
    expect(grants({ ...newBucket(RATE, 0), at: 1e6 }, 2)[1]).toBeCloseTo(1010, 5);
  });

  test("changed to 0.01 at 5 s, empty, grants next at 105 s", () => {
    const changed = atRate(taken(newBucket(RATE, 0), 0), SECONDARY, 5 * S);
    expect(nextTokenAt(changed) / S).toBeCloseTo(105, 3);
  });

  test("changed to 0.01 at 15 s, half full, grants at 115 s", () => {
    const halfFull = taken(taken(newBucket(RATE, 0), 0), 10 * S);
    expect(tokensAt(halfFull, 15 * S)).toBeCloseTo(0.5, 6);
    expect(nextTokenAt(atRate(halfFull, SECONDARY, 15 * S)) / S).toBeCloseTo(115, 3);
  });

  test("changed while it is full grants at once", () => {
    expect(hasToken(atRate(newBucket(RATE, 0), SECONDARY, 5 * S), 5 * S)).toBe(true);
  });

  test("stopped and started again starts empty (R7.11)", () => {
    const restarted = atRate(atRate(newBucket(RATE, 0), 0, 5 * S), RATE, 60 * S);
    expect(nextTokenAt(restarted) / S).toBeCloseTo(70, 5);
  });

  test("set to the same rate keeps its tokens", () => {
    const bucket = taken(newBucket(RATE, 0), 0);
    expect(atRate(bucket, RATE, 7 * S)).toBe(bucket);
    const stopped = atRate(bucket, 0, 7 * S);
    expect(atRate(stopped, 0, 8 * S)).toBe(stopped);
  });
});

describe("rates that stop", () => {
  test.each([0, -1])("a rate of %f never grants (R7.10, L52)", (perSecond) => {
    const bucket = newBucket(perSecond, 0);
    expect(hasToken(bucket, 1e12)).toBe(false);
    expect(nextTokenAt(bucket)).toBe(Number.POSITIVE_INFINITY);
    expect(withTokenBack(bucket, 5)).toBe(bucket);
  });

  test("a bucket of rate 1 starts again, unlike upstream's (L12, R7.12)", () => {
    const restarted = atRate(atRate(newBucket(1, 0), 0, 0), 1, 10 * S);
    expect(nextTokenAt(restarted)).toBe(11 * S);
  });
});

describe("a token given back", () => {
  test("is available at once, and never makes two", () => {
    const bucket = taken(newBucket(RATE, 0), 0);
    const refunded = withTokenBack(bucket, 3 * S);
    expect(hasToken(refunded, 3 * S)).toBe(true);
    expect(tokensAt(refunded, 3 * S)).toBe(1);
  });
});

describe("an earlier owner's grant", () => {
  test("leaves the next owner what was gained since", () => {
    const takenOver = paid(newBucket(RATE, 30 * S), 26 * S, 30 * S);
    expect(nextTokenAt(takenOver) / S).toBeCloseTo(36, 5);
  });

  test("long ago leaves a full bucket, in the future none", () => {
    expect(hasToken(paid(newBucket(RATE, 0), -1e9, 0), 0)).toBe(true);
    expect(nextTokenAt(paid(newBucket(RATE, 0), 99 * S, 0)) / S).toBeCloseTo(10, 5);
  });

  test("never adds a token", () => {
    const empty = taken(newBucket(RATE, 0), 0);
    expect(tokensAt(paid(empty, -1e9, S), S)).toBeCloseTo(0.1, 6);
  });
});

test("a clock that goes back adds and removes no token (R7.9)", () => {
  const bucket = taken(newBucket(RATE, 10 * S), 10 * S);
  expect(tokensAt(bucket, 5 * S)).toBe(0);
  expect(hasToken(newBucket(RATE, 10 * S), 5 * S)).toBe(true);
});

test("at one rate, any window has at most 1 + rate × window grants (P5)", () => {
  const waits = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(waits, fc.float({ min: Math.fround(0.001), max: 10, noNaN: true }), (pauses, perSecond) => {
      let bucket = newBucket(perSecond, 0);
      let now = 0;
      const at: number[] = [];
      for (const pause of pauses) {
        now += pause;
        if (!hasToken(bucket, now)) continue;
        bucket = withoutToken(bucket, now);
        at.push(now);
      }
      for (const [first, start] of at.entries()) {
        for (const [last, end] of at.entries()) {
          if (last < first) continue;
          expect(last - first + 1).toBeLessThanOrEqual(1 + (perSecond * (end - start)) / S + 1e-6);
        }
      }
    }),
  );
});

test("over changes of rate, two grants are never closer than the fastest rate allows", () => {
  const step = fc.record({
    pause: fc.integer({ min: 0, max: 20_000 }),
    perSecond: fc.constantFrom(0, SECONDARY, RATE, 1),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      let bucket = newBucket(RATE, 0);
      let now = 0;
      let lastGrant: number | null = null;
      for (const { pause, perSecond } of steps) {
        now += pause;
        bucket = atRate(bucket, perSecond, now);
        if (!hasToken(bucket, now)) continue;
        bucket = withoutToken(bucket, now);
        if (lastGrant !== null) expect(now - lastGrant).toBeGreaterThanOrEqual(S - 1e-6);
        lastGrant = now;
      }
    }),
  );
});
