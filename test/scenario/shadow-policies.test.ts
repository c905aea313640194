/** Policies with `mode: Shadow`: nothing is written for their nodes and pods, and everything goes on as if it had been. */
import { describe, expect, test } from "vitest";
import type { ServiceName } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";
import { HandPolicies, type PolicyFields } from "../support/hand-policies.ts";
import type { Services } from "../support/virtual-cluster.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const STARTUP = "node.kubernetes.io/not-ready:NoSchedule";

/** Nodes of zone a, which the policy selects, and of zone c, which it does not, with a pod each. */
function poolWorld(
  mode: "Shadow" | "Enforce" = "Shadow",
  processes: readonly Services[] = [EVICTING],
  profile: Partial<Profile> = {},
  fields: PolicyFields = {},
) {
  const world = new EvictionWorld(profile);
  for (const zone of ["a", "c"]) for (const node of world.addZone(zone, 4)) world.addTolerantPod(node, `pod-${node}`);
  const policies = new HandPolicies({ ...fields, mode });
  for (const services of processes) world.start(services, { policies });
  world.advance(30 * S);
  return { world, policies };
}

/** The outcomes published of requests of a type about a node. */
function outcomesOf(world: EvictionWorld, node: string, ask: string): string[] {
  const about = world.published("done.write").filter(({ body }) => body.node === node && body.ask === ask);
  return about.map(({ body }) => `${body.outcome} ${body.change}`);
}

function only(...names: readonly ServiceName[]): Services {
  return Object.fromEntries(Object.entries(EVICTING).filter(([name]) => names.includes(name as ServiceName)));
}

const READERS = only("observer", "node", "zone", "taint-manager");
const SHADOW_EVICTION = `shadowed deleted: ${UNREACHABLE}:NoExecute`;

describe("a silent node of the policy", () => {
  test("and its pod stay, and others are evicted", () => {
    const { world } = poolWorld();
    const before = JSON.stringify(world.node("a-0"));
    world.silence(["a-0", "c-0"]);
    world.advance(900 * S);
    expect(JSON.stringify(world.node("a-0"))).toBe(before);
    expect(world.tainted.map(({ name }) => name)).toEqual(["c-0"]);
    expect(world.deleted.map(({ name }) => name)).toEqual(["pod-c-0"]);
    expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([SHADOW_EVICTION]);
  });

  test("is admitted and its pod is due when they would be", () => {
    const { world } = poolWorld();
    world.silence(["a-0"]);
    world.advance(900 * S);
    const at = (ask: string): number =>
      world.published("done.write").find(({ body }) => body.node === "a-0" && body.ask === ask)?.atMs ?? 0;
    expect(Math.round((at("asked.eviction") - at("asked.condition")) / S)).toBe(300);
    const granted = world.published("asked.taint").filter(({ body }) => body.why === "granted");
    expect(granted.map(({ body }) => body.node)).toEqual(["a-0"]);
  });

  test("is as before once its kubelet returns", () => {
    const { world } = poolWorld();
    world.silence(["a-0"]);
    world.advance(120 * S);
    world.revive(["a-0"]);
    world.advance(900 * S);
    const shown = world.published("observed.node").findLast(({ body }) => body.node === "a-0")?.body;
    expect(shown?.shadow?.verdict).toBeUndefined();
    expect(shown?.taints).toEqual([]);
    expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([]);
  });
});

test("not even a healing write is sent", () => {
  const { world } = poolWorld();
  expect(world.taints("a-0")).toContain(STARTUP);
  expect(world.taints("c-0")).not.toContain(STARTUP);
});

