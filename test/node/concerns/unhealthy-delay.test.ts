/** How long a kubelet has to report Ready=False before its node waits for eviction: the rule, and all services. */
import { describe, expect, test } from "vitest";
import type { Profile } from "../../../protocols/profile.ts";
import { delayedUntilMs } from "../../../services/node/concerns/eviction-delay/eviction-delay.ts";
import { directEvictionEvent, taintEvictionEvent } from "../../../services/node/eviction.policy.ts";
import { policyService } from "../../../services/policy/policy.service.ts";
import { EVICTING, EvictionWorld, NOT_READY, UNREACHABLE } from "../../support/eviction-world.ts";
import { ExplainedWorld } from "../../support/explained-world.ts";
import { HandPolicies, type PolicyFields } from "../../support/hand-policies.ts";
import { taint } from "../node-fixtures.ts";

const S = 1000;
const NO_SCHEDULE = `${NOT_READY}:NoSchedule`;
const NO_EXECUTE = `${NOT_READY}:NoExecute`;

describe("unhealthyDelay", () => {
  test.each([
    ["of a node that its kubelet reports as not ready counts from then", "notReady", 10 * S, [], 100 * S + 10 * S],
    ["does not count frozen time", "notReady", 10 * S, [{ fromAt: 104 * S, toAt: 124 * S }], 130 * S],
    ["delays no silent node", "unknown", 10 * S, [], Number.NEGATIVE_INFINITY],
    ["that is unset delays nobody", "notReady", null, [], Number.NEGATIVE_INFINITY],
  ] as const)("%s", (_what, readiness, delayMs, frozen, untilMs) => {
    expect(delayedUntilMs(readiness, { transitionMs: 100 * S, delayMs }, { frozen })).toBe(untilMs);
  });

  test("takes a node that waits out of the queue, in both modes", () => {
    expect(taintEvictionEvent({ taints: [] }, "notReady", true)).toBe("evictionCancelled");
    const waiting = { status: "toBeEvicted", isOverdue: true, hasPods: true, isDelayed: true } as const;
    expect(directEvictionEvent("notReady", waiting)).toBe("evictionCancelled");
  });

  test("leaves an evicted node as it is, in both modes", () => {
    expect(taintEvictionEvent({ taints: [taint(NOT_READY, "NoExecute")] }, "notReady", true)).toBe("evictionFound");
    const evicted = { status: "evicted", isOverdue: true, hasPods: true, isDelayed: true } as const;
    expect(directEvictionEvent("notReady", evicted)).toBeNull();
  });
});

describe("in a cluster", () => {
  const run = (fields: PolicyFields, profile: Partial<Profile> = {}) => {
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, ...profile });
    world.addZone("a", 3);
    world.addZone("c", 3);
    world.addTolerantPod("a-0", "p");
    const policies = new HandPolicies(fields);
    const start = () => world.start({ ...EVICTING, policy: policyService([]) }, { member: "vigil", policies });
    const process = start();
    world.advance(10 * S);
    const report = (status: "True" | "False") => world.kubelet("a-0").report("Ready", status);
    return { world, process, start, policies, report };
  };
  const judged = (world: EvictionWorld) => world.published("judged.node").findLast(({ body }) => body.node === "a-0");

  test("a kubelet that restarts within it costs a NoSchedule taint", () => {
    const { world, report } = run({ unhealthyDelay: "10s" });
    report("False");
    world.advance(2 * S);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    expect(judged(world)?.body).toMatchObject({ readiness: "notReady", eviction: "unmarked" });
    expect(judged(world)?.body.unhealthyDelay?.untilAt).toBe(world.clock.wallMs() + 8 * S);
    report("True");
    world.advance(60 * S);
    expect(world.taints("a-0")).toEqual([]);
    expect(world.tainted).toEqual([]);
    expect(judged(world)?.body.unhealthyDelay).toBeUndefined();
  });

  test("a node without a policy is tainted at once", () => {
    const { world } = run({ unhealthyDelay: "10s" });
    world.kubelet("c-0").report("Ready", "False");
    world.advance(2 * S);
    expect(world.taintedAt("c-0")).toBeLessThan(11 * S);
  });

  test("the node is tainted once it is over", () => {
    const { world, report } = run({ unhealthyDelay: "10s" });
    report("False");
    world.advance(10 * S - 100);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    world.advance(S);
    expect(world.taints("a-0")).toContain(NO_EXECUTE);
    expect(world.taintedAt("a-0")).toBeGreaterThanOrEqual(20 * S);
  });

  test("a silent node does not wait for it", () => {
    const { world } = run({ unhealthyDelay: "1h" });
    world.silence(["a-0"]);
    world.advance(60 * S);
    expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
  });

  test("a node whose kubelet is back and not ready leaves the queue", () => {
    const { world, report } = run({ unhealthyDelay: "10s", maxUnhealthy: 0 });
    world.silence(["a-0"]);
    world.advance(60 * S);
    expect(judged(world)?.body).toMatchObject({ readiness: "unknown", eviction: "toBeEvicted" });
    world.revive(["a-0"]);
    report("False");
    world.advance(2 * S);
    expect(judged(world)?.body).toMatchObject({ readiness: "notReady", eviction: "unmarked" });
    world.advance(10 * S);
    expect(judged(world)?.body.eviction).toBe("toBeEvicted");
  });

  test("a longer one takes a waiting node out of the queue", () => {
    const { world, report, policies } = run({ unhealthyDelay: "2s", maxUnhealthy: 0 });
    report("False");
    world.advance(5 * S);
    expect(judged(world)?.body.eviction).toBe("toBeEvicted");
    policies.put({ unhealthyDelay: "60s", maxUnhealthy: 0 });
    world.advance(S);
    expect(judged(world)?.body.eviction).toBe("unmarked");
  });

  test("it goes on over a restart", () => {
    const { world, report, process, start } = run({ unhealthyDelay: "5m" });
    report("False");
    // The next status of the kubelet says how old the transition is, by the kubelet's own clock.
    world.advance(240 * S);
    world.kubelet("a-0").post();
    process.kill();
    world.advance(10 * S);
    start();
    world.advance(45 * S);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    world.advance(25 * S);
    expect(world.taints("a-0")).toContain(NO_EXECUTE);
  });

  test("explain says how long the node still has", () => {
    const selector = { matchLabels: { "topology.kubernetes.io/zone": "a" } };
    const world = new ExplainedWorld([{ name: "gpu", spec: { selector, unhealthyDelay: "10s" } }]);
    world.addZone("a", 3);
    world.run();
    world.advance(10 * S);
    world.kubelet("a-0").report("Ready", "False");
    world.advance(2 * S);
    const at = world.at(8 * S).slice(0, 19);
    expect(world.reader.explainNode("a-0")?.sentences).toContain(
      `It does not wait for eviction before ${at}Z: not ready for 2 s; unhealthyDelay 10s of NodePolicy gpu.`,
    );
    world.advance(9 * S);
    expect(world.reader.explainNode("a-0")?.sentences.join(" ")).not.toContain("unhealthyDelay");
  });

  test("pods go after it, where it is longer than the timeout", () => {
    const { world, report } = run({ unhealthyDelay: "60s" }, { evictionMode: "direct", podEvictionTimeoutMs: 20 * S });
    report("False");
    world.advance(59 * S);
    expect(world.deleted).toEqual([]);
    world.advance(5 * S);
    expect(world.deletedAt("p")).toBeGreaterThanOrEqual(70 * S);
  });
});
