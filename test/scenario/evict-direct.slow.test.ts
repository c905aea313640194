/** Scenarios of direct mode on virtual time: nodes are drained after pod-eviction-timeout, without NoExecute taints. */
import { describe, expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import { Urgency } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { ConfiguredPolicy } from "../../services/domain/node-policy.parse.ts";
import { policyService } from "../../services/policy/policy.service.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { HandPolicies } from "../support/hand-policies.ts";

const S = 1000;
/** The last heartbeat is at 30 s. The timeout of 300 s counts from it and ends at the first instant after (R5.3). */
const DUE_MS = 330_001;
const lives: [string, (world: EvictionWorld, forMs: number) => void][] = [
  ["without a restart", (world, forMs) => world.advance(forMs)],
  ["killed and restarted on the way", (world, forMs) => world.crash(forMs)],
];
/** API stamps are cut to seconds, so a process that knows a death only from them may be late by this much. */
const STAMP_MS = 1000;

/**
 * Six nodes with a pod each and a DaemonSet's pod on the first, under Vigil in direct mode. The given nodes fall silent
 * at 30 s.
 */
function drained(
  silent: readonly string[],
  profile: Partial<Profile> = {},
  policies: readonly ConfiguredPolicy[] | null = null,
): EvictionWorld {
  const world = new EvictionWorld({ evictionMode: "direct", ...profile }, policies);
  world.addZone("a", 6);
  for (let index = 0; index < 6; index++) world.addTolerantPod(`a-${index}`, `pod-${index}`, [{ operator: "Exists" }]);
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "u", controller: true };
  world.addPod("a-0", "agent", { metadata: { ownerReferences: [owner] } });
  world.run();
  world.advance(30 * S - world.clock.monotonicMs());
  world.silence(silent);
  world.advance(60 * S);
  return world;
}

describe.each(lives)("direct mode, %s", (_what, pass) => {
  test("deletes a dead node's pods after the timeout, but no DaemonSet's", () => {
    const world = drained(["a-0"]);
    pass(world, 10 * S);
    world.advance(DUE_MS - world.clock.monotonicMs() - 1);
    expect(world.deleted).toEqual([]);
    world.advance(1 + STAMP_MS);
    expect(world.deleted.map(({ name }) => name)).toEqual(["pod-0"]);
    expect(world.deletedAt("pod-0")).toBeGreaterThanOrEqual(DUE_MS);
    const status = JSON.stringify(world.read({ kind: "Pod", namespace: "default", name: "pod-0" })?.status);
    expect(status).toContain('"reason":"NodeLost"');
    expect(status).toContain("Node a-0 which was running pod pod-0 is unresponsive");
    const kept = JSON.stringify(world.read({ kind: "Pod", namespace: "default", name: "agent" })?.status);
    expect(kept).not.toContain("NodeLost");
  });

  test("publishes when a dead node's pods may go, until that instant", () => {
    const world = drained(["a-0"]);
    const startAt = world.clock.wallMs() - world.clock.monotonicMs();
    pass(world, 10 * S);
    const judged = () => world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body;
    const fromMs = (judged()?.evictionFromAt ?? 0) - startAt;
    expect(fromMs).toBeGreaterThanOrEqual(DUE_MS);
    expect(fromMs).toBeLessThanOrEqual(DUE_MS + STAMP_MS);
    world.advance(600 * S);
    expect(judged()).toMatchObject({ eviction: "evicted" });
    expect(judged()?.evictionFromAt).toBeUndefined();
  });

  test("never writes a NoExecute taint (P14)", () => {
    const world = drained(["a-0", "a-1"]);
    pass(world, 10 * S);
    world.advance(600 * S);
    expect(world.tainted).toEqual([]);
    expect(world.taints("a-0")).toEqual(["node.kubernetes.io/unreachable:NoSchedule"]);
  });

  test("drains one node every 10 s", () => {
    const world = drained(["a-0", "a-1", "a-2"]);
    world.advance(DUE_MS - world.clock.monotonicMs() + 5 * S);
    expect(world.deleted).toHaveLength(1);
    pass(world, 2 * S);
    world.advance(60 * S);
    const [first = 0, second = 0, third = 0] = world.deleted.map(({ atMs }) => atMs);
    expect(second - first).toBeGreaterThanOrEqual(10 * S - 1);
    expect(third - second).toBeGreaterThanOrEqual(10 * S - 1);
    expect(world.deleted).toHaveLength(3);
  });

  test("cancels the drain when the node returns", () => {
    const world = drained(["a-0"]);
    world.advance(200 * S);
    pass(world, 5 * S);
    world.revive(["a-0"]);
    world.advance(600 * S);
    expect(world.deleted).toEqual([]);
  });
});

