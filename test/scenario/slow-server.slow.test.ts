/**
 * Many writes at once on a server that answers slowly: Vigil sends each while the reads it rests on are still valid.
 */
import { describe, expect, test } from "vitest";
import type { Profile } from "../../protocols/profile.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const NODES = 200;
const PODS_PER_NODE = 4;
const LATENCY_MS = 40;
const IN_FLIGHT = 8;

/** Half of these nodes fall silent. Requests about single objects are slow, and only a few may be in flight. */
function silencedOnSlowServer(): EvictionWorld {
  const world = new EvictionWorld({ writesInFlightMax: IN_FLIGHT });
  const names = world.addZone("a", NODES);
  for (const node of names) for (let pod = 0; pod < PODS_PER_NODE; pod++) world.addTolerantPod(node, `${node}-${pod}`);
  world.run();
  world.advance(30 * S);
  const isSlow = ({ verb, resource }: Call) => ["get", "patch"].includes(verb) && resource.plural !== "leases";
  world.api.faults.add({ fault: { kind: "latency", answerMs: LATENCY_MS }, when: isSlow });
  world.silence(names.slice(0, NODES / 2));
  return world;
}

test("no write waits until its reads are too old; every node and pod is marked", () => {
  const world = silencedOnSlowServer();
  world.advance(90 * S);
  const done = world.published("done.write").map(({ body }) => body);
  const failed = done.filter(({ outcome }) => outcome === "failed");
  expect(failed.map(({ ask, detail }) => `${ask} ${detail}`)).toEqual([]);
  const marked = (ask: string) =>
    new Set(done.filter((each) => each.ask === ask && each.outcome === "ok").map(({ uid }) => uid));
  expect(marked("asked.condition").size).toBe(NODES / 2);
  expect(marked("asked.unready").size).toBe((NODES / 2) * PODS_PER_NODE);
});

test("a Retry-After of 30 s holds for verdicts and evictions, however often requested", () => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.addTolerantPod("a-1", "pod", []);
  world.run();
  world.advance(10_000);
  world.api.faults.add({
    fault: { kind: "status", code: 429, retryAfterSeconds: 30 },
    when: ({ verb, name, subresource }) => (name === "a-0" ? subresource === "status" : verb === "delete"),
  });
  world.silence(["a-0"]);
  world.taint("a-1", [{ key: "maintenance", effect: "NoExecute" }]);
  world.advance(300_000);
  for (const ask of ["asked.condition", "asked.eviction"]) {
    const tries = world.published("done.write").filter(({ body }) => body.ask === ask && body.outcome === "throttled");
    expect(tries.length).toBeGreaterThan(2);
    for (const [index, { atMs }] of tries.slice(1).entries()) {
      expect(atMs - (tries[index]?.atMs ?? 0), ask).toBeGreaterThanOrEqual(30_000);
    }
  }
});

const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
/** How long the pods below tolerate the taint, in seconds. */
const TOLERATED_S = 30;

/** Nodes whose pods tolerate maintenance for a while, under a Vigil that has synced with a fast server. */
function nodesWithPods(nodes: number, podsPerNode: number, profile: Partial<Profile> = {}): EvictionWorld {
  const world = new EvictionWorld(profile);
  for (const node of world.addZone("a", nodes)) {
    for (let pod = 0; pod < podsPerNode; pod++) {
      world.addTolerantPod(node, `${node}-${pod}`, [
        { ...MAINTENANCE, operator: "Exists", tolerationSeconds: TOLERATED_S },
      ]);
    }
  }
  world.run();
  world.advance(10 * S);
  return world;
}

/** Delays the requests that `isSlow` selects by this time. The returned function runs its argument at full speed. */
function slowDown(
  world: EvictionWorld,
  { latencyMs, isSlow = () => true }: { latencyMs: number; isSlow?: (call: Call) => boolean },
): (act: () => void) => void {
  let isQuick = false;
  const fault = { kind: "latency", requestMs: latencyMs / 2, answerMs: latencyMs / 2 } as const;
  world.api.faults.add({ fault, when: (call) => !isQuick && isSlow(call) });
  return (act) => {
    isQuick = true;
    act();
    isQuick = false;
  };
}

/** Taints every node and lets time pass until 10 s before their pods are due. */
function taintAll(world: EvictionWorld, nodes: number): void {
  for (let node = 0; node < nodes; node++) world.taint(`a-${node}`, [MAINTENANCE]);
  world.advance((TOLERATED_S - 10) * S);
}

