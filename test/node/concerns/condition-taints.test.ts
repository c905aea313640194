/** Conditions that become taints, with all services: onset, healing, restarts, and policies that change meanwhile. */
import { describe, expect, test } from "vitest";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandPolicies, type PolicyFields } from "../../support/hand-policies.ts";

const S = 1000;
const MINUTE = 60 * S;
const KEY = "vigil.io/kernel-deadlock";
const DEADLOCK = "KernelDeadlock";

type Effect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

function deadlock(effect: Effect, duration = "1m", key = KEY, value?: string): PolicyFields {
  const taint = { key, effect, ...(value !== undefined && { value }) };
  return { unhealthyConditions: [{ type: DEADLOCK, status: "True", duration, taint }] };
}

/** What the policy itself allows: `test/scenario/policy-ceiling.slow.test.ts` is about the operator's ceiling. */
const NO_CEILING = { policyTaintedNodesMax: 0, policyTaintedPercentageMax: 0 };

function run(fields: PolicyFields, profile = {}) {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 0.1, ...NO_CEILING, ...profile });
  world.addZone("a", 4);
  world.addZone("c", 3);
  const policies = new HandPolicies(fields);
  const start = () => world.start(EVICTING, { member: "vigil", policies });
  const process = start();
  world.advance(10 * S);
  const report = (node: string, status: "True" | "False" | "Unknown") => world.kubelet(node).report(DEADLOCK, status);
  const conditions = (node: string) =>
    world.published("judged.node").findLast(({ body }) => body.node === node)?.body.conditions ?? [];
  return { world, policies, process, start, report, conditions };
}

describe.each(["NoSchedule", "PreferNoSchedule"] as const)("%s", (effect) => {
  const taint = `${KEY}:${effect}`;
  test("comes after the duration and goes with another status", () => {
    const { world, report } = run(deadlock(effect));
    report("a-0", "True");
    world.advance(59 * S);
    expect(world.taints("a-0")).toEqual([]);
    world.advance(2 * S);
    expect(world.taints("a-0")).toEqual([taint]);
    world.kubelet("a-0").withdraw(DEADLOCK);
    world.advance(MINUTE);
    expect(world.taints("a-0")).toEqual([taint]);
    report("a-0", "False");
    world.advance(S);
    expect(world.taints("a-0")).toEqual([]);
    world.advance(S);
    expect(world.records("a-0")).toEqual({});
  });
});

describe("NoSchedule", () => {
  const taint = `${KEY}:NoSchedule`;
  test("is not put on for a condition that does not last", () => {
    const { world, report } = run(deadlock("NoSchedule"));
    for (let flap = 0; flap < 3; flap++) {
      report("a-0", "True");
      world.advance(50 * S);
      report("a-0", "False");
      world.advance(5 * S);
    }
    expect(world.taints("a-0")).toEqual([]);
  });

  test("is not put on a node of another pool", () => {
    const { world, report } = run(deadlock("NoSchedule"));
    report("c-0", "True");
    world.advance(5 * MINUTE);
    expect([world.taints("c-0"), world.records("c-0")]).toEqual([[], {}]);
  });

  test("comes on time over a restart, and its healing too", () => {
    const { world, process, start, report } = run({ ...deadlock("NoSchedule"), healthyDelay: "2m" });
    world.advance(3 * MINUTE);
    report("a-0", "True");
    world.advance(40 * S);
    process.kill();
    world.advance(10 * S);
    const second = start();
    world.advance(9 * S);
    expect(world.taints("a-0")).toEqual([]);
    world.advance(2 * S);
    expect(world.taints("a-0")).toEqual([taint]);
    report("a-0", "False");
    world.advance(MINUTE);
    second.kill();
    start();
    world.advance(58 * S);
    expect(world.taints("a-0")).toEqual([taint]);
    world.advance(4 * S);
    expect(world.taints("a-0")).toEqual([]);
  });

  test("counts again for a condition that was away while nobody looked", () => {
    const { world, process, start, report } = run(deadlock("NoSchedule"));
    report("a-0", "True");
    world.advance(50 * S);
    process.kill();
    report("a-0", "False");
    world.advance(2 * S);
    report("a-0", "True");
    start();
    world.advance(50 * S);
    expect(world.taints("a-0")).toEqual([]);
    world.advance(12 * S);
    expect(world.taints("a-0")).toEqual([taint]);
  });

  test.each([
    ["goes with its rule", KEY, undefined],
    ["goes with its rule under any key", "example.com/deadlock", undefined],
    ["goes with its rule, whatever value that named", "example.com/deadlock", "vigil-deep"],
  ])("%s", (_what, key, value) => {
    const { world, policies, report, conditions } = run(deadlock("NoSchedule", "0s", key, value));
    report("a-0", "True");
    world.advance(5 * S);
    expect(world.taints("a-0")).toEqual([`${key}:NoSchedule`]);
    policies.put(null);
    world.advance(5 * S);
    expect(world.taints("a-0")).toEqual([]);
    expect(conditions("a-0")).toEqual([]);
  });

  test("of somebody else stays", () => {
    const { world, report } = run(deadlock("NoSchedule", "0s"));
    world.taint("a-0", [{ key: KEY, effect: "NoSchedule" }]);
    report("a-0", "True");
    world.advance(5 * S);
    report("a-0", "False");
    world.advance(5 * S);
    expect(world.taints("a-0")).toEqual([taint]);
  });

  test.each(["NoSchedule", "NoExecute"] as const)(
    "%s of somebody else stays, whatever its kubelet records",
    (effect) => {
      const { world, report } = run(deadlock(effect, "0s"));
      world.taint("a-0", [{ key: KEY, effect }]);
      const annotations = { "vigil.v1/condition-taints": JSON.stringify({ [`${KEY}:${effect}`]: DEADLOCK }) };
      world.patch({ kind: "Node", namespace: "", name: "a-0" }, { metadata: { annotations } });
      report("a-0", "False");
      world.advance(60 * S);
      expect(world.taints("a-0")).toEqual([`${KEY}:${effect}`]);
    },
  );

  test("waits while the policies are not known, and so does its end", () => {
    const { world, policies, report } = run(deadlock("NoSchedule", "0s"));
    policies.forget();
    report("a-0", "True");
    world.advance(10 * S);
    expect(world.taints("a-0")).toEqual([]);
    policies.put(deadlock("NoSchedule", "0s"));
    world.advance(10 * S);
    expect(world.taints("a-0")).toEqual([taint]);
  });
});

