/** Which limit blocks a waiting node, as its owner published it. */
import { expect, test } from "vitest";
import { blockedBy } from "../../../services/ledger/state/waiting-nodes.policy.ts";

const NOW = 1_000_000;
/** It waits for the taint of a condition, under all policies together. */
const waiting = (policy: string) => ({
  policy,
  eviction: "unmarked" as const,
  conditions: [
    { type: "GpuLost", status: "True", since: 0, taint: { key: "gpu", effect: "NoExecute" }, state: "due" } as const,
  ],
});

/** The limits of all policies together, with what blocks the nodes of these. */
function ceiling(blocking: readonly string[]) {
  const holds = blocking.map(
    (policy) => ({ policy, field: "maxUnhealthy", untilAt: null, detail: "", nodes: 1 }) as const,
  );
  const memory = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
  const counts = { selected: 9, unhealthy: 3, condemned: 0, inWindow: 0 };
  return new Map([["*", { judged: { policy: "*", ...counts, permits: [], holds, memory }, publishedAt: NOW }]]);
}

test("a limit of another policy does not block it", () => {
  const blockOf = (policy: string, blocking: readonly string[]) =>
    blockedBy({ name: "n" }, waiting(policy), ceiling(blocking), NOW)?.policy;
  expect(["a", "b"].map((policy) => blockOf(policy, ["", "b"]))).toEqual(["", "b"]);
  expect(["a", "b"].map((policy) => blockOf(policy, ["b"]))).toEqual([undefined, "b"]);
});
