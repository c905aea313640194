/** Which nodes the owner of the limits permits, where several limits, zones or failures meet. */
import { describe, expect, test } from "vitest";
import { LIMITS_LEASE } from "../../../protocols/names.ts";
import { type Io, Urgency } from "../../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../../protocols/subjects.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { nodeService } from "../../../services/node/node.service.ts";
import { fixedPolicies } from "../../../services/platform/node-policies/policy-receiver.ts";
import type { Call } from "../../../services/sandbox/apiserver/routes.ts";
import { LimitedNodes } from "../../../services/zone/limits/limited-nodes.ts";
import { LimitsActor } from "../../../services/zone/limits/limits.actor.ts";
import { Permits } from "../../../services/zone/limits/permits.ts";
import { nodeWith, taint } from "../../node/node-fixtures.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandFleet } from "../../support/hand-fleet.ts";
import { HandPolicies, type PolicyFields } from "../../support/hand-policies.ts";

const S = 1000;
const MINUTE = 60 * S;
const ZONE = "topology.kubernetes.io/zone";
const isLease = ({ name, resource }: Call): boolean => resource.plural === "leases" && name === LIMITS_LEASE.name;

describe("a node that joins by its label", () => {
  /** A tainted node of zone c, which has no policy, names zone a, whose policy allows one evicted node. */
  const start = () => {
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
    world.addZone("a", 6);
    world.addZone("c", 6);
    world.start(EVICTING, { member: "vigil", policies: new HandPolicies({ budgets: [{ nodes: 1 }] }) });
    world.advance(30 * S);
    world.silence(["c-0"]);
    world.advance(60 * S);
    world.patch({ kind: "Node", namespace: "", name: "c-0" }, { metadata: { labels: { [ZONE]: "a" } } });
    world.advance(10 * S);
    return world;
  };
  const tainted = (world: EvictionWorld) => world.tainted.map(({ name }) => name);

  test("takes no place of its budget at once", () => {
    const world = start();
    world.silence(["a-0"]);
    world.advance(60 * S);
    expect(tainted(world)).toEqual(["c-0", "a-0"]);
  });

  test("takes a place ten minutes later, and is named", () => {
    const world = start();
    world.advance(10 * MINUTE);
    world.silence(["a-0"]);
    world.advance(5 * MINUTE);
    expect(tainted(world)).toEqual(["c-0"]);
    const { longest } = world.published("judged.limits").at(-1)?.body ?? {};
    expect(longest).toEqual({ node: "c-0", since: expect.any(Number) });
  });

  test("counts at once if it is evicted there", () => {
    const world = start();
    world.patch({ kind: "Node", namespace: "", name: "c-1" }, { metadata: { labels: { [ZONE]: "a" } } });
    world.advance(5 * S);
    world.silence(["c-1"]);
    world.advance(60 * S);
    world.silence(["a-0"]);
    world.advance(60 * S);
    expect(tainted(world)).toEqual(["c-0", "c-1"]);
  });

  test("is no part of percentages for ten minutes", () => {
    const nodes = new LimitedNodes("taint");
    nodes.regroup(({ labels }) => [labels.pool ?? "none"], { nowMs: 0, wallMs: 0 });
    const at = (ms: number) => ({ nowMs: ms, wallMs: ms });
    const node = { ...nodeWith("Unknown"), node: "n", uid: "u" };
    nodes.onNode(node, null, at(0));
    nodes.onNode({ ...node, labels: { pool: "gpu" } }, null, at(S));
    expect([nodes.settle(at(10 * MINUTE)), nodes.group("gpu")?.selected]).toEqual([false, 0]);
    expect([nodes.settle(at(10 * MINUTE + S)), nodes.group("gpu")?.selected]).toEqual([true, 1]);
  });
});

test("a node whose labels only a new policy shows has not joined it", () => {
  const nodes = new LimitedNodes("taint");
  const node = { ...nodeWith("Unknown"), node: "n", uid: "u" };
  nodes.onNode(node, null, { nowMs: 0, wallMs: 0 });
  nodes.regroup(({ policyLabels }) => (policyLabels === undefined ? null : ["gpu"]), { nowMs: 0, wallMs: 0 });
  nodes.onNode({ ...node, labels: { pool: "gpu" }, policyLabels: 7 }, null, { nowMs: S, wallMs: S });
  expect(nodes.group("gpu")?.selected).toBe(1);
});

