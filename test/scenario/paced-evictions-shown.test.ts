/** What explain and the tables say about pods that wait for the eviction rate of a policy, all services running. */
import { expect, test } from "vitest";
import { POLICIES, TIMERS } from "../../services/cli/get/get-tables.ts";
import { ExplainedWorld } from "../support/explained-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

/** Node a-0 is drained by hand: of its five pods two may go in a minute. */
function rateLimitedWorld(maxPerMinute: number): ExplainedWorld {
  const evictions = { maxPerMinute, maxPerNamespacePerMinute: maxPerMinute };
  const world = new ExplainedWorld([{ name: "gpu", spec: { selector: {}, evictions } }]);
  world.addZone("a", 3);
  for (let index = 0; index < 5; index++) world.addTolerantPod("a-0", `pod-${index}`);
  world.run();
  world.advance(100 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(20 * S);
  return world;
}

/** The DUE and WAITS FOR cells of each pod that waits. */
function waiting(world: ExplainedWorld): (string | undefined)[] {
  const column = TIMERS.wide?.heading.indexOf("WAITS FOR") ?? 0;
  return world.reader.pendingEvictions(10).map((pod) => {
    const due = TIMERS.cells(pod, world.clock.wallMs())[TIMERS.heading.indexOf("DUE")];
    return `${due} (${TIMERS.wide?.cells(pod)[column]})`;
  });
}

test("a pod that waits has its place, its expected time and the field", () => {
  const world = rateLimitedWorld(2);
  expect(waiting(world)).toEqual([
    "waits, number 1 of 3, in 40 s (evictions.maxPerMinute of gpu)",
    "waits, number 2 of 3, in 40 s (evictions.maxPerMinute of gpu)",
    "waits, number 3 of 3, in 100 s (evictions.maxPerMinute of gpu)",
  ]);
  const [first] = world.reader.pendingEvictions(1);
  expect(world.sentencesOfPod(first?.name ?? "").join("\n")).toMatch(
    /^It waits for evictions.maxPerMinute of NodePolicy gpu: it is number 1 of 3, and .* at about \S+, in 40 s\.$/m,
  );
  const [policy] = world.reader.policies() ?? [];
  expect(policy?.evictions).toEqual({ lastMinute: 2, waiting: 3 });
  expect(policy && POLICIES.wide?.cells(policy)).toContain("3 (2 evicted in a minute)");
});

test("a ledger that starts later shows the same", () => {
  const shown = (isLate: boolean): unknown => {
    const world = rateLimitedWorld(2);
    world.advance(17 * S);
    if (isLate) world.restartLedger();
    world.advance(12 * S);
    return [waiting(world), world.reader.pendingEvictions(10).map(({ name }) => world.sentencesOfPod(name))];
  };
  expect(shown(true)).toEqual(shown(false));
});

test("a limit of 0 is named, without an expected time", () => {
  const world = rateLimitedWorld(0);
  expect(waiting(world)).toEqual(
    [1, 2, 3, 4, 5].map((place) => `waits, number ${place} of 5 (evictions.maxPerMinute of gpu)`),
  );
  expect(world.sentencesOfPod("pod-0")).toContain(
    "It waits for evictions.maxPerMinute of NodePolicy gpu, which allows no eviction.",
  );
});

test("a pod whose countdown is cancelled waits for nothing", () => {
  const world = rateLimitedWorld(2);
  world.taint("a-0", []);
  world.advance(2 * S);
  expect(world.reader.pendingEvictions(10)).toEqual([]);
});

/** Pods of node a-0 may be evicted at two a minute. A disruption budget keeps the first one. */
function guardedWorld(others: number): ExplainedWorld {
  const world = new ExplainedWorld([
    { name: "gpu", spec: { selector: {}, evictions: { method: "Evict", maxPerMinute: 2 } } },
  ]);
  world.addZone("a", 3);
  const toleration = { key: "maintenance", operator: "Exists", effect: "NoExecute" } as const;
  world.addTolerantPod("a-0", "kept", [{ ...toleration, tolerationSeconds: 1 }]);
  for (let index = 0; index < others; index++) {
    world.addTolerantPod("a-0", `pod-${index}`, [{ ...toleration, tolerationSeconds: 5 }]);
  }
  world.api.faults.add({
    fault: { kind: "status", code: 429, retryAfterSeconds: 10, message: "the budget web needs it" },
    when: ({ subresource, name }) => subresource === "eviction" && name === "kept",
  });
  world.run();
  world.advance(100 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(6 * S);
  expect(world.deleted).toHaveLength(2);
  return world;
}

test.each([5, 150])("a refused pod is shown with its refusal while %i others wait", (others) => {
  const world = guardedWorld(others);
  expect(world.sentencesOfPod("kept").join("\n")).toContain("the budget web needs it");
});

test("a refused pod that waits for the rate again is shown with its refusal", () => {
  const world = guardedWorld(5);
  world.advance(30 * S);
  const sentences = world.sentencesOfPod("kept").join("\n");
  expect(sentences).toMatch(/The API server throttled its deletion at \S+: 429: the budget web needs it\.$/m);
  expect(sentences).toMatch(/It waits for evictions.maxPerMinute of NodePolicy gpu: it is number \d of 4/);
});
