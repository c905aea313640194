/** When a pod is deleted that the Eviction API refuses. */
import { expect, test } from "vitest";
import type { EvictionSettings } from "../../protocols/policy-set.ts";
import { deleteAt } from "../../services/domain/refused-eviction.ts";
import { UPSTREAM_EVICTIONS } from "../../services/pod-writer/eviction-method.policy.ts";

const DEADLINE = 1_000_000;
const EVICT: EvictionSettings = { ...UPSTREAM_EVICTIONS, method: "Evict" };
const THEN_DELETE: EvictionSettings = { ...UPSTREAM_EVICTIONS, method: "EvictThenDelete", deleteAfterMs: 600_000 };

test("only EvictThenDelete ever deletes, deleteAfter after the deadline", () => {
  const instants = { deadlineAt: DEADLINE, frozen: [] };
  expect([UPSTREAM_EVICTIONS, EVICT, THEN_DELETE].map((settings) => deleteAt(settings, instants))).toEqual([
    null,
    null,
    1_600_000,
  ]);
});

test("frozen time does not count towards deleteAfter", () => {
  const frozen = [{ fromAt: DEADLINE + 100_000, toAt: DEADLINE + 400_000 }];
  expect(deleteAt(THEN_DELETE, { deadlineAt: DEADLINE, frozen })).toBe(1_900_000);
});
