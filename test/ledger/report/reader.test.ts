/** The ledger's answers within its process. */
import { describe, expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../../protocols/digest.ts";
import type { Decision } from "../../../protocols/ledger-reader.ts";
import type { Message } from "../../../protocols/messages.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { RESYNC_WAIT_MS } from "../../../services/ledger/state/node-inventory.ts";
import { SETTLED_KEPT_MS } from "../../../services/ledger/state/pod-records.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedEviction,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  pulse,
  UNREACHABLE,
} from "../ledger-world.ts";

describe("the overview", () => {
  test("shows zones by title, nodes by readiness and pending evictions", () => {
    const { ledger, receive } = ledgerWorld();
    receive("judged.zone", judgedZone({ zone: "eu:\u0000:b" }), null);
    receive("judged.zone", judgedZone({ zone: "" }), null);
    receive("judged.zone", judgedZone(), null);
    receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    receive("judged.node", judgedNode("n-1"), null);
    receive("judged.pod", judgedPod(), null);
    const { zones, nodes, pendingEvictions, watchHealth } = ledger.reader.overview();
    expect(zones.map(({ title }) => title)).toEqual(["(no zone)", "a", "eu/b"]);
    expect(nodes).toEqual({ starting: 0, ready: 1, notReady: 0, unknown: 0 });
    expect(pendingEvictions).toBe(1);
    expect(watchHealth.blindShards).toBe(64);
  });

  test("counts the pods that are listed", () => {
    const { ledger, receive } = ledgerWorld();
    receive("observed.node", observedNode("n-1"), null);
    receive("judged.pod", judgedPod(), null);
    expect(ledger.reader.pendingEvictions(10)).toEqual([]);
    expect(ledger.reader.overview().pendingEvictions).toBe(0);
  });

  test("leaves out a vanished zone, but no zone of a blind owner", () => {
    const { ledger, receive, clock } = ledgerWorld();
    receive("judged.zone", judgedZone({ zone: "eu:\u0000:b", size: 0 }), null);
    receive("judged.zone", judgedZone(), null);
    expect(ledger.reader.overview().zones).toHaveLength(2);
    clock.advance(60_000);
    expect(ledger.reader.overview().zones.map(({ title }) => title)).toEqual(["a"]);
  });

  test("is a copy that does not change later", () => {
    const { ledger, receive } = ledgerWorld();
    const before = ledger.reader.overview();
    receive("observed.node", observedNode("n-1"), null);
    receive("judged.node", judgedNode("n-1"), null);
    expect(before.nodes.ready).toBe(0);
  });
});

test("nodes have their zone and eviction status", () => {
  const { ledger, receive } = ledgerWorld();
  receive("observed.node", observedNode("n-1"), null);
  receive("judged.node", judgedNode("n-1", { eviction: "toBeEvicted", since: 5 }), null);
  expect(ledger.reader.nodes()).toEqual([
    {
      name: "n-1",
      readiness: "ready",
      ready: "True",
      since: 5,
      heartbeatAt: null,
      eviction: "toBeEvicted",
      zone: ":\u0000:a",
    },
  ]);
});

describe("pending evictions", () => {
  test("are the soonest, in order, those due at once first", () => {
    const { ledger, receive } = ledgerWorld();
    const dueAt = [50, 10, 40, 20, 30];
    for (const at of dueAt) receive("judged.pod", judgedPod({ name: `p-${at}`, uid: `${at}`, deadlineAt: at }), null);
    receive("judged.pod", judgedPod({ name: "now", uid: "now", eviction: "due", deadlineAt: null }), null);
    expect(ledger.reader.pendingEvictions(4).map(({ name }) => name)).toEqual(["now", "p-10", "p-20", "p-30"]);
    expect(ledger.reader.pendingEvictions(100)).toHaveLength(6);
    expect(ledger.reader.pendingEvictions(0)).toEqual([]);
  });

  test("name the taint whose toleration counts where it is another", () => {
    const { ledger, receive } = ledgerWorld();
    const toleratedTaint = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };
    receive("judged.pod", judgedPod({ toleratedTaint }), null);
    expect(ledger.reader.pendingEvictions(1)).toMatchObject([{ toleratedTaint, tolerationSeconds: 300 }]);
  });
});

