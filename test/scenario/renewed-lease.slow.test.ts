/** Pods of a silent node whose kubelet renews its lease again, before it posts a status. */
import { describe, expect, test } from "vitest";
import { LEASE_NAMESPACE, TaintKey } from "../../protocols/names.ts";
import type { Profile } from "../../protocols/profile.ts";
import { apiMicroTime } from "../../services/domain/api-time.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const GRACE_MS = 50 * S;

/** A world in which node a-0 stopped sending heartbeats, with its pods due about 300 s after its taint. */
function silentWorld(pods = 1, profile: Partial<Profile> = {}): EvictionWorld {
  const world = new EvictionWorld({ nodeMonitorGraceMs: GRACE_MS, ...profile });
  world.addZone("a", 6);
  for (let number = 0; number < pods; number++) world.addTolerantPod("a-0", `pod-${number}`);
  world.run();
  world.advance(60 * S);
  world.silence(["a-0"]);
  world.advance(200 * S);
  return world;
}

/** Advances to so many seconds after the instant at which the pods are due. */
function advanceToDue(world: EvictionWorld, afterS: number): void {
  world.advance((world.taintedAt("a-0") ?? 0) + (300 + afterS) * S - world.clock.monotonicMs());
}

/** Lets a node renew its lease and nothing else. */
function renewEach10S(world: EvictionWorld, forS: number): void {
  for (let passed = 0; passed < forS; passed += 10) {
    world.kubelet("a-0").renew();
    world.advance(10 * S);
  }
}

function details(world: EvictionWorld): string[] {
  return world.published("done.write").flatMap(({ body }) => (body.ask === "asked.eviction" ? [body.detail] : []));
}

describe("the lease of a silent node", () => {
  test("keeps its pods while it is renewed", () => {
    const world = silentWorld();
    renewEach10S(world, 600);
    expect(world.deleted).toEqual([]);
    expect(details(world).at(-1)).toMatch(/^node a-0 may be alive: its lease was renewed at 20/);
    world.revive(["a-0"]);
    world.advance(600 * S);
    expect(world.deleted).toEqual([]);
    expect(world.healed.map(({ name }) => name)).toEqual(["a-0"]);
  });

  test("keeps its pods for one grace after a single renewal", () => {
    const world = silentWorld();
    advanceToDue(world, -5);
    world.kubelet("a-0").renew();
    world.advance(5 * S + GRACE_MS - S);
    expect(world.deleted).toEqual([]);
    world.advance(61 * S);
    expect(world.deleted).toHaveLength(1);
  });

  test("counts by its change, whatever its kubelet's clock", () => {
    const world = silentWorld();
    advanceToDue(world, -20);
    const renewTime = apiMicroTime(world.clock.wallMs() - 3600 * S);
    world.patch({ kind: "Lease", namespace: LEASE_NAMESPACE, name: "a-0" }, { spec: { renewTime } });
    world.advance(25 * S);
    expect(world.deleted).toEqual([]);
    expect(details(world).at(-1)).toContain("its lease was renewed at");
  });

  test("is read again after a restart of Vigil", () => {
    const world = silentWorld();
    advanceToDue(world, -8);
    world.kubelet("a-0").renew();
    world.crash(4 * S);
    world.advance(20 * S);
    expect(world.deleted).toEqual([]);
    expect(details(world).at(-1)).toContain("its lease was renewed at");
  });

  test("keeps its pods where Ready is missing", () => {
    const world = new EvictionWorld({ nodeMonitorGraceMs: GRACE_MS }, []);
    world.addZone("a", 6);
    world.addTolerantPod("a-0", "pod-0");
    world.run();
    world.advance(60 * S);
    world.silence(["a-0"]);
    const ref = { kind: "Node", namespace: "", name: "a-0" } as const;
    world.patch(ref, { status: { conditions: [{ $patch: "delete", type: "Ready" }] } }, "status");
    world.taint("a-0", [{ key: TaintKey.unreachable, effect: "NoExecute" }]);
    renewEach10S(world, 600);
    expect(world.deleted).toEqual([]);
    expect(details(world).at(-1)).toMatch(/^node a-0 may be alive: its lease was renewed at 20/);
  });

  test("delays no dead node, across a restart too", () => {
    const world = silentWorld();
    advanceToDue(world, -8);
    world.crash(4 * S);
    world.advance(6 * S);
    expect(world.deleted).toHaveLength(1);
  });

  test("is not needed: a node without one loses its pods", () => {
    const world = silentWorld();
    world.write({ verb: "delete", ref: { kind: "Lease", namespace: LEASE_NAMESPACE, name: "a-0" }, urgency: 0 });
    world.advance(200 * S);
    expect(world.deleted).toHaveLength(1);
  });

  test("keeps its pods while it cannot be read", () => {
    const world = silentWorld();
    // A list of one lease would prove what the watch shows of it.
    const isRead = ({ verb, resource, name }: Call): boolean =>
      resource.plural === "leases" && ((verb === "get" && name === "a-0") || verb === "list");
    const mend = world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isRead });
    world.advance(200 * S);
    expect(world.deleted).toEqual([]);
    expect(details(world).at(-1)).toContain("the lease could not be read: 403");
    mend();
    world.advance(61 * S);
    expect(world.deleted).toHaveLength(1);
  });

  test("need not be read where a list proves it", () => {
    const world = silentWorld();
    const isRead = ({ verb, resource, name }: Call): boolean =>
      verb === "get" && resource.plural === "leases" && name === "a-0";
    world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isRead });
    world.advance(200 * S);
    expect(world.deleted).toHaveLength(1);
  });

  test("is read once for all pods that are due", () => {
    const world = silentWorld(110);
    const calls: string[] = [];
    const note = ({ verb, resource, name }: Call): boolean => {
      if (name === "a-0") calls.push(`${verb} ${resource.plural}`);
      return false;
    };
    world.api.faults.add({ fault: { kind: "stall" }, when: note });
    world.advance(200 * S);
    expect(world.deleted).toHaveLength(110);
    expect(calls.toSorted()).toEqual(["get leases", "get nodes"]);
  });

  test("keeps the pods of a drain in direct mode", () => {
    const world = silentWorld(1, { evictionMode: "direct" });
    const isPod = ({ resource }: Call): boolean => resource.plural === "pods";
    const mend = world.api.faults.add({ fault: { kind: "status", code: 500 }, when: isPod });
    world.advance(200 * S);
    expect(details(world).at(-1)).toContain("500");
    world.kubelet("a-0").renew();
    mend();
    world.advance(45 * S);
    expect(world.deleted).toEqual([]);
    expect(details(world).at(-1)).toContain("its lease was renewed at");
  });

  test("says nothing about a taint of another client", () => {
    const world = silentWorld();
    world.kubelet("a-0").renew();
    world.taint("a-0", [{ key: "maintenance", effect: "NoExecute" }]);
    world.advance(2 * S);
    expect(world.deleted).toHaveLength(1);
  });
});
