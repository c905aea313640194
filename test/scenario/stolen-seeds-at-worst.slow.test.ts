/**
 * The worst that a process with the stolen NATS seed of one role can do, and where it ends: each row of the table in
 * SECURITY.md. What the writers refuse outright is in stolen-seeds.test.ts.
 */
import { describe, expect, test } from "vitest";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { zoneKeyOf } from "../../services/domain/zone-key.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { evicting, NODE, Robbed } from "./stolen-seeds.fixture.ts";

const S = 1000;
/** The timeout of direct mode and the tolerated time of every pod. */
const TOLERATED_MS = 300 * S;
const ZONE = zoneKeyOf({ "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a" });

const names = (seen: readonly { readonly name: string }[]): string[] => seen.map(({ name }) => name);

describe("the seed of observer", () => {
  test("invents a down node; the node's live state refutes it", () => {
    const world = new Robbed();
    const seen = world.published("observed.node").findLast(({ body }) => body.node === NODE)?.body;
    if (seen === undefined) throw new Error("the node was not observed");
    const conditions = seen.conditions.map((each) => ({ ...each, status: "Unknown" as const }));
    for (let passed = 0; passed < 30; passed++) {
      world.busOf("observer", "attacker").publish("observed.node", { ...seen, conditions }, null);
      world.advance(S);
    }
    expect([world.tainted, world.deleted]).toEqual([[], []]);
    expect(world.conditions(NODE)).toContain("Ready=True");
  });

  test("invents a taint and an intolerant pod; a read refutes it", () => {
    const world = new Robbed();
    const bus = world.busOf("observer", "attacker");
    const seen = world.published("observed.node").findLast(({ body }) => body.node === NODE)?.body;
    if (seen === undefined) throw new Error("the node was not observed");
    const name = `pod-${NODE}`;
    const said = { phase: "Running", ready: "True" as const, tolerations: [], owner: null };
    const instants = { createdAt: 0, boundAt: 0, deletionAt: null };
    const pod = { namespace: "default", name, uid: world.uidOf(name), ...said, ...instants };
    for (let passed = 0; passed < 30; passed++) {
      bus.publish("observed.node", { ...seen, taints: [evicting("example.com/evil")] }, null);
      bus.publish("observed.pods", { node: NODE, version: `${passed}`, chunk: 0, chunks: 1, pods: [pod] }, null);
      world.advance(S);
    }
    const evictions = world.published("done.write").filter(({ body }) => body.ask === "asked.eviction");
    expect(new Set(evictions.map(({ body }) => body.outcome))).toEqual(new Set(["refused"]));
    expect(world.deleted).toEqual([]);
  });

  test("hides a silent node by forged heartbeats, and 2 graces on", () => {
    const world = new Robbed();
    const bus = world.busOf("observer", "attacker");
    world.silence([NODE]);
    for (let passed = 0; passed < 300; passed += 5) {
      const at = world.clock.wallMs();
      const heartbeat = { node: NODE, kind: "lease", renewedAt: at, seenAt: at } as const;
      bus.publish("observed.lease", { shard: shardOf(NODE), heartbeats: [heartbeat] }, null);
      world.advance(5 * S);
    }
    expect(world.conditions(NODE)).toContain("Ready=True");
    world.advance(2 * world.profile.nodeMonitorGraceMs + 5 * S);
    expect(world.conditions(NODE)).toContain("Ready=Unknown");
    expect(names(world.tainted)).toEqual([NODE]);
  });
});