describe("a node that is held back", () => {
  /** Two nodes of a policy fall silent. What was said until when the second is held, and when it was tainted. */
  const held = (fields: PolicyFields, minutes: number) => {
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
    world.addZone("a", 6);
    world.start(EVICTING, { member: "vigil", policies: new HandPolicies(fields) });
    world.advance(30 * S);
    world.silence(["a-0", "a-1"]);
    const taintedAt: number[] = [];
    for (let second = 0; second < minutes * 60; second++) {
      world.advance(1 * S);
      if (world.tainted.length > taintedAt.length) taintedAt.push(world.clock.wallMs());
    }
    const holds = world
      .published("judged.limits")
      .flatMap(({ body }) => body.holds.filter(({ policy }) => policy === "pool"));
    const untils = [...new Set(holds.flatMap(({ untilAt }) => untilAt ?? []))];
    return {
      untils,
      untilsOfBoth: holds.flatMap(({ nodes, untilAt }) => (nodes === 2 ? (untilAt ?? []) : [])),
      taintedAt,
    };
  };

  test.each<[string, PolicyFields, number]>([
    [
      "a breaker that resets while its window is full",
      { circuitBreaker: { maxNodes: 1, duration: "10m", resetAfter: "1m" } },
      15,
    ],
    [
      "a breaker and the cooldown after it",
      { circuitBreaker: { maxNodes: 1, duration: "1m", resetAfter: "2m" }, stormCooldownDuration: "3m" },
      10,
    ],
    [
      "budgets whose schedules follow each other",
      {
        budgets: [
          { nodes: 1, schedule: "0 0 * * *", duration: "65m" },
          { nodes: 0, schedule: "4 1 * * *", duration: "10m" },
        ],
      },
      80,
    ],
  ])("by %s is tainted when that was to end", (_what, fields, minutes) => {
    const { untils, taintedAt } = held(fields, minutes);
    expect(taintedAt).toHaveLength(2);
    const earlyMs = untils.map((untilAt) => (taintedAt[1] ?? 0) - untilAt);
    expect(earlyMs).not.toEqual([]);
    for (const ms of earlyMs) {
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThan(10 * S);
    }
  });

  test("by a breaker that opens again goes in time", () => {
    const circuitBreaker: PolicyFields["circuitBreaker"] = {
      maxNodes: 1,
      duration: "3m",
      resetAfter: "2m",
      holds: ["Evictions", "Readiness"],
    };
    const { untilsOfBoth, taintedAt } = held({ circuitBreaker }, 8);
    expect(untilsOfBoth).not.toEqual([]);
    for (const untilAt of untilsOfBoth) {
      expect((taintedAt[0] ?? 0) - untilAt).toBeGreaterThanOrEqual(0);
      expect((taintedAt[0] ?? 0) - untilAt).toBeLessThan(10 * S);
    }
  });
});

test.each<[string, PolicyFields["circuitBreaker"]]>([
  ["that no node waits for", { maxNodes: 1, duration: "3m", resetAfter: "35s", holds: ["Evictions", "Readiness"] }],
  ["that a node waits for", { maxNodes: 1, duration: "3m", resetAfter: "35s" }],
])("a breaker %s resets between two pulses", (_what, circuitBreaker) => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, pulsePeriodMs: 10 * S, pulseTimeoutMs: 30 * S });
  world.addZone("a", 6);
  world.start(EVICTING, { member: "vigil", policies: new HandPolicies({ circuitBreaker }) });
  world.advance(90 * S);
  world.silence(["a-0", "a-1"]);
  world.advance(5 * MINUTE);
  const announced = world.published("judged.limits").filter(({ body }) => body.policy === "pool");
  const lateMs = announced.flatMap(({ at, body }, index) => {
    const { trippedAt = null, resetAt = null } = announced[index - 1]?.body.memory ?? {};
    return resetAt === null || trippedAt === body.memory.trippedAt ? [] : [at - resetAt];
  });
  expect(lateMs.length).toBeGreaterThan(1);
  for (const ms of lateMs) expect(ms).toBeLessThan(100);
});

test("a node that waited for a cooldown opens the breaker as soon as that is over", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, pulsePeriodMs: 10 * S, pulseTimeoutMs: 30 * S });
  world.addZone("a", 6);
  const circuitBreaker: PolicyFields["circuitBreaker"] = { maxNodes: 1, duration: "21s", resetAfter: "35s" };
  const fields = { circuitBreaker, stormCooldownDuration: "7s", unhealthyZoneThreshold: 1 };
  world.start(EVICTING, { member: "vigil", policies: new HandPolicies(fields) });
  world.advance(90 * S);
  world.silence(["a-0", "a-1", "a-2", "a-3"]);
  world.advance(5 * MINUTE);
  const announced = world.published("judged.limits").filter(({ body }) => body.policy === "pool");
  const openedMs = announced.flatMap(({ at, body: { memory } }, index) => {
    const before = announced[index - 1]?.body;
    const hasWaited = before?.holds.some(({ field }) => field === "stormCooldownDuration") === true;
    const admittedAt = Math.max(...memory.condemnations.map((each) => each.at));
    return hasWaited && memory.trippedAt !== null ? [at - admittedAt - 7 * S] : [];
  });
  expect(openedMs).not.toEqual([]);
  for (const ms of openedMs) expect(ms).toBeLessThan(0.3 * S);
});

