/** A preview under a policy, held against what then really happens, on the embedded API and virtual time. */
import { describe, expect, test } from "vitest";
import { apiTime } from "../../../services/domain/api-time.ts";
import { expectToHold, policyWorld, previewedOn } from "./preview-world.ts";

const S = 1000;
/** Where a limit or a freeze ends by itself, a run goes on with its next pulse, which comes every 5 s here. */
const LATE_S = 6;
const POOL = ["a-0", "a-1", "a-2", "a-3", "a-4", "a-5"];
const THREE = POOL.slice(0, 3);

/** How long nothing may happen after the last thing that a preview names. */
const AFTERWARDS_MS = 300 * S;

/** Lets time pass until a while after all that a preview names. */
function comeTrue(world: ReturnType<typeof policyWorld>, { nodes, pods }: ReturnType<typeof previewedOn>): void {
  const named = [
    ...nodes.map(({ admittedAfterMs }) => admittedAfterMs ?? 0),
    ...pods.map(({ deletedAfterMs, latestAfterMs }) => latestAfterMs ?? deletedAfterMs ?? 0),
  ];
  world.advance(Math.max(...named) + AFTERWARDS_MS);
}

/** A preview of nodes down under a policy of zone a, and what happened. */
function previewed(fieldsAt: (wallMs: number) => object, down = THREE) {
  const world = policyWorld(fieldsAt);
  const preview = previewedOn(world, { node: down, down: true });
  const fromMs = world.clock.monotonicMs();
  world.silence(down);
  comeTrue(world, preview);
  const admitted = preview.nodes.filter(({ admittedAfterMs }) => admittedAfterMs !== null).length;
  return { world, preview, fromMs, admitted };
}

describe("of nodes that are down, a preview admits", () => {
  test.each<[string, object, number, (readonly string[])?]>([
    ["all with a short grace", { nodeMonitorGracePeriod: "20s" }, 3],
    ["all with a rate", { nodeEvictionRate: 0.02 }, 3],
    ["one under a threshold", { unhealthyZoneThreshold: 0.4, secondaryNodeEvictionRate: 0.001 }, 1],
    ["one under maxUnhealthy", { maxUnhealthy: 2 }, 1],
    ["one under a breaker that stays open", { circuitBreaker: { maxNodes: 1, duration: "10m" } }, 1],
    [
      "all under a breaker that resets twice",
      { circuitBreaker: { maxNodes: 1, duration: "10m", resetAfter: "15m" } },
      3,
    ],
    ["one under a budget", { budgets: [{ nodes: 1 }] }, 1],
    ["none in a freeze", { mode: "Freeze" }, 0],
    ["none in a freeze without an end", { pauseRequests: [{ name: "alice" }] }, 0],
    ["all without evictions", { evictions: { maxPerMinute: 0 } }, 3],
    ["all with evictions through the Eviction API", { evictions: { method: "Evict" } }, 3],
    ["one of a pool that is down as a whole", { fullDisruptionEvictionRate: 0 }, 1, POOL],
  ])("%s", (_name, fields, admitted, down = THREE) => {
    const { nodes } = previewedOn(
      policyWorld(() => fields),
      { node: down, down: true },
    );
    expect(nodes.filter(({ admittedAfterMs }) => admittedAfterMs !== null)).toHaveLength(admitted);
  });
});

