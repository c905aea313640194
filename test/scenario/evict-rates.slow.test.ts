/** Evictions under the rates of a policy on virtual time, whatever set the taint and however a pod is evicted. */
import { describe, expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { Urgency } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { mostInAMinute } from "../pod-writer/rates/evictions-per-minute.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MINUTE = 60 * S;
/** How long a new owner of the count waits before the first permit. */
const SETTLED = 90 * S;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

interface Rated {
  readonly evictions: NodePolicySpec["evictions"];
  readonly pods?: number;
  readonly profile?: Partial<Profile>;
}

/** Nodes a-0 to a-2 under a policy, with pods on a-0 that tolerate nothing for long. The count is settled. */
function ratedWorld({ evictions, pods = 5, profile = {} }: Rated): EvictionWorld {
  const world = new EvictionWorld(profile, [{ name: "gpu", spec: { selector: {}, evictions } }]);
  world.addZone("a", 3);
  for (let index = 0; index < pods; index++) world.addTolerantPod("a-0", `pod-${index}`);
  world.run();
  world.advance(SETTLED + 2 * S);
  return world;
}

describe("evictions.maxPerMinute", () => {
  test.each(["Delete", "Evict"] as const)("paces %s, a foreign taint as well as any", (method) => {
    const world = ratedWorld({ evictions: { method, maxPerMinute: 2 } });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(30 * S);
    expect(world.deleted).toHaveLength(2);
    world.advance(60 * S);
    expect(world.deleted).toHaveLength(4);
    world.advance(60 * S);
    expect(world.deleted).toHaveLength(5);
    expect(mostInAMinute(world.deleted)).toBe(2);
  });

  test("is not used up by mirrors of static pods", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 1 }, pods: 1 });
    const annotations = { "kubernetes.io/config.mirror": "forged" };
    for (let index = 0; index < 20; index++) world.addPod("a-0", `a-mirror-${index}`, { metadata: { annotations } });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(2 * S);
    expect(world.deleted.map(({ name }) => name)).toEqual(["pod-0"]);
  });

  test("delays no pod below it", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 5 } });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(1 * S);
    expect(world.deleted).toHaveLength(5);
  });

  test("counts the pods of all nodes of the policy", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 3 }, pods: 2 });
    world.addTolerantPod("a-1", "other-0");
    world.addTolerantPod("a-1", "other-1");
    world.taint("a-0", [MAINTENANCE]);
    world.taint("a-1", [MAINTENANCE]);
    world.advance(30 * S);
    expect(world.deleted).toHaveLength(3);
  });

  test("of 0 evicts no pod", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 0 } });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(10 * MINUTE);
    expect(world.deleted).toEqual([]);
  });

  test("is not exceeded over a crash", () => {
    for (const downMs of [0, 5 * S]) {
      const world = ratedWorld({ evictions: { maxPerMinute: 2 }, pods: 6 });
      world.taint("a-0", [MAINTENANCE]);
      world.advance(1 * S);
      world.crash(downMs);
      world.advance(6 * MINUTE);
      expect(world.deleted).toHaveLength(6);
      expect(mostInAMinute(world.deleted)).toBe(2);
    }
  });

  test("lets a cancelled countdown leave the queue at once", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 2 } });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(5 * S);
    expect(world.published("judged.evictions").at(-1)?.body).toMatchObject({ waiting: 3 });
    world.taint("a-0", []);
    world.advance(1 * S);
    expect(world.published("judged.evictions").at(-1)?.body).toMatchObject({ waiting: 0, queue: [] });
    world.advance(5 * MINUTE);
    expect(world.deleted).toHaveLength(2);
  });

  test("gives the place of a pod that has left to the next", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 2 }, pods: 4 });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(5 * S);
    const left = [0, 1, 2, 3]
      .map((index) => `pod-${index}`)
      .filter((pod) => !world.deleted.some(({ name }) => name === pod));
    world.removePod(left[0] ?? "");
    world.advance(2 * S);
    expect(world.published("judged.evictions").at(-1)?.body).toMatchObject({ waiting: 1 });
  });

  test("leaves the pods of frozen nodes outside the queue", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 2 } });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(5 * S);
    freezeAll(world, [{ name: "oncall", since: new Date(world.clock.wallMs()).toISOString() }]);
    world.advance(2 * S);
    expect(world.published("judged.evictions").at(-1)?.body).toMatchObject({ waiting: 0, queue: [], permits: [] });
    world.advance(5 * MINUTE);
    expect(world.deleted).toHaveLength(2);
    freezeAll(world, []);
    world.advance(2 * MINUTE);
    expect(world.deleted).toHaveLength(5);
    expect(mostInAMinute(world.deleted)).toBe(2);
  });
});