describe("a node without pods to delete", () => {
  const grantedAfter = (world: EvictionWorld, fromMs: number) =>
    world
      .published("asked.drain")
      .filter(({ atMs }) => atMs >= fromMs)
      .map(({ body }) => body.node);

  test("takes no token after a restart, drained or not", () => {
    const world = drained(["a-0", "a-1", "a-2", "a-3"], { unhealthyZoneThreshold: 1 });
    world.removePod("pod-2");
    world.advance(DUE_MS - world.clock.monotonicMs() + 15 * S);
    expect(world.deleted.map(({ name }) => name)).toEqual(["pod-2", "pod-1", "pod-0"]);
    world.crash(2 * S);
    const startMs = world.clock.monotonicMs();
    world.advance(120 * S);
    expect(grantedAfter(world, startMs)).toEqual(["a-3"]);
    expect(world.deletedAt("pod-3")).toBeLessThanOrEqual(startMs + 10 * S + STAMP_MS);
  });

  test("leaves the queue, and waits again once it has one", () => {
    const world = drained(["a-0", "a-1"], { nodeEvictionsPerSecond: 0.01 });
    const judged = () => world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body.eviction;
    world.advance(DUE_MS - world.clock.monotonicMs() + 5 * S);
    expect(judged()).toBe("toBeEvicted");
    world.removePod("pod-0");
    world.advance(200 * S);
    expect(judged()).toBe("unmarked");
    expect(grantedAfter(world, 0)).toEqual(["a-1"]);
    world.addTolerantPod("a-0", "late");
    world.advance(1 * S);
    expect(grantedAfter(world, 0)).toEqual(["a-1", "a-0"]);
    expect(world.deletedAt("late")).toBeDefined();
  });

  // Pods are published once the API shows that the node is not ready. With this timeout the drain is due before that.
  test("is not drained before its pods are known", () => {
    const world = drained([], { podEvictionTimeoutMs: 30 * S });
    world.removePod("pod-0");
    world.silence(["a-0"]);
    world.advance(60 * S);
    expect(grantedAfter(world, 0)).toEqual([]);
    world.silence(["a-1", "a-2", "a-3"]);
    world.advance(60 * S);
    expect(world.published("judged.zone").at(-1)?.body).toMatchObject({ notReady: 4, taintsPerSecond: 0 });
    const stoppedMs = world.clock.monotonicMs();
    world.addTolerantPod("a-0", "late");
    world.advance(60 * S);
    const judged = world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body;
    expect(judged?.eviction).toBe("toBeEvicted");
    expect(grantedAfter(world, stoppedMs)).toEqual([]);
    expect(world.deletedAt("late")).toBeUndefined();
  });
});

test("pods are published as not known until the API shows the node as down", () => {
  const world = drained(["a-0"]);
  const ahead = world.published("judged.node").filter(({ body }) => body.evictionFromAt !== undefined);
  expect(ahead.map(({ body }) => body.podsUnknown)).toEqual([true, undefined]);
});

test("a timeout below the grace drains a node as soon as it is found silent", () => {
  const world = drained(["a-0"], { podEvictionTimeoutMs: 10 * S });
  const foundMs = 30 * S + world.profile.nodeMonitorGraceMs;
  expect(world.deletedAt("pod-0")).toBeGreaterThanOrEqual(foundMs);
  expect(world.deletedAt("pod-0")).toBeLessThanOrEqual(foundMs + 1 * S);
});

test("a pod that lands on a drained node is deleted at once, whatever the rate (R5.8)", () => {
  const world = drained(["a-0"]);
  world.advance(300 * S);
  world.addTolerantPod("a-0", "late");
  const landedMs = world.clock.monotonicMs();
  world.advance(1 * S);
  expect(world.deletedAt("late")).toBeLessThanOrEqual(landedMs + world.profile.leaseBatchMs);
});

