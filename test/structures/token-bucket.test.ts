/** The arithmetic of a token bucket. */
import { expect, test } from "vitest";
import { oneTokenAfterMs, tokensIn } from "../../services/structures/token-bucket.ts";

test("a bucket fills at its rate and holds no more than its burst", () => {
  const rate = { perSecond: 2, burst: 5 };
  expect([0, 500, 2500, 9000].map((now) => tokensIn({ tokens: 0, at: 0 }, rate, now))).toEqual([0, 1, 5, 5]);
});

test("a clock that goes back neither adds nor takes tokens", () => {
  expect(tokensIn({ tokens: 1.5, at: 1000 }, { perSecond: 2, burst: 5 }, 0)).toBe(1.5);
});

test("one token is there once the missing part has been gained", () => {
  expect(oneTokenAfterMs({ tokens: -1, at: 0 }, 4)).toBe(500);
});