describe("a pod without further messages", () => {
  const pending = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10).length;

  test("is forgotten some minutes after its deadline", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ deadlineAt: world.clock.wallMs() + 300_000 }), null);
    world.clock.advance(300_000 + SETTLED_KEPT_MS);
    expect(pending(world)).toBe(1);
    world.clock.advance(60_000);
    expect(pending(world)).toBe(0);
    expect(world.ledger.reader.overview().pendingEvictions).toBe(0);
  });

  test("is kept while its deletion is requested again", () => {
    const world = ledgerWorld();
    for (let minute = 0; minute < 30; minute++) {
      world.receive("asked.eviction", askedEviction({ deadlineAt: world.clock.wallMs() - minute * 60_000 }), null);
      world.clock.advance(60_000);
    }
    expect(pending(world)).toBe(1);
  });
});

describe("decisions", () => {
  test("are passed on as they happen, until the listener stops", () => {
    const { ledger, receive } = ledgerWorld();
    const heard: Decision[] = [];
    const stop = ledger.reader.onDecision((decision) => heard.push(decision));
    receive("judged.zone", judgedZone({ state: "PartialDisruption", notReady: 6, taintsPerSecond: 0.01 }), null);
    stop();
    receive("judged.zone", judgedZone({ notReady: 1 }), null);
    expect(heard).toMatchObject([
      {
        object: { kind: "Zone", name: ":\u0000:a" },
        text: "is PartialDisruption: 6 of 10 nodes not ready; eviction rate: one node every 100 s",
      },
    ]);
    expect(ledger.reader.decisions(1)).toMatchObject([
      { text: "is Normal: 1 of 10 nodes not ready; eviction rate: one node every 10 s" },
    ]);
  });

  test("name the node of a pod to those who listen", () => {
    const { ledger, receive } = ledgerWorld();
    const heard: Decision[] = [];
    ledger.reader.onDecision((decision) => heard.push(decision));
    receive("judged.pod", judgedPod({ node: "n-1", deadlineAt: 9e12 }), null);
    expect(heard).toMatchObject([{ object: { kind: "Pod" }, node: "n-1" }]);
  });

  test("do not include what changes nothing", () => {
    const { ledger, receive } = ledgerWorld();
    for (let beat = 0; beat < 3; beat++) {
      receive("judged.zone", judgedZone({ tokens: 1 - beat / 10 }), null);
      receive("observed.node", observedNode("n-1", { resourceVersion: `${beat}` }), null);
      receive("judged.node", judgedNode("n-1", { heartbeatAt: beat }), null);
    }
    expect(ledger.reader.decisions(10)).toHaveLength(1);
  });
});

describe("a node whose departure was missed", () => {
  const [node, other] = ["n-1", "n-2"];
  const digest = digestWith(EMPTY_DIGEST, other, nodeVersion({ uid: `uid-${other}`, resourceVersion: "1" }));
  const shard = shardOf(node);

  function asked({ io }: LedgerWorld): Message<"asked.resync">[] {
    const asks: Message<"asked.resync">[] = [];
    io.bus.subscribe("asked.resync", "all", (message) => asks.push(message));
    return asks;
  }

  test("is gone after a resync, as the digest demands", () => {
    const world = ledgerWorld();
    const asks = asked(world);
    world.receive("observed.node", observedNode(node), null);
    world.receive("observed.pulse", pulse(shard, { nodes: EMPTY_DIGEST, resyncs: 0 }), null);
    expect(asks).toEqual([]);
    world.clock.advance(RESYNC_WAIT_MS);
    world.receive("observed.pulse", pulse(shard, { nodes: EMPTY_DIGEST, resyncs: 0 }), null);
    expect(asks).toMatchObject([{ body: { shard } }]);
    world.receive("observed.pulse", pulse(shard, { nodes: EMPTY_DIGEST, resyncs: 1 }), asks[0]?.id ?? null);
    expect(world.kube.events.map(({ reason }) => reason)).toEqual(["RegisteredNode", "RemovingNode"]);
    expect(world.ledger.reader.nodes()).toEqual([]);
  });

  test("does not affect other nodes", () => {
    const world = ledgerWorld();
    const ofOther = shardOf(other);
    world.receive("observed.node", observedNode(other), null);
    world.receive("judged.node", judgedNode(other), null);
    world.clock.advance(RESYNC_WAIT_MS);
    world.receive("observed.pulse", pulse(ofOther, { nodes: digest, resyncs: 1 }), "ask");
    expect(world.ledger.reader.nodes()).toHaveLength(1);
  });
});

test("a stopped ledger receives nothing and leaves no timer", () => {
  const { ledger, clock, receive } = ledgerWorld();
  ledger.stop();
  receive("judged.zone", judgedZone(), null);
  expect(ledger.reader.overview().zones).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});