describe("after a halt with half the nodes back", () => {
  const all = Array.from({ length: 6 }, (_, index) => `a-${index}`);

  test("running timeouts start again (R6.11)", () => {
    const world = drained(all);
    world.advance(110 * S);
    world.revive(all.slice(3));
    const backMs = world.clock.monotonicMs();
    world.advance(300 * S);
    expect(world.deleted).toEqual([]);
    world.advance(30 * S);
    expect(world.deleted.map(({ name }) => name).sort()).toEqual(["pod-0", "pod-1", "pod-2"]);
    expect(world.deleted[0]?.atMs).toBe(backMs + 300 * S + 1);
  });

  test("NotReady timeouts start again (R6.11)", () => {
    const world = drained([]);
    for (const name of all) world.kubelet(name).report("Ready", "False");
    world.advance(200 * S);
    for (const name of all.slice(3)) world.kubelet(name).report("Ready", "True");
    const backMs = world.clock.monotonicMs();
    world.advance(300 * S);
    expect(world.deleted).toEqual([]);
    world.advance(30 * S);
    expect(world.deleted[0]?.atMs).toBe(backMs + 300 * S + 1);
  });

  test("due nodes queue for a token (R6.15)", () => {
    const world = drained([]);
    for (const name of all) world.kubelet(name).report("Ready", "False");
    world.advance(600 * S);
    expect(world.deleted).toEqual([]);
    for (const name of all.slice(3)) world.kubelet(name).report("Ready", "True");
    const backMs = world.clock.monotonicMs();
    world.advance(60 * S);
    expect(world.deleted.map(({ atMs }) => Math.round(atMs - backMs))).toEqual([10 * S, 20 * S, 30 * S]);
  });

  test("time when no node was heard does not count", () => {
    const world = drained(all);
    world.advance(600 * S);
    world.revive(all.slice(3));
    const backMs = world.clock.monotonicMs();
    world.advance(330 * S);
    const deletedMs = world.deleted.map(({ atMs }) => Math.round(atMs - backMs));
    expect(deletedMs).toEqual([300 * S + 1, 310 * S + 1, 320 * S + 1]);
  });
});

test("a drain cancelled while deletes fail stays cancelled when they succeed (R6.10)", () => {
  const world = drained(["a-0"]);
  const mend = world.api.faults.add({ fault: { kind: "status", code: 500 }, when: ({ verb }) => verb === "delete" });
  world.advance(300 * S);
  expect(world.published("asked.eviction").length).toBeGreaterThan(0);
  world.silence(["a-1", "a-2", "a-3", "a-4", "a-5"]);
  world.advance(60 * S);
  expect(world.published("judged.zone").at(-1)?.body.halted).toBe(true);
  mend();
  world.advance(120 * S);
  expect(world.deleted).toEqual([]);
});

test.each([
  ["fails", { kind: "status", code: 500 }],
  ["loses its answer", { kind: "lostRequest" }],
] as const)("a delete that %s is retried before the node service requests it again", (_what, fault) => {
  const world = drained(["a-0"]);
  world.api.faults.add({ fault, when: ({ verb }) => verb === "delete", times: 1 });
  world.advance(DUE_MS - world.clock.monotonicMs() + 60 * S);
  const tries = world.published("done.write").filter(({ body }) => body.ask === "asked.eviction");
  expect(tries.map(({ body }) => body.retrying)).toEqual([true, false]);
  const [failed, deleted] = tries.map(({ atMs }) => atMs);
  expect((deleted ?? 0) - (failed ?? 0)).toBeLessThan(world.profile.askRetryMs);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod-0"]);
});

test("a failing drain is retried only on its node's request, so it can be cancelled", () => {
  const world = drained(["a-0"]);
  world.api.faults.add({ fault: { kind: "status", code: 500 }, when: ({ verb }) => verb === "delete" });
  world.advance(300 * S);
  const asksMs = world.published("asked.eviction").map(({ atMs }) => atMs);
  const triesMs = world.published("done.write").filter(({ body }) => body.ask === "asked.eviction");
  for (const { atMs } of triesMs) {
    const askedMs = asksMs.findLast((askMs) => askMs <= atMs) ?? 0;
    expect(atMs - askedMs).toBeLessThanOrEqual(world.profile.askRetryMs);
  }
  expect(triesMs.length).toBeGreaterThan(asksMs.length);
});