test("after a storm, nodes follow each other at the secondary rate", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 100, secondaryNodeEvictionsPerSecond: 0.5 });
  world.addZone("a", 20);
  const fields = { maxUnhealthy: 8, stormCooldownDuration: "1m" };
  world.start(EVICTING, { member: "vigil", policies: new HandPolicies(fields) });
  world.advance(30 * S);
  const silent = Array.from({ length: 10 }, (_, index) => `a-${index}`);
  world.silence(silent);
  world.advance(60 * S);
  world.revive(silent.slice(0, 3));
  world.advance(62 * S);
  const before = world.tainted.length;
  const atMs: number[] = [];
  for (let step = 0; step < 150; step++) {
    world.advance(0.1 * S);
    if (world.tainted.length > before + atMs.length) atMs.push(step * 100);
  }
  const gaps = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));
  expect(gaps.length).toBeGreaterThan(2);
  for (const gap of gaps) {
    expect(gap).toBeGreaterThanOrEqual(2 * S);
    expect(gap).toBeLessThanOrEqual(2.2 * S);
  }
});

describe("two breakers", () => {
  /** Zone a has the policy, zone c none; each breaker trips on the second node. */
  const start = (fields: PolicyFields) => {
    const world = new EvictionWorld({
      nodeEvictionsPerSecond: 1,
      circuitBreakerNodesMax: 1,
      circuitBreakerDurationMs: 2 * MINUTE,
      circuitBreakerResetAfterMs: 60 * MINUTE,
    });
    world.addZone("a", 4);
    world.addZone("c", 6);
    world.start(EVICTING, { member: "vigil", policies: new HandPolicies(fields) });
    world.advance(30 * S);
    const tainted = () => world.tainted.map(({ name }) => name);
    const open = () => {
      const latest = new Map(world.published("judged.limits").map(({ body }) => [body.policy, body.memory.trippedAt]));
      return [...latest].flatMap(([policy, trippedAt]) => (trippedAt === null ? [] : [policy])).sort();
    };
    return { world, tainted, open };
  };
  const circuitBreaker = { maxNodes: 1, duration: "10m", resetAfter: "60m" };

  test("open together for a node that only they hold back", () => {
    const { world, open } = start({ circuitBreaker });
    world.silence(["a-0", "a-1"]);
    world.advance(90 * S);
    expect(open()).toEqual(["", "pool"]);
  });

  test("the cluster's stays closed for a node that a budget holds back", () => {
    const { world, tainted, open } = start({ budgets: [{ nodes: 0 }] });
    world.silence(["c-0"]);
    world.advance(5 * S);
    world.silence(["a-0"]);
    world.advance(5 * MINUTE);
    expect([tainted(), open()]).toEqual([["c-0"], []]);
    world.silence(["c-1"]);
    world.advance(2 * MINUTE);
    expect(tainted()).toEqual(["c-0", "c-1"]);
  });

  test("the policy's stays closed for a node that the cluster's holds back", () => {
    const { world, tainted, open } = start({ circuitBreaker });
    world.silence(["a-0", "c-0"]);
    world.advance(2 * MINUTE);
    expect([tainted(), open()]).toEqual([["a-0"], [""]]);
    world.silence(["a-1"]);
    world.advance(2 * MINUTE);
    expect(open()).toEqual([""]);
  });

  test("stay closed for a node that waits for the Lease", () => {
    const { world, tainted, open } = start({ circuitBreaker });
    world.silence(["a-0"]);
    world.advance(90 * S);
    world.api.faults.add({ fault: { kind: "status", code: 503 }, when: isLease });
    world.advance(30 * S);
    world.silence(["a-1"]);
    world.advance(2 * MINUTE);
    expect([tainted(), open()]).toEqual([["a-0"], []]);
  });
});