describe("NoExecute", () => {
  const taint = `${KEY}:NoExecute`;
  const tainted = (world: EvictionWorld) =>
    ["a-0", "a-1", "a-2", "a-3"].filter((node) => world.taints(node).includes(taint));

  test("comes at the rate of the zone, evicts, and goes at once", () => {
    const { world, report } = run(deadlock("NoExecute", "10s"));
    world.addTolerantPod("a-0", "p");
    for (const node of ["a-0", "a-1"]) report(node, "True");
    world.advance(13 * S);
    expect(tainted(world)).toHaveLength(1);
    world.advance(5 * S);
    expect(tainted(world)).toHaveLength(1);
    world.advance(5 * S);
    expect(tainted(world)).toEqual(["a-0", "a-1"]);
    expect(world.deletedAt("p")).toBeDefined();
    for (const node of ["a-0", "a-1"]) report(node, "False");
    world.advance(2 * S);
    expect(tainted(world)).toEqual([]);
  });

  test.each<[string, PolicyFields, number]>([
    ["a budget", { budgets: [{ nodes: 1 }] }, 1],
    ["maxUnhealthy", { maxUnhealthy: 1 }, 0],
    ["a breaker", { circuitBreaker: { maxNodes: 1, duration: "10m", resetAfter: "1h" } }, 1],
  ])("is held back by %s", (_limit, limit, most) => {
    const { world, report } = run({ ...deadlock("NoExecute", "10s"), nodeEvictionRate: 1, ...limit });
    world.advance(20 * S);
    for (const node of ["a-0", "a-1", "a-2"]) report(node, "True");
    world.advance(2 * MINUTE);
    expect(tainted(world)).toHaveLength(most);
  });

  test("and unreachable may stand on one node, with one permit", () => {
    const { world, report } = run(
      { ...deadlock("NoExecute", "10s"), budgets: [{ nodes: 1 }] },
      { nodeEvictionsPerSecond: 1 },
    );
    report("a-0", "True");
    world.advance(30 * S);
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    expect(world.taints("a-0")).toEqual(expect.arrayContaining([taint, "node.kubernetes.io/unreachable:NoExecute"]));
    world.silence(["a-1"]);
    report("a-1", "True");
    world.advance(2 * MINUTE);
    expect(world.taints("a-1")).toEqual(["node.kubernetes.io/unreachable:NoSchedule"]);
  });

  test("does not come while the node is frozen, but NoSchedule does", () => {
    const both = deadlock("NoExecute", "0s").unhealthyConditions ?? [];
    const more = deadlock("NoSchedule", "0s").unhealthyConditions ?? [];
    const spec = { selector: {}, unhealthyConditions: [...both, ...more], mode: "Freeze" as const };
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 }, [{ name: "pool", spec }]);
    world.addZone("a", 3);
    world.run();
    world.advance(10 * S);
    world.kubelet("a-0").report(DEADLOCK, "True");
    world.advance(MINUTE);
    expect(world.taints("a-0")).toEqual([`${KEY}:NoSchedule`]);
  });
});