describe("evictions.maxPerNamespacePerMinute", () => {
  test("lets the pods of other namespaces go first", () => {
    const world = ratedWorld({ evictions: { maxPerMinute: 9, maxPerNamespacePerMinute: 2 }, pods: 4 });
    for (const index of [0, 1, 2]) world.addPod("a-1", `shop-${index}`, { namespace: "kube-system" });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(1 * S);
    world.taint("a-1", [MAINTENANCE]);
    world.advance(1 * S);
    const names = world.deleted.map(({ name }) => name.replace(/-\d$/, ""));
    expect(names.toSorted()).toEqual(["pod", "pod", "shop", "shop"]);
    const { queue } = world.published("judged.evictions").at(-1)?.body ?? {};
    expect(queue?.map(({ field }) => field)).toEqual([
      "evictions.maxPerNamespacePerMinute",
      "evictions.maxPerNamespacePerMinute",
      "evictions.maxPerNamespacePerMinute",
    ]);
  });
});

describe("a node that leaves a rated policy", () => {
  /** Pods of node a-0 wait for a policy that permits none. Then its pool becomes another one. */
  function movedWorld(pool: string | null): EvictionWorld {
    const world = new EvictionWorld({}, [
      { name: "gpu", spec: { selector: { matchLabels: { pool: "gpu" } }, evictions: { maxPerMinute: 0 } } },
      { name: "spot", spec: { selector: { matchLabels: { pool: "spot" } }, evictions: { maxPerMinute: 2 } } },
    ]);
    world.register("a-0", { pool: "gpu" });
    world.register("a-1", { pool: "spot" });
    for (let index = 0; index < 3; index++) world.addTolerantPod("a-0", `pod-${index}`);
    world.run();
    world.advance(SETTLED + 2 * S);
    world.taint("a-0", [MAINTENANCE]);
    world.advance(10 * S);
    expect(world.deleted).toEqual([]);
    world.patch({ kind: "Node", namespace: "", name: "a-0" }, { metadata: { labels: { pool } } });
    return world;
  }

  test("for none has its waiting pods evicted at once", () => {
    const world = movedWorld(null);
    world.advance(1 * S);
    expect(world.deleted).toHaveLength(3);
  });

  test("for another has them evicted at its rate", () => {
    const world = movedWorld("spot");
    world.advance(3 * MINUTE);
    expect(world.deleted).toHaveLength(3);
    expect(mostInAMinute(world.deleted)).toBe(2);
  });
});

/** Freezes all nodes, as `vigil freeze --all` does. */
function freezeAll(world: EvictionWorld, pauseRequests: readonly object[]): void {
  const data = { pauseRequests: JSON.stringify(pauseRequests) };
  const created = world.write({
    verb: "create",
    ref: FREEZE_CONFIG_MAP,
    urgency: Urgency.healing,
    body: { apiVersion: "v1", kind: "ConfigMap", metadata: FREEZE_CONFIG_MAP, data },
  });
  if (created.outcome !== "ok") world.patch(FREEZE_CONFIG_MAP, { data });
}

test("a pod that its disruption budget keeps takes no other pod's place", () => {
  const world = ratedWorld({ evictions: { method: "Evict", maxPerMinute: 1 }, pods: 2 });
  world.api.faults.add({
    fault: { kind: "status", code: 429 },
    when: ({ verb, subresource, name }) => verb === "create" && subresource === "eviction" && name === "pod-0",
  });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(2 * MINUTE);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod-1"]);
});