test("a node that waits for its grant is published again, in case a message was lost", () => {
  const world = new EvictionWorld({ evictionMode: "direct" });
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod");
  const { zone: _noProcessGrants, ...services } = EVICTING;
  world.start(services, { member: "vigil" });
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(400 * S);
  const waiting = world.published("judged.node").filter(({ body }) => body.eviction === "toBeEvicted");
  expect(waiting.slice(0, 4).map(({ atMs }) => atMs - DUE_MS)).toEqual([0, 2 * S, 4 * S, 8 * S]);
});

test.each(lives)("a transition without a stamp counts from when it is observed (R5.3), %s", (_what, pass) => {
  const world = drained([]);
  const zone = { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a" };
  const post = (status: string): void => {
    const conditions = [{ type: "Ready", status, lastTransitionTime: null }];
    world.patch({ kind: "Node", namespace: "", name: "odd" }, { status: { conditions } }, "status");
  };
  world.register("odd", zone, { statusPeriodMs: null });
  world.addTolerantPod("odd", "odd-pod");
  post("True");
  world.advance(600 * S);
  post("False");
  pass(world, 0);
  const seenMs = world.clock.monotonicMs();
  world.advance(300 * S);
  expect(world.deleted).toEqual([]);
  world.advance(STAMP_MS);
  expect(world.deletedAt("odd-pod")).toBeGreaterThan(seenMs + 300 * S);
});

test("a foreign NoExecute taint evicts no pod, as without a taint manager", () => {
  const world = drained([]);
  world.addTolerantPod("a-1", "plain", []);
  world.taint("a-1", [{ key: "maintenance", effect: "NoExecute" }]);
  world.advance(600 * S);
  expect(world.deleted).toEqual([]);
  expect(world.published("judged.pod")).toEqual([]);
});

test("after a restart a node with a shorter grace by its policy is drained no earlier", () => {
  const world = new EvictionWorld({ evictionMode: "direct" });
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod");
  const policies = new HandPolicies({ nodeMonitorGracePeriod: "20s" });
  const start = () => world.start({ ...EVICTING, policy: policyService([]) }, { member: "vigil", policies });
  const process = start();
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(60 * S);
  process.kill();
  start();
  world.advance(DUE_MS - world.clock.monotonicMs() - STAMP_MS);
  expect(world.deleted).toEqual([]);
  world.advance(5 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod"]);
});

test("a pod-eviction-timeout of 0 drains a node as soon as it is found silent", () => {
  const world = drained(["a-0"], { podEvictionTimeoutMs: 0 });
  // Its last heartbeat came at 30 s, and its grace of 50 s has ended.
  expect(world.deleted).toMatchObject([{ name: "pod-0" }]);
  expect(world.deletedAt("pod-0")).toBeGreaterThan(80 * S);
});

describe.each(lives)("a frozen node keeps what is left of its timeout, %s,", (_what, pass) => {
  const FROZEN_MS = 600 * S;
  const instant = (world: EvictionWorld, inMs = 0): string => new Date(world.clock.wallMs() + inMs).toISOString();
  const expectLater = (world: EvictionWorld): void => {
    pass(world, 100 * S);
    world.advance(DUE_MS + FROZEN_MS - world.clock.monotonicMs() - STAMP_MS);
    expect(world.deleted).toEqual([]);
    world.advance(5 * S);
    expect(world.deleted.map(({ name }) => name)).toEqual(["pod-0"]);
  };

  test("by a request", () => {
    const world = drained(["a-0"], {}, [{ name: "gpu", spec: { selector: {} } }]);
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const request = { name: "oncall", since: instant(world), until: instant(world, FROZEN_MS) };
    const data = { pauseRequests: JSON.stringify([request]) };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
    world.write({ verb: "create", ref: FREEZE_CONFIG_MAP, urgency: Urgency.status, body });
    expectLater(world);
  });

  test("by a condition", () => {
    const maintenance = { hold: ["DrainInProgress"], atMost: "10m" };
    const world = drained(["a-0"], {}, [{ name: "gpu", spec: { selector: {}, maintenance } }]);
    const conditions = [{ type: "DrainInProgress", status: "True", lastTransitionTime: instant(world) }];
    const ref = { kind: "Node", namespace: "", name: "a-0" } as const;
    const where = { ref, urgency: Urgency.status, subresource: "status" } as const;
    world.write({ ...where, verb: "patch", patch: "strategic", body: { status: { conditions } } });
    expectLater(world);
  });
});