test("a zone whose owner does not see it takes no permit from another", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
  for (const [zone, size] of [
    ["a", 4],
    ["b", 4],
    ["c", 3],
  ] as const)
    world.addZone(zone, size);
  const matchExpressions = [
    { key: ZONE, operator: "In" as const, values: ["a", "b"] },
    { key: "apart", operator: "DoesNotExist" as const },
  ];
  const policy = nodePolicyOf("pool", { selector: { matchExpressions }, budgets: [{ nodes: 1 }] });
  const policies = fixedPolicies(policySet([policy]));
  // A node of a shard of its own, which no process judges.
  const shards = new Set(["a", "b", "c"].flatMap((zone) => [0, 1, 2, 3].map((index) => shardOf(`${zone}-${index}`))));
  const unjudged = Array.from({ length: 200 }, (_, index) => `x-${index}`).find((name) => !shards.has(shardOf(name)));
  if (unjudged === undefined) throw new Error("some shard is free");
  const fleet = new HandFleet("judge");
  for (let shard = 0; shard < SHARD_COUNT; shard++) if (shard !== shardOf(unjudged)) fleet.set("node", shard, true);
  const { node: _node, ...others } = EVICTING;
  world.start({ node: nodeService }, { member: "judge", fleet, policies });
  world.start(others, { member: "vigil", policies });
  world.advance(MINUTE);
  world.register(unjudged, { apart: "yes", "topology.kubernetes.io/region": "r", [ZONE]: "a" });
  world.advance(10 * S);
  world.silence(["a-0"]);
  world.advance(5 * S);
  world.silence(["b-0"]);
  world.advance(5 * MINUTE);
  expect(world.tainted.map(({ name }) => name)).toEqual(["b-0"]);
});

test("a node whose taint a webhook refuses takes no permit from another", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
  world.addZone("a", 6);
  world.addZone("c", 3);
  world.start(EVICTING, { member: "vigil", policies: new HandPolicies({ budgets: [{ nodes: 1 }] }) });
  world.advance(30 * S);
  const mend = world.api.faults.add({
    fault: { kind: "status", code: 403, message: "a webhook says no" },
    when: ({ verb, name, subresource, resource }) =>
      resource.plural === "nodes" && name === "a-0" && subresource === "" && verb !== "get",
  });
  world.silence(["a-0"]);
  world.advance(5 * S);
  world.silence(["a-1"]);
  world.advance(10 * MINUTE);
  const tainted = () => world.tainted.map(({ name }) => name);
  expect(tainted()).toEqual(["a-1"]);
  mend();
  world.revive(["a-1"]);
  world.advance(2 * MINUTE);
  expect(tainted()).toEqual(["a-1", "a-0"]);
});

test("a storm of a policy without nodes ends over a restart too", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
  world.addZone("c", 3);
  const a = world.addZone("a", 4);
  const policies = new HandPolicies({ maxUnhealthy: 1, stormCooldownDuration: "5m" });
  const process = world.start(EVICTING, { member: "vigil", policies });
  world.advance(30 * S);
  world.silence(a);
  world.advance(2 * MINUTE);
  const [memory] = world.published("judged.limits").slice(-1);
  expect(memory?.body.memory.isStorm).toBe(true);
  process.kill();
  for (const name of a) {
    world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name }, urgency: Urgency.healing });
  }
  world.start(EVICTING, { member: "next", policies });
  world
    .busOf("policy", "store")
    .publish("judged.memory", { policy: "pool", memory: memory?.body.memory ?? null }, null);
  world.advance(20 * MINUTE);
  expect(world.published("judged.limits").at(-1)?.body).toMatchObject({ selected: 0, memory: { isStorm: false } });
  world.addZone("b", 4);
  world.advance(MINUTE);
  world.silence(["b-0"]);
  world.advance(MINUTE);
  expect(world.tainted.map(({ name }) => name)).toContain("b-0");
});

test("a process that does not own the limits forgets admitted nodes that are gone", () => {
  const world = new EvictionWorld({});
  const nodes = new LimitedNodes("taint");
  const at = () => ({ nowMs: world.clock.monotonicMs(), wallMs: world.clock.wallMs() });
  nodes.regroup(() => ["pool"], at());
  const circuitBreaker = {
    percentage: null,
    nodesMax: 2,
    durationMs: 10 * MINUTE,
    resetAfterMs: null,
    holdsReadiness: false,
  };
  const limits = {
    maxUnhealthy: null,
    circuitBreaker,
    stormCooldownMs: null,
    secondaryPerSecond: 0.01,
    budgets: [],
    ceiling: null,
  };
  let tick = (): void => {};
  const zone = (io: Io) => {
    const permits = new Permits({ pulseTimeoutMs: 3 * S, lingerMs: 8 * S });
    const [yes, no] = [() => true, () => false];
    const zones = { isSynced: yes, grants: yes, isHalted: no, isUnderWay: no, isFrozen: no };
    const actor = new LimitsActor({ io, nodes, permits, lease: null, settleMs: 0, ...zones });
    actor.limits = new Map([["pool", limits]]);
    tick = () => actor.tick();
    return () => {};
  };
  world.start({ zone });
  for (let index = 0; index < 100; index++) {
    const taints = [taint("node.kubernetes.io/unreachable", "NoExecute")];
    nodes.onNode({ ...nodeWith("Unknown", { taints }), node: `n-${index}`, uid: `u-${index}` }, null, at());
    world.advance(MINUTE);
    nodes.gone(`n-${index}`);
    tick();
  }
  expect(nodes.group("pool")?.admissions.size).toBeLessThanOrEqual(10);
});