test("a pod that changed as it was evicted keeps its place", () => {
  const world = ratedWorld({ evictions: { maxPerMinute: 1 }, pods: 0 });
  for (const index of [0, 1, 2, 3, 4]) {
    const toleration = { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 10 + index };
    world.addTolerantPod("a-0", `pod-${index}`, [toleration]);
  }
  const isMark = ({ verb, name }: Call): boolean => verb === "patch" && name === "pod-1";
  world.api.faults.add({ fault: { kind: "status", code: 409 }, when: isMark, times: 1 });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(10 * MINUTE);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod-0", "pod-1", "pod-2", "pod-3", "pod-4"]);
});

test("drains of direct mode are paced as well", () => {
  const world = ratedWorld({ evictions: { maxPerMinute: 2 }, profile: { evictionMode: "direct" } });
  world.silence(["a-0"]);
  world.advance(15 * MINUTE);
  expect(world.deleted).toHaveLength(5);
  expect(mostInAMinute(world.deleted)).toBe(2);
});

test("a drain that is halted leaves the queue, and no pod of it is evicted", () => {
  const world = ratedWorld({ evictions: { maxPerMinute: 2 }, profile: { evictionMode: "direct" } });
  world.silence(["a-0"]);
  while (world.deleted.length < 2) world.advance(1 * S);
  world.silence(["a-1", "a-2"]);
  world.advance(55 * S);
  expect(world.deleted).toHaveLength(2);
  expect(world.published("judged.evictions").at(-1)?.body).toMatchObject({ waiting: 0, queue: [] });
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(2);
});

test("EvictThenDelete is paced, and a refused pod is deleted within its time", () => {
  const evictions = { method: "EvictThenDelete", deleteAfter: "3m", maxPerMinute: 1 } as const;
  const world = ratedWorld({ evictions, pods: 3 });
  world.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: ({ verb, subresource }) => verb === "create" && subresource === "eviction",
  });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(3 * MINUTE - 1 * S);
  expect(world.deleted).toEqual([]);
  world.advance(5 * MINUTE);
  expect(world.deleted).toHaveLength(3);
  expect(mostInAMinute(world.deleted)).toBe(1);
});

test("an eviction whose reply was lost counts", () => {
  const world = ratedWorld({ evictions: { maxPerMinute: 1 }, pods: 3 });
  world.api.faults.add({ fault: { kind: "lostReply" }, when: ({ verb }) => verb === "delete" });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(3);
  expect(mostInAMinute(world.deleted)).toBe(1);
});

test.each([110, 130, 150, 170, 190, 210])("a permit is not taken back by a failed read of %i ms before", (answerMs) => {
  const world = ratedWorld({ evictions: { maxPerMinute: 1 } });
  const isNodeRead = ({ verb, name }: Call): boolean => verb === "get" && name === "a-0";
  world.api.faults.add({ fault: { kind: "latency", answerMs }, when: isNodeRead, times: 1 });
  world.api.faults.add({ fault: { kind: "status", code: 500 }, when: isNodeRead, times: 1 });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(5);
  expect(mostInAMinute(world.deleted)).toBe(1);
});

test("beside upstream no process counts evictions", () => {
  const world = ratedWorld({ evictions: { maxPerMinute: 1 }, profile: { upstream: "beside" } });
  expect(world.published("judged.evictions")).toEqual([]);
});

test("a pod that tolerates nothing keeps its turn over a crash", () => {
  const world = ratedWorld({ evictions: { maxPerMinute: 1 }, pods: 2 });
  const seconds = { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 } as const;
  world.addTolerantPod("a-0", "later", [seconds]);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(40 * S);
  expect(world.deleted).toHaveLength(1);
  world.crash(5 * S);
  world.advance(5 * MINUTE);
  expect(world.deleted.map(({ name }) => name).at(-1)).toBe("later");
});
