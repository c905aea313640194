/** A bus that is split leaves two owners of the limits. Neither hears the other, and no limit is exceeded. */
import { expect, test } from "vitest";
import { playTwoOwners } from "./two-owners.stage.ts";

test.each([
  [1, { budgets: [{ nodes: 1 }] }],
  [2, { circuitBreaker: { maxNodes: 1, duration: "60s", resetAfter: "40s" } }],
])("two owners of seed %i keep %j", (seed, limits) => {
  const { problem, sometimes } = playTwoOwners(seed, limits, "briefly");
  expect(problem).toBeNull();
  expect(sometimes["two owners of a shard"]).toBeGreaterThan(0);
  expect(sometimes["NoExecute taint put on"]).toBeGreaterThan(1);
});

test("two owners keep a rate of evictions", () => {
  const { problem, sometimes } = playTwoOwners(3, { evictions: { maxPerMinute: 1 } }, "forLong");
  expect(problem).toBeNull();
  expect(sometimes["two owners of a shard"]).toBeGreaterThan(0);
  expect(sometimes["eviction under a rate"]).toBeGreaterThan(3);
});