/** The instants of every kind of request about a pod, as `verb name`. */
function requestsAboutPods(world: EvictionWorld): Map<string, number[]> {
  const seen = new Map<string, number[]>();
  const note = ({ verb, name, resource }: Call): boolean => {
    if (resource.plural !== "pods" || name === "") return false;
    const request = `${verb} ${name}`;
    seen.set(request, [...(seen.get(request) ?? []), world.clock.monotonicMs()]);
    return false;
  };
  world.api.faults.add({ fault: { kind: "stall" }, when: note });
  return seen;
}

test("pods are evicted although each live read takes more than a second", () => {
  const world = nodesWithPods(1, 3);
  taintAll(world, 1);
  slowDown(world, { latencyMs: 1200, isSlow: ({ verb, name }) => verb === "get" && name !== "" });
  world.advance(20 * S);
  expect(world.deleted).toHaveLength(3);
});

describe("if requests take 5 s", () => {
  const latencyMs = 5 * S;
  const ref = { kind: "Pod", namespace: "default", name: "a-0-0" } as const;

  test.each([
    [1, 200],
    [200, 1],
  ])("due pods of %i nodes with %i go in 60 s by 3 requests each", (nodes, podsPerNode) => {
    const world = nodesWithPods(nodes, podsPerNode);
    const requests = requestsAboutPods(world);
    taintAll(world, nodes);
    slowDown(world, { latencyMs });
    world.advance(70 * S);
    expect(world.deleted).toHaveLength(nodes * podsPerNode);
    expect([...requests].filter(([, at]) => at.length > 1)).toEqual([]);
  });

  test("a lost node's 200 pods go within 60 s in direct mode", () => {
    const world = new EvictionWorld({ evictionMode: "direct", podEvictionTimeoutMs: 100 * S });
    world.addZone("a", 3);
    for (let pod = 0; pod < 200; pod++) world.addTolerantPod("a-0", `pod-${pod}`);
    world.run();
    world.advance(10 * S);
    world.silence(["a-0"]);
    world.advance(90 * S);
    slowDown(world, { latencyMs });
    world.advance(75 * S);
    expect(world.deleted).toHaveLength(200);
  });

  test("a kubelet that posts every 10 s does not keep its pod", () => {
    const world = nodesWithPods(1, 1);
    taintAll(world, 1);
    const quickly = slowDown(world, { latencyMs });
    for (let post = 0; post < 12; post++) {
      quickly(() => world.patch(ref, { status: { message: `post ${post}` } }, "status"));
      world.advance(10 * S);
    }
    expect(world.deleted).toHaveLength(1);
  });

  test("a pod changed each second goes: the last delete has its uid", () => {
    const world = nodesWithPods(1, 1);
    taintAll(world, 1);
    const quickly = slowDown(world, { latencyMs });
    for (let change = 0; change < 120; change++) {
      quickly(() => world.patch(ref, { metadata: { labels: { change: `${change}` } } }));
      world.advance(S);
    }
    expect(world.deleted).toHaveLength(1);
    const conflicts = world.published("done.write").filter(({ body }) => body.outcome === "conflict");
    expect(conflicts).toHaveLength(3);
  });

  test.each([2, 9])("a pod that completes %i s after it was due stays", (afterS) => {
    const world = nodesWithPods(1, 1);
    taintAll(world, 1);
    const quickly = slowDown(world, { latencyMs });
    world.advance((10 + afterS) * S);
    quickly(() => world.patch(ref, { status: { phase: "Succeeded" } }, "status"));
    world.advance(120 * S);
    expect(world.deleted).toEqual([]);
  });

  test("silent nodes and pods are marked in 60 s by one patch each", () => {
    const world = new EvictionWorld();
    world.addZone("a", 20);
    for (let pod = 0; pod < 100; pod++) world.addTolerantPod("a-0", `pod-${pod}`);
    world.run();
    world.advance(10 * S);
    world.silence(["a-0"]);
    world.advance(10 * S);
    const patched: string[] = [];
    const isStatusPatch = ({ verb, subresource, name }: Call): boolean => {
      if (verb === "patch" && subresource === "status" && /^(a-0|pod-)/.test(name)) patched.push(name);
      return false;
    };
    world.api.faults.add({ fault: { kind: "stall" }, when: isStatusPatch });
    slowDown(world, { latencyMs });
    world.advance(100 * S);
    const pods = Array.from({ length: 100 }, (_, pod) => `pod-${pod}`);
    expect(patched.toSorted()).toEqual(["a-0", ...pods].toSorted());
    const isMark = ({ ask }: { ask: string }): boolean => ask === "asked.condition" || ask === "asked.unready";
    const done = world.published("done.write").filter(({ body }) => isMark(body) && body.outcome === "ok");
    expect(done.map(({ body }) => body.name).toSorted()).toEqual(["a-0", ...pods].toSorted());
  });
});
