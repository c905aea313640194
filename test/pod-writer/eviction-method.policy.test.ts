/** How a pod is evicted by the method of its policy. */
import { describe, expect, test } from "vitest";
import type { EvictionSettings } from "../../protocols/policy-set.ts";
import type { WriteReply } from "../../protocols/ports.ts";
import { afterEviction, UPSTREAM_EVICTIONS } from "../../services/pod-writer/eviction-method.policy.ts";

const DEADLINE = 1_000_000;
const EVICT: EvictionSettings = { ...UPSTREAM_EVICTIONS, method: "Evict" };
const THEN_DELETE: EvictionSettings = { ...UPSTREAM_EVICTIONS, method: "EvictThenDelete", deleteAfterMs: 600_000 };

const done: WriteReply = { outcome: "ok", object: { metadata: { name: "p" } } };
const refusedBy: WriteReply = {
  outcome: "throttled",
  detail: "The disruption budget web needs 2 healthy pods",
  retryAfterMs: 1000,
  disruptionBudget: "The disruption budget web needs 2 healthy pods",
};
const busy: WriteReply = { outcome: "throttled", detail: "too many requests", retryAfterMs: 1000 };
const twoBudgets: WriteReply = { outcome: "failed", detail: "This pod has more than one PodDisruptionBudget" };
const denied: WriteReply = { outcome: "denied", detail: "pods/eviction is forbidden" };
const late: WriteReply = { outcome: "failed", detail: "it waited too long to be sent", isLate: true };
const reply = (outcome: "gone" | "conflict" | "unknown" | "shadowed"): WriteReply => ({ outcome, detail: "" });

describe("after an eviction", () => {
  test.each([
    ["that was made", EVICT, done, 0, { kind: "report" }],
    ["of a pod that is gone", THEN_DELETE, reply("gone"), 600_000, { kind: "report" }],
    ["of a pod that changed", THEN_DELETE, reply("conflict"), 600_000, { kind: "report" }],
    ["whose reply was lost", THEN_DELETE, reply("unknown"), 600_000, { kind: "report" }],
    ["in shadow mode", THEN_DELETE, reply("shadowed"), 600_000, { kind: "report" }],
    ["that waited too long to be sent", THEN_DELETE, late, 600_000, { kind: "report" }],
    ["that a busy server put off", THEN_DELETE, busy, 600_000, { kind: "retry", withinMs: null }],
    ["that a budget refuses, it is retried for ever", EVICT, refusedBy, 1e9, { kind: "retry", withinMs: null }],
    ["that a budget refuses at first", THEN_DELETE, refusedBy, 0, { kind: "retry", withinMs: 600_000 }],
    ["that a budget refuses to the last", THEN_DELETE, refusedBy, 599_999, { kind: "retry", withinMs: 1 }],
    ["that a budget refuses too long, it is deleted", THEN_DELETE, refusedBy, 600_000, { kind: "delete" }],
    ["that two budgets make impossible", THEN_DELETE, twoBudgets, 600_000, { kind: "delete" }],
    ["that is forbidden", THEN_DELETE, denied, 600_000, { kind: "delete" }],
  ] as const)("%s", (_what, settings, answer, afterMs, follows) => {
    const instants = { deadlineAt: DEADLINE, nowAt: DEADLINE + afterMs, frozen: [] };
    expect(afterEviction(settings, answer, instants)).toEqual(follows);
  });
});