test("a taint of somebody else evicts no pod", () => {
  const { world } = poolWorld();
  world.taint("a-0", [MAINTENANCE]);
  world.taint("c-0", [MAINTENANCE]);
  world.advance(60 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod-c-0"]);
  expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual(["shadowed deleted: maintenance:NoExecute"]);
});

test("the same holds where one process observes and others write", () => {
  const { world } = poolWorld("Shadow", [READERS, only("node-writer"), only("pod-writer")]);
  world.silence(["a-0", "c-0"]);
  world.advance(900 * S);
  expect(world.tainted.map(({ name }) => name)).toEqual(["c-0"]);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod-c-0"]);
  expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([SHADOW_EVICTION]);
});

test("a writer that joins late sends nothing for the nodes of the policy", () => {
  const { world, policies } = poolWorld("Shadow", [READERS]);
  world.silence(["a-0", "c-0"]);
  world.advance(120 * S);
  world.start(only("node-writer", "pod-writer"), { policies });
  world.advance(900 * S);
  expect(world.tainted.map(({ name }) => name)).toEqual(["c-0"]);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod-c-0"]);
});

describe("a change of the mode", () => {
  test("to Enforce writes what was not sent, with whole countdowns", () => {
    const { world, policies } = poolWorld();
    world.silence(["a-0"]);
    world.advance(200 * S);
    const changedMs = world.clock.monotonicMs();
    policies.put({ mode: "Enforce" });
    world.advance(900 * S);
    expect(world.taintedAt("a-0")).toBeGreaterThanOrEqual(changedMs);
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual((world.taintedAt("a-0") ?? 0) + 299 * S);
    expect(world.taints("a-1")).not.toContain(STARTUP);
  });

  test("to Enforce deletes a pod that was not", () => {
    const { world, policies } = poolWorld();
    world.taint("a-0", [MAINTENANCE]);
    world.advance(60 * S);
    expect(world.deleted).toEqual([]);
    policies.put({ mode: "Enforce" });
    world.advance(60 * S);
    expect(world.deletedAt("pod-a-0")).toBeDefined();
  });

  test("to Shadow ends a countdown without a deletion", () => {
    const { world, policies } = poolWorld("Enforce");
    world.silence(["a-0"]);
    world.advance(200 * S);
    expect(world.taintedAt("a-0")).toBeDefined();
    policies.put({ mode: "Shadow" });
    world.advance(900 * S);
    expect(world.deleted).toEqual([]);
    expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([SHADOW_EVICTION]);
  });
});

describe("in direct mode", () => {
  const DIRECT: Partial<Profile> = { evictionMode: "direct", podEvictionTimeoutMs: 60 * S };
  const drainsOf = (world: EvictionWorld, node: string): number =>
    world.published("asked.drain").filter(({ body }) => body.node === node).length;

  test("after the shadow nodes are drained at the rate of their zone", () => {
    const { world, policies } = poolWorld("Shadow", [EVICTING], DIRECT);
    world.silence(["a-0", "a-1"]);
    world.advance(200 * S);
    expect([drainsOf(world, "a-0"), drainsOf(world, "a-1"), world.deleted.length]).toEqual([1, 1, 0]);
    policies.put({ mode: "Enforce" });
    world.advance(60 * S);
    const [first = 0, second = 0] = world.deleted.map(({ atMs }) => atMs);
    expect(world.deleted).toHaveLength(2);
    expect(second - first).toBeGreaterThanOrEqual(10 * S - 1);
  });

  test("after the shadow nobody is drained in a zone without a rate", () => {
    const { world, policies } = poolWorld("Shadow", [EVICTING], DIRECT);
    world.silence(["a-0"]);
    world.advance(200 * S);
    world.silence(["a-1", "a-2"]);
    world.advance(60 * S);
    policies.put({ mode: "Enforce" });
    world.advance(60 * S);
    expect(world.deleted).toEqual([]);
  });

  test("the rate holds also where a process hears last of the end", () => {
    const world = new EvictionWorld(DIRECT);
    for (const zone of ["a", "c"]) for (const node of world.addZone(zone, 4)) world.addTolerantPod(node, `pod-${node}`);
    const [policies, late] = [new HandPolicies({ mode: "Shadow" }), new HandPolicies({ mode: "Shadow" })];
    world.start(only("observer", "node-writer", "pod-writer"), { policies });
    world.start(only("node", "zone"), { policies: late });
    world.advance(30 * S);
    world.silence(["a-0", "a-1"]);
    world.advance(200 * S);
    policies.put({ mode: "Enforce" });
    world.advance(5 * S);
    late.put({ mode: "Enforce" });
    world.advance(60 * S);
    const [first = 0, second = 0] = world.deleted.map(({ atMs }) => atMs);
    expect(world.deleted).toHaveLength(2);
    expect(second - first).toBeGreaterThanOrEqual(10 * S - 1);
  });

  test("a drain that was granted before the shadow goes on after it", () => {
    const { world, policies } = poolWorld("Enforce", [EVICTING], DIRECT);
    world.silence(["a-0"]);
    world.advance(200 * S);
    expect(world.deleted.map(({ name }) => name)).toEqual(["pod-a-0"]);
    policies.put({ mode: "Shadow" });
    world.addTolerantPod("a-0", "late");
    world.advance(60 * S);
    expect(world.deletedAt("late")).toBeUndefined();
    policies.put({ mode: "Enforce" });
    world.advance(60 * S);
    expect(world.deletedAt("late")).toBeDefined();
    expect(drainsOf(world, "a-0")).toBe(1);
  });
});

describe("after shadow mode a Ready node keeps its taint", () => {
  const FLAPPING = { transitions: 3, window: "10m", holdDown: "10m" };
  const TAINT = `${UNREACHABLE}:NoSchedule`;
  /** A node that got its taint before shadow mode, became Ready in it, and was silent once more. */
  const afterShadow = (fields: PolicyFields, { isBack }: { readonly isBack: boolean }) => {
    const { world, policies } = poolWorld("Enforce", [EVICTING], {}, fields);
    world.silence(["a-0"]);
    world.advance(70 * S);
    policies.put({ ...fields, mode: "Shadow" });
    world.revive(["a-0"]);
    world.advance(65 * S);
    world.silence(["a-0"]);
    world.advance(70 * S);
    if (isBack) world.revive(["a-0"]);
    world.advance(5 * S);
    expect(world.conditions("a-0")).toContain("Ready=True");
    expect(world.taints("a-0")).toContain(TAINT);
    const change = (mode: "Shadow" | "Enforce"): void => policies.put({ ...fields, mode });
    return { world, change };
  };

  test.each([
    ["by no flapping that only shadow mode showed", { flapping: FLAPPING }, true],
    ["by none that its return from a verdict shows", { flapping: FLAPPING }, false],
    ["by no healthyDelay after a verdict that was not sent", { healthyDelay: "2m" }, true],
    ["by none after one that was dropped", { healthyDelay: "2m" }, false],
  ])("%s", (_why, fields, isBack) => {
    const { world, change } = afterShadow(fields, { isBack });
    change("Enforce");
    if (!isBack) world.revive(["a-0"]);
    world.advance(5 * S);
    expect(world.taints("a-0")).not.toContain(TAINT);
    const records = world.published("done.write").filter(({ body }) => body.change.includes("ready-transitions"));
    for (const { body } of records) expect(body.change.split(",").length).toBeLessThan(3);
  });

  test("by flapping that the API showed", () => {
    const { world, change } = afterShadow({ flapping: FLAPPING }, { isBack: true });
    world.kubelet("a-0").report("Ready", "False");
    world.advance(S);
    world.kubelet("a-0").report("Ready", "True");
    world.advance(5 * S);
    change("Enforce");
    world.advance(9 * 60 * S);
    expect(world.taints("a-0")).not.toEqual([]);
    world.advance(60 * S);
    expect(world.taints("a-0")).toEqual([]);
  });

  test("in what shadow mode shows", () => {
    const { world } = afterShadow({ flapping: FLAPPING }, { isBack: true });
    const held = world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body.taintHold;
    expect(held?.field).toBe("flapping");
  });
});

test("a writer that does not know the policies writes no verdict and evicts nobody", () => {
  const { world } = poolWorld("Enforce", [READERS]);
  const ignorant = new HandPolicies();
  ignorant.forget();
  world.start(only("node-writer", "pod-writer"), { policies: ignorant });
  world.advance(30 * S);
  expect(world.taints("a-0")).not.toContain(STARTUP);
  world.silence(["a-0"]);
  world.taint("a-1", [MAINTENANCE]);
  world.advance(300 * S);
  expect(world.conditions("a-0")).not.toContain("Ready=Unknown");
  expect(world.deleted).toEqual([]);
});

test("a condition of the policy is decided about, and no taint is written", () => {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  const taint = { key: "vigil.io/gpu-lost", effect: "NoExecute" as const };
  const unhealthyConditions = [{ type: "GpuLost", status: "True" as const, duration: "10s", taint }];
  const policies = new HandPolicies({ mode: "Shadow", unhealthyConditions });
  world.start(EVICTING, { policies });
  world.advance(30 * S);
  world.kubelet("a-0").report("GpuLost", "True");
  const before = JSON.stringify(world.node("a-0"));
  world.advance(60 * S);
  expect(JSON.stringify(world.node("a-0"))).toBe(before);
  expect(outcomesOf(world, "a-0", "asked.taint").at(-1)).toBe("shadowed taints: +vigil.io/gpu-lost:NoExecute");
  const judged = world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body;
  expect(judged?.conditions?.map(({ state }) => state)).toEqual(["tainted"]);
  policies.put({ unhealthyConditions });
  world.advance(60 * S);
  expect(world.taints("a-0")).toContain("vigil.io/gpu-lost:NoExecute");
});