describe("the seed of node", () => {
  test("sets a live node Unknown until its kubelet posts again", () => {
    const world = new Robbed();
    world.forceUnknown();
    expect(world.conditions(NODE)).toContain("Ready=Unknown");
    world.kubelet(NODE).post();
    world.advance(S);
    expect(world.conditions(NODE)).toContain("Ready=True");
    expect(world.deleted).toEqual([]);
  });

  test("evicts pods of a live node by Unknown for longer than tolerated", () => {
    const world = new Robbed();
    const hasty = { key: UNREACHABLE, operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
    world.addTolerantPod(NODE, "hasty", [hasty]);
    world.advance(S);
    world.forceUnknown();
    world.advance(9 * S);
    world.kubelet(NODE).post();
    world.advance(TOLERATED_MS + 60 * S);
    expect(world.taints(NODE)).toEqual([]);
    expect(names(world.deleted)).toEqual(["hasty"]);
  });

  test("taints down nodes without a grant, and removes the taints", () => {
    const world = new Robbed();
    const down = ["a-0", "a-1", "a-2"];
    world.silence(down);
    world.advance(51 * S);
    expect(world.tainted).toHaveLength(1);
    for (const name of down) world.requestTaint("node", { add: [evicting(UNREACHABLE)], ready: "Unknown" }, name);
    expect(names(world.tainted).sort()).toEqual(down);
    world.requestTaint("node", { remove: [evicting(UNREACHABLE)], why: "healing", ready: "Unknown" });
    expect(names(world.healed)).toEqual([NODE]);
    world.advance(30 * S);
    expect(world.taints(NODE)).toContain(`${UNREACHABLE}:NoExecute`);
  });

  test("marks the pods of a NotReady node, until their kubelet posts", () => {
    const world = new Robbed();
    world.kubelet(NODE).report("Ready", "False");
    world.advance(S);
    world.postReady();
    expect(world.podReady(`pod-${NODE}`)).toBe("True");
    world.requestUnready();
    expect(world.podReady(`pod-${NODE}`)).toBe("False");
    world.postReady();
    expect(world.podReady(`pod-${NODE}`)).toBe("True");
  });

  test("marks no pod of a Ready node, with its uid and version", () => {
    const world = new Robbed();
    world.postReady();
    world.requestUnready();
    expect(world.published("done.write").at(-1)?.body).toMatchObject({ ask: "asked.unready", outcome: "refused" });
    world.advance(60 * S);
    expect(world.podReady(`pod-${NODE}`)).toBe("True");
  });

  test("drains a down node before the timeout, but no DaemonSet's pod", () => {
    const world = new Robbed({ evictionMode: "direct" });
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "u", controller: true };
    world.addPod(NODE, "agent", { metadata: { ownerReferences: [owner] } });
    world.silence([NODE]);
    world.advance(60 * S);
    world.requestEviction("node", { mode: "direct" });
    world.requestEviction("node", { mode: "direct", name: "agent", uid: world.uidOf("agent") });
    world.requestEviction("node", { mode: "direct" }, "a-1");
    expect(names(world.deleted)).toEqual([`pod-${NODE}`]);
  });

  test("drains a live node set Unknown, until its kubelet posts", () => {
    const world = new Robbed({ evictionMode: "direct" });
    world.addTolerantPod(NODE, "late");
    world.advance(S);
    world.forceUnknown();
    world.requestEviction("node", { mode: "direct" });
    world.kubelet(NODE).post();
    world.advance(S);
    world.requestEviction("node", { mode: "direct", name: "late", uid: world.uidOf("late") });
    expect(names(world.deleted)).toEqual([`pod-${NODE}`]);
  });
});

describe("the seed of zone", () => {
  test("taints a down node without a grant, or untaints it for a time", () => {
    const world = new Robbed();
    world.silence([NODE]);
    world.advance(51 * S);
    expect(world.tainted.map(({ name }) => name)).toEqual([NODE]);
    world.requestTaint("zone", { remove: [evicting(UNREACHABLE)], ready: "Unknown", why: "healing" });
    expect(world.healed.map(({ name }) => name)).toEqual([NODE]);
    world.requestTaint("zone", { add: [evicting(UNREACHABLE)], ready: "Unknown" });
    expect(world.taints(NODE)).toContain(`${UNREACHABLE}:NoExecute`);
  });

  test("stops evictions only while it forges grants, and no healing", () => {
    const world = new Robbed();
    const bus = world.busOf("zone", "attacker");
    const forge = (forMs: number): void => {
      for (let passed = 0; passed < forMs; passed += S) {
        bus.publish("asked.drain", { node: "a-7", uid: world.node("a-7").metadata.uid, zone: ZONE }, null);
        world.advance(S);
      }
    };
    world.silence(["a-0"]);
    world.advance(60 * S);
    expect(names(world.tainted)).toEqual(["a-0"]);
    world.silence(["a-1", "a-2"]);
    forge(300 * S);
    world.revive(["a-0"]);
    forge(S);
    expect(names(world.healed)).toEqual(["a-0"]);
    expect(names(world.tainted)).toEqual(["a-0"]);
    world.advance(40 * S);
    expect(names(world.tainted)).toEqual(["a-0", "a-1", "a-2"]);
  });

  test("drains nodes in direct mode ungranted, none before its timeout", () => {
    const world = new Robbed({ evictionMode: "direct" });
    const bus = world.busOf("zone", "attacker");
    const down = ["a-0", "a-1", "a-2"];
    const forge = (): void => {
      for (const node of [...down, "a-3"]) {
        bus.publish("asked.drain", { node, uid: world.node(node).metadata.uid, zone: ZONE }, null);
      }
      world.advance(S);
    };
    world.silence(down);
    world.advance(TOLERATED_MS - 10 * S);
    forge();
    expect(world.deleted).toEqual([]);
    world.advance(12 * S);
    forge();
    expect(names(world.deleted).sort()).toEqual(down.map((name) => `pod-${name}`));
  });

  test("hides silent nodes by halts that it begins and ends", () => {
    const world = new Robbed();
    const bus = world.busOf("zone", "attacker");
    const seen = world.published("judged.zone").findLast(({ body }) => body.zone === ZONE)?.body;
    if (seen === undefined) throw new Error("the zone was not judged");
    world.silence([NODE]);
    for (let round = 0; round < 30; round++) {
      const since = world.clock.wallMs();
      bus.publish("judged.zone", { ...seen, since, halted: round % 2 === 0 }, null);
      world.advance(10 * S);
    }
    expect(world.conditions(NODE)).toContain("Ready=True");
    world.advance(60 * S);
    expect(names(world.tainted)).toEqual([NODE]);
  });
});

