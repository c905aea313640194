/** Freezes on virtual time: no pod is evicted, and a countdown keeps what is left of it, over every kind of restart. */
import { describe, expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import type { NodePolicySpec, PauseRequestSpec } from "../../protocols/node-policy.ts";
import type { PolicySet } from "../../protocols/policy-set.ts";
import { EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";
import { HandPolicies } from "../support/hand-policies.ts";

const S = 1000;
const EVERY_NODE: NodePolicySpec = { selector: {} };

/** Five nodes of one zone under one policy. The first falls silent and has a pod that tolerates that for 300 s. */
function deadNode(spec: NodePolicySpec = EVERY_NODE): EvictionWorld {
  const world = new EvictionWorld({}, [{ name: "gpu", spec }]);
  world.addZone("a", 5);
  world.addTolerantPod("a-0", "pod");
  world.run();
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(60 * S);
  expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
  return world;
}

const at = (world: EvictionWorld, inMs = 0): string => new Date(world.clock.wallMs() + inMs).toISOString();

/** Freezes and thaws by the ConfigMap, as `vigil freeze` does. */
function request(world: EvictionWorld, requests: readonly (PauseRequestSpec & { readonly policy?: string })[]): void {
  const { namespace, name } = FREEZE_CONFIG_MAP;
  const data = { pauseRequests: JSON.stringify(requests) };
  const ref = FREEZE_CONFIG_MAP;
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
  if (world.read(ref) === null) world.write({ verb: "create", ref, urgency: 0, body });
  else world.patch(ref, { data });
}

const restarts: [string, (world: EvictionWorld, ms: number) => void][] = [
  ["in one life", (world, ms) => world.advance(ms)],
  [
    "killed and restarted twice on the way",
    (world, ms) => {
      world.crash(ms / 4);
      world.advance(ms / 4 - 200);
      world.crash(ms / 4);
      world.advance(ms / 4 - 200);
    },
  ],
];

describe.each(restarts)("a countdown, %s,", (_life, pass) => {
  test.each([
    ["of all nodes", {}],
    ["of its policy", { policy: "gpu" }],
  ])("keeps its rest through a freeze %s", (_what, scope) => {
    const world = deadNode();
    const dueMs = world.timeAddedMs("a-0") + 300 * S;
    pass(world, 100 * S);
    const since = at(world);
    request(world, [{ name: "oncall", since, ...scope }]);
    pass(world, 200 * S);
    expect(world.deletedAt("pod")).toBeUndefined();
    request(world, [{ name: "oncall", since, until: at(world), ...scope }]);
    pass(world, 100 * S);
    world.advance(300 * S);
    expect(Math.abs((world.deletedAt("pod") ?? 0) - (dueMs + 200 * S))).toBeLessThanOrEqual(1 * S);
  });

  test("counts overlapping and nested freezes once", () => {
    const world = deadNode();
    const dueMs = world.timeAddedMs("a-0") + 300 * S;
    const all = { name: "a", since: at(world, 10 * S), until: at(world, 200 * S) };
    const own = { name: "b", since: at(world, 100 * S), until: at(world, 400 * S), policy: "gpu" };
    const within = { name: "c", since: at(world, 120 * S), until: at(world, 150 * S) };
    request(world, [all, own, within]);
    pass(world, 400 * S);
    pass(world, 100 * S);
    world.advance(300 * S);
    expect(world.deletedAt("pod")).toBe(dueMs + 390 * S);
  });
});

test("a freeze whose request was removed is remembered by the next process", () => {
  const world = deadNode();
  const dueMs = world.timeAddedMs("a-0") + 300 * S;
  request(world, [{ name: "oncall" }]);
  world.advance(200 * S);
  request(world, []);
  world.advance(1 * S);
  world.crash(10 * S);
  world.advance(400 * S);
  expect(Math.abs((world.deletedAt("pod") ?? 0) - (dueMs + 200 * S))).toBeLessThanOrEqual(1 * S);
});

test("a request that ends unseen outlives one that began with it and ended", () => {
  const world = deadNode();
  const dueMs = world.timeAddedMs("a-0") + 300 * S;
  const since = at(world);
  request(world, [{ name: "named", since }, { name: "unnamed" }]);
  world.advance(50 * S);
  const thawed = { name: "named", since, until: at(world) };
  request(world, [thawed, { name: "unnamed" }]);
  world.advance(50 * S);
  world.crash(10 * S, () => request(world, [thawed]));
  world.advance(500 * S);
  const frozenMs = (world.deletedAt("pod") ?? 0) - dueMs;
  // No process observed when the last request was removed: at the earliest after 100 s, at the latest as the next
  // process started.
  expect(frozenMs).toBeGreaterThanOrEqual(100 * S);
  expect(frozenMs).toBeLessThanOrEqual(111 * S);
});

test("mode Freeze of a policy keeps its pods, until the policy says otherwise", () => {
  const world = new EvictionWorld({}, [{ name: "gpu", spec: { ...EVERY_NODE, mode: "Freeze" } }]);
  world.addZone("a", 5);
  world.addTolerantPod("a-1", "intolerant", []);
  world.run();
  world.advance(10 * S);
  world.taint("a-1", [{ key: "maintenance", effect: "NoExecute" }]);
  world.advance(600 * S);
  expect(world.deleted).toEqual([]);
  const held = world.published("judged.pod").at(-1)?.body;
  expect(held).toMatchObject({
    eviction: "due",
    held: { field: "NodePolicy gpu: spec.mode (Freeze)", remainingMs: 0 },
  });
});

test("a pod that is due while frozen goes the moment its freeze ends", () => {
  const world = deadNode();
  const endMs = world.clock.monotonicMs() + 100 * S;
  request(world, [{ name: "oncall", reason: "switch", since: at(world), until: at(world, 100 * S) }]);
  world.advance(1 * S);
  world.addTolerantPod("a-1", "intolerant", []);
  world.taint("a-1", [{ key: "maintenance", effect: "NoExecute" }]);
  world.advance(100 * S);
  const lateMs = (world.deletedAt("intolerant") ?? 0) - endMs;
  expect(lateMs >= 0 && lateMs < 1 * S).toBe(true);
});

test.each([
  ["of all nodes", {}],
  ["of its policy", { policy: "gpu" }],
])("a freeze %s holds however long the reasons of others are", (_what, scope) => {
  const world = deadNode();
  const ended = Array.from({ length: 63 }, (_, index) => {
    const instants = { since: at(world, -2 * S * (index + 2)), until: at(world, -2 * S * (index + 1)) };
    return { name: "oncall", reason: "x".repeat(1024), ...instants, ...scope };
  });
  request(world, [...ended, { name: "oncall", since: at(world), ...scope }]);
  world.advance(1000 * S);
  expect(world.deleted).toEqual([]);
});

test("a freeze until the end of time has no end, and its pods are shown", () => {
  const world = deadNode();
  request(world, [{ name: "oncall", since: at(world), until: "9999-12-31T23:59:59Z" }]);
  world.advance(10 * S);
  const held = world.published("judged.pod").at(-1)?.body;
  expect(held).toMatchObject({ deadlineAt: null, held: { field: expect.stringContaining("oncall"), untilAt: null } });
});

test("pods of a frozen node that were due and are gone cost nothing more", () => {
  const world = new EvictionWorld();
  const policies = new HandPolicies();
  policies.put({ mode: "Freeze" }, [{ fromAt: 0, toAt: null }]);
  let reads = 0;
  const current = (): PolicySet | null => {
    reads += 1;
    return policies.current();
  };
  const readsInMinute = (): number => {
    const before = reads;
    world.advance(60 * S);
    return reads - before;
  };
  world.addZone("a", 4);
  world.run({ policies: { current, follow: (changed) => policies.follow(changed) } });
  world.taint("a-1", [{ key: "maintenance", effect: "NoExecute" }]);
  world.advance(10 * S);
  const idle = readsInMinute();
  const pods = Array.from({ length: 50 }, (_, index) => `pod-${index}`);
  for (const pod of pods) world.addTolerantPod("a-1", pod, []);
  world.advance(1 * S);
  expect(world.published("judged.pod").filter(({ body }) => body.eviction === "due")).toHaveLength(50);
  for (const pod of pods) world.removePod(pod);
  world.advance(60 * S);
  expect(readsInMinute()).toBe(idle);
});

test("healing goes on while everything is frozen", () => {
  const world = deadNode();
  request(world, [{ name: "oncall" }]);
  world.advance(10 * S);
  world.revive(["a-0"]);
  world.advance(2 * S);
  expect(world.taints("a-0")).toEqual([]);
});

test("an eviction that was requested before the freeze is refused by the writer", () => {
  const world = deadNode();
  request(world, [{ name: "oncall" }]);
  world.advance(1 * S);
  const pod = world.received.find(({ type }) => type === "judged.pod")?.body as { uid: string };
  const target = { namespace: "default", name: "pod", uid: pod.uid, node: "a-0", mode: "taint" } as const;
  const taint = { key: UNREACHABLE, effect: "NoExecute" };
  const deadlineAt = world.clock.wallMs();
  world.busOf("taint-manager", "other").publish("asked.eviction", { ...target, deadlineAt, taint }, null);
  world.advance(10 * S);
  expect(world.deleted).toEqual([]);
  const refused = world.published("done.write").at(-1)?.body;
  expect(refused).toMatchObject({ outcome: "refused", detail: expect.stringContaining("ConfigMap vigil-freeze") });
});

test("a frozen node gets no NoExecute taint, but conditions and NoSchedule taints", () => {
  const world = new EvictionWorld({}, [{ name: "gpu", spec: EVERY_NODE }]);
  world.addZone("a", 5);
  world.run();
  request(world, [{ name: "oncall", since: at(world), until: at(world, 300 * S), policy: "gpu" }]);
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(200 * S);
  expect(world.taints("a-0")).toEqual([`${UNREACHABLE}:NoSchedule`]);
  expect(world.node("a-0").status.conditions).toContainEqual(expect.objectContaining({ status: "Unknown" }));
  world.advance(200 * S);
  expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
});

test("a node that thaws is tainted within five seconds", () => {
  const world = new EvictionWorld({}, [{ name: "gpu", spec: EVERY_NODE }]);
  world.addZone("a", 10);
  world.run();
  request(world, [{ name: "oncall", since: at(world), until: at(world, 395 * S), policy: "gpu" }]);
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(364 * S);
  expect(world.taints("a-0")).toEqual([`${UNREACHABLE}:NoSchedule`]);
  world.advance(6 * S);
  expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
});

test("frozen nodes take no grant from the others of their zone", () => {
  const frozen = ["f-0", "f-1", "f-2"];
  const world = new EvictionWorld({}, [
    { name: "gpu", spec: { selector: { matchLabels: { pool: "gpu" } }, mode: "Freeze" } },
  ]);
  world.addZone("a", 20);
  for (const name of frozen) world.register(name, { ...world.node("a-0").metadata.labels, pool: "gpu" });
  world.run();
  world.advance(30 * S);
  world.silence(frozen);
  world.advance(5 * S);
  world.silence(["a-3"]);
  world.advance(60 * S);
  expect(world.taints("f-0")).toEqual([`${UNREACHABLE}:NoSchedule`]);
  expect(world.taints("a-3")).toContain(`${UNREACHABLE}:NoExecute`);
  expect(world.published("asked.taint").filter(({ body }) => body.why === "granted")).toHaveLength(1);
});