/** What depends on how a preview begins, ends and lets time pass. The rest is decided by the services of a run. */
describe("a preview comes true with", () => {
  test.each<[string, object]>([
    ["a long grace", { nodeMonitorGracePeriod: "5m" }],
    [
      "a cool-down after a storm",
      { circuitBreaker: { maxNodes: 2, duration: "1m", resetAfter: "5m" }, stormCooldownDuration: "3m" },
    ],
    ["a budget by a schedule", { budgets: [{ nodes: 0, schedule: "*/20 * * * *", duration: "10m" }] }],
    ["a rate of evictions", { evictions: { maxPerMinute: 1 } }],
    ["a rate of evictions of each namespace", { evictions: { maxPerNamespacePerMinute: 2 } }],
  ])("%s", (_name, fields) => {
    const { world, preview, fromMs, admitted } = previewed(() => fields);
    expectToHold(preview, world, fromMs, LATE_S);
    expect(admitted).toBe(3);
  });

  test("two permits that a breaker took back", () => {
    const circuitBreaker = { maxNodes: 3, duration: "30s", resetAfter: "90s", holds: ["Evictions", "Readiness"] };
    const fields = { nodeEvictionRate: 0.02, unhealthyZoneThreshold: 1, circuitBreaker, stormCooldownDuration: "1m" };
    const { world, preview, fromMs, admitted } = previewed(() => fields, POOL.slice(0, 4));
    expectToHold(preview, world, fromMs, LATE_S);
    expect(admitted).toBe(4);
  });

  test("a rate of evictions in direct mode", () => {
    const direct = { evictionMode: "direct", podEvictionTimeoutMs: 0 } as const;
    const world = policyWorld(() => ({ nodeEvictionRate: 1, evictions: { maxPerMinute: 2 } }), direct);
    const preview = previewedOn(world, { node: THREE, down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(THREE);
    comeTrue(world, preview);
    expectToHold({ ...preview, nodes: [] }, world, fromMs, LATE_S);
    expect(world.deleted.length).toBeGreaterThan(2);
  });

  test("a condition that a node has already", () => {
    const world = policyWorld(() => ({
      nodeEvictionRate: 1,
      unhealthyConditions: [
        { type: "GpuLost", status: "True", duration: "5m", taint: { key: "vigil.io/gpu-lost", effect: "NoExecute" } },
      ],
    }));
    world.kubelet("a-1").report("GpuLost", "True");
    world.advance(60 * S);
    const preview = previewedOn(world, { node: ["a-5"], down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(["a-5"]);
    comeTrue(world, preview);
    const deletedAfterMs = preview.pods.find(({ name }) => name === "web-a-1")?.deletedAfterMs ?? 0;
    expect(Math.abs((world.deletedAt("web-a-1") ?? 0) - fromMs - deletedAfterMs)).toBeLessThanOrEqual(LATE_S * S);
  });

  test("a node in maintenance", () => {
    const world = policyWorld(() => ({ maintenance: { hold: ["DrainInProgress"], atMost: "10m" } }));
    world.kubelet("a-1").report("DrainInProgress", "True");
    world.advance(60 * S);
    const preview = previewedOn(world, { node: ["a-1"], down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(["a-1"]);
    comeTrue(world, preview);
    expectToHold(preview, world, fromMs, LATE_S);
    expect(world.taintedAt("a-1") ?? 0).toBeGreaterThan(fromMs + 530 * S);
  });

  test.each([
    ["while its nodes wait", 30, 400],
    ["in the middle of countdowns", 200, 500],
  ])("a freeze that begins and ends %s", (_when, fromS, toS) => {
    const { world, preview, fromMs, admitted } = previewed((wallMs) => {
      const at = (inS: number): string => apiTime(wallMs + 64 * S + inS * S);
      return { pauseRequests: [{ name: "alice", since: at(fromS), until: at(toS) }] };
    });
    expectToHold(preview, world, fromMs, LATE_S);
    expect(admitted).toBe(3);
  });

  test("a taint set by hand on a frozen node", () => {
    const world = policyWorld((wallMs) => ({
      pauseRequests: [{ name: "alice", since: apiTime(wallMs), until: apiTime(wallMs + 300 * S) }],
    }));
    const preview = previewedOn(world, { taint: "a-0=maintenance:NoExecute" });
    const fromMs = world.clock.monotonicMs();
    world.taint("a-0", [{ key: "maintenance", effect: "NoExecute" }]);
    world.advance(600 * S);
    expectToHold(preview, world, fromMs, LATE_S);
    expect(preview.pods.filter(({ deletedAfterMs }) => deletedAfterMs !== null)).toHaveLength(3);
  });

  test("a breaker that is open already", () => {
    const world = policyWorld(() => ({ circuitBreaker: { maxNodes: 1, duration: "10m", resetAfter: "20m" } }));
    world.silence(["a-3", "a-4"]);
    world.advance(300 * S);
    const preview = previewedOn(world, { node: ["a-0"], down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(["a-0"]);
    comeTrue(world, preview);
    expectToHold(preview, world, fromMs, 2 * LATE_S);
  });
});

describe("a preview names", () => {
  const reportOf = (fields: object) => {
    const world = policyWorld(() => fields);
    const { nodes, pods } = previewedOn(world, { node: ["a-0", "a-1"], down: true });
    return { node: nodes.find(({ admittedAfterMs }) => admittedAfterMs === null), pods };
  };

  test.each([
    ["the limit that holds a node back", { budgets: [{ nodes: 1 }] }, "budgets of pool"],
    ["the freeze that does", { mode: "Freeze" }, "NodePolicy pool: spec.mode (Freeze)"],
  ])("%s", (_what, fields, heldBy) => {
    const { node, pods } = reportOf(fields);
    expect(node).toMatchObject({ policy: "pool", heldBy });
    const pod = pods.find((each) => each.node === node?.node && each.name.startsWith("web"));
    expect(pod?.why).toBe(`its node is not admitted for eviction: ${heldBy}`);
  });

  test("the rate that pods wait for, and the one that lets none go", () => {
    const { pods } = reportOf({ evictions: { maxPerMinute: 1 } });
    const [, second, third] = pods.filter(({ deletedAfterMs }) => deletedAfterMs !== null);
    expect(second?.why).not.toContain("waits for");
    expect(third?.why).toMatch(/; waits for evictions.maxPerMinute of pool$/);
    const never = reportOf({ evictions: { maxPerMinute: 0 } }).pods.find(({ name }) => name === "web-a-0");
    expect(never).toMatchObject({ deletedAfterMs: null, why: "held back by evictions.maxPerMinute of pool" });
  });
});