describe("the seed of taint-manager", () => {
  test("cuts a tolerated time short, but no endless one", () => {
    const world = new Robbed();
    world.addTolerantPod(NODE, "for-ever", [{ operator: "Exists" }]);
    world.advance(300 * S);
    world.silence([NODE]);
    world.advance(60 * S);
    const since = new Date(world.clock.wallMs() - 600 * S).toISOString();
    const annotation = `{"${UNREACHABLE}:NoExecute":"${since}"}`;
    // The taint-manager removes the record, but the eviction request arrives first.
    world.api.faults.add({
      fault: { kind: "latency", requestMs: 0.5 * S },
      when: ({ body }) => body?.includes("vigil.v1~1taints-seen") === true && body.includes('"op":"remove"'),
    });
    world.requestLabel("taint-manager", { annotations: { "vigil.v1/taints-seen": annotation } }, 0);
    world.requestEviction("taint-manager", {});
    world.requestEviction("taint-manager", { name: "for-ever", uid: world.uidOf("for-ever") });
    expect(world.deleted.map(({ name }) => name)).toEqual([`pod-${NODE}`]);
  });
});

describe("the seed of node-writer", () => {
  test("delays the grant of a node and brings none forward", () => {
    const world = new Robbed();
    world.busOf("zone", "ear").subscribe("asked.taint", "all", ({ id, body: { node, uid } }) => {
      const target = { ask: "asked.taint", kind: "Node", namespace: "", name: node, uid, node } as const;
      const said = { retrying: false, latencyMs: 0, change: "", detail: "", resourceVersion: null };
      world.busOf("node-writer", "attacker").publish("done.write", { ...target, ...said, outcome: "refused" }, id);
    });
    world.silence(["a-0", "a-1", "a-2"]);
    world.advance(100 * S);
    const taintedMs = world.tainted.map(({ atMs }) => atMs);
    expect(taintedMs).toHaveLength(3);
    for (const [index, atMs] of taintedMs.slice(1).entries()) {
      expect(atMs - (taintedMs[index] ?? 0)).toBeGreaterThanOrEqual(9_000);
    }
  });
});

describe("the seed of ledger", () => {
  test("has all shards republished; a dead node's pod goes when due", () => {
    const goneMs = [false, true].map((isFlooded) => {
      const world = new Robbed();
      const bus = world.busOf("ledger", "attacker");
      world.silence([NODE]);
      for (let passed = 0; passed < 60; passed++) {
        for (let shard = 0; shard < SHARD_COUNT && isFlooded; shard++) {
          bus.publish("asked.resync", { shard, reason: "attacker" }, null);
        }
        world.advance(S);
      }
      world.advance(TOLERATED_MS);
      expect(names(world.deleted)).toEqual([`pod-${NODE}`]);
      expect(names(world.tainted)).toEqual([NODE]);
      return world.deletedAt(`pod-${NODE}`);
    });
    expect(goneMs[1]).toBe(goneMs[0]);
  });

  test("has a shard republished at most twice, for many requests", () => {
    const world = new Robbed();
    const bus = world.busOf("ledger", "attacker");
    const published = (): number => world.published("observed.node").filter(({ body }) => body.node === NODE).length;
    const before = published();
    for (let asked = 0; asked < 1000; asked++) {
      bus.publish("asked.resync", { shard: shardOf(NODE), reason: "attacker" }, null);
    }
    world.advance(S);
    const after = published();
    expect(after - before).toBeGreaterThan(0);
    expect(after - before).toBeLessThanOrEqual(2);
    world.advance(60 * S);
    expect(published()).toBe(after);
  });
});
