/** What the ledger answers to readers in its process. */
import { describe, expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../protocols/digest.ts";
import type { Message } from "../../protocols/messages.ts";
import type { Decision } from "../../protocols/status.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { PATIENCE_MS } from "../../services/ledger/census.ts";
import { MOOT_MS } from "../../services/ledger/pods.ts";
import { observedNode } from "../support/observed-objects.ts";
import {
  askedEviction,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  pulse,
} from "./ledger-world.ts";

describe("the overview", () => {
  test("shows zones by title, nodes by readiness and what is pending", () => {
    const { ledger, tell } = ledgerWorld();
    tell("judged.zone", judgedZone({ zone: "eu:\u0000:b" }), null);
    tell("judged.zone", judgedZone({ zone: "" }), null);
    tell("judged.zone", judgedZone(), null);
    tell("observed.node", observedNode("n-1"), null);
    tell("judged.node", judgedNode("n-1"), null);
    tell("judged.pod", judgedPod(), null);
    const { zones, nodes, pendingEvictions, sight } = ledger.reader.overview();
    expect(zones.map(({ title }) => title)).toEqual(["(no zone)", "a", "eu/b"]);
    expect(nodes).toEqual({ starting: 0, ready: 1, notReady: 0, unknown: 0 });
    expect(pendingEvictions).toBe(1);
    expect(sight.blindShards).toBe(64);
  });

  test("leaves out a zone that has vanished, and not one that is only silent because nobody can see", () => {
    const { ledger, tell, clock } = ledgerWorld();
    tell("judged.zone", judgedZone({ zone: "eu:\u0000:b", size: 0 }), null);
    tell("judged.zone", judgedZone(), null);
    expect(ledger.reader.overview().zones).toHaveLength(2);
    clock.advance(60_000);
    expect(ledger.reader.overview().zones.map(({ title }) => title)).toEqual(["a"]);
  });

  test("is a copy: what happens later does not change it", () => {
    const { ledger, tell } = ledgerWorld();
    const before = ledger.reader.overview();
    tell("observed.node", observedNode("n-1"), null);
    tell("judged.node", judgedNode("n-1"), null);
    expect(before.nodes.ready).toBe(0);
  });
});

test("nodes are told with their zone and eviction status", () => {
  const { ledger, tell } = ledgerWorld();
  tell("observed.node", observedNode("n-1"), null);
  tell("judged.node", judgedNode("n-1", { eviction: "toBeEvicted", since: 5 }), null);
  expect(ledger.reader.nodes()).toEqual([
    {
      name: "n-1",
      readiness: "ready",
      ready: "True",
      since: 5,
      heartbeatAt: 0,
      eviction: "toBeEvicted",
      zone: ":\u0000:a",
    },
  ]);
});

describe("pending evictions", () => {
  test("are the soonest, in order, those due at once first", () => {
    const { ledger, tell } = ledgerWorld();
    const dueAt = [50, 10, 40, 20, 30];
    for (const at of dueAt) tell("judged.pod", judgedPod({ name: `p-${at}`, uid: `${at}`, deadlineAt: at }), null);
    tell("judged.pod", judgedPod({ name: "now", uid: "now", sentence: "now", deadlineAt: null }), null);
    expect(ledger.reader.pendingEvictions(4).map(({ name }) => name)).toEqual(["now", "p-10", "p-20", "p-30"]);
    expect(ledger.reader.pendingEvictions(100)).toHaveLength(6);
    expect(ledger.reader.pendingEvictions(0)).toEqual([]);
  });
});

describe("a pod nobody speaks of any more", () => {
  const pending = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10).length;

  test("is forgotten some minutes after its deadline, and not before", () => {
    const world = ledgerWorld();
    world.tell("judged.pod", judgedPod({ deadlineAt: world.clock.wallMs() + 300_000 }), null);
    world.clock.advance(300_000 + MOOT_MS);
    expect(pending(world)).toBe(1);
    world.clock.advance(60_000);
    expect(pending(world)).toBe(0);
    expect(world.ledger.reader.overview().pendingEvictions).toBe(0);
  });

  test("is not forgotten as long as its deletion is asked for again and again", () => {
    const world = ledgerWorld();
    for (let minute = 0; minute < 30; minute++) {
      world.tell("asked.eviction", askedEviction({ deadlineAt: world.clock.wallMs() - minute * 60_000 }), null);
      world.clock.advance(60_000);
    }
    expect(pending(world)).toBe(1);
  });
});

describe("decisions", () => {
  test("are told as they happen, until the listener stops", () => {
    const { ledger, tell } = ledgerWorld();
    const heard: Decision[] = [];
    const stop = ledger.reader.onDecision((decision) => heard.push(decision));
    tell("judged.zone", judgedZone({ state: "PartialDisruption", notReady: 6, taintsPerSecond: 0.01 }), null);
    stop();
    tell("judged.zone", judgedZone({ notReady: 1 }), null);
    expect(heard).toMatchObject([
      {
        object: { kind: "Zone", name: ":\u0000:a" },
        text: "is PartialDisruption: 6 of 10 nodes not ready; pace: one node every 100 s",
      },
    ]);
    expect(ledger.reader.decisions(1)).toMatchObject([
      { text: "is Normal: 1 of 10 nodes not ready; pace: one node every 10 s" },
    ]);
  });

  test("are not made of what changes nothing", () => {
    const { ledger, tell } = ledgerWorld();
    for (let beat = 0; beat < 3; beat++) {
      tell("judged.zone", judgedZone({ tokens: 1 - beat / 10 }), null);
      tell("observed.node", observedNode("n-1", { resourceVersion: `${beat}` }), null);
      tell("judged.node", judgedNode("n-1", { heartbeatAt: beat }), null);
    }
    expect(ledger.reader.decisions(10)).toHaveLength(1);
  });
});

describe("a node whose departure was missed", () => {
  const [node, other] = ["n-1", "n-2"];
  const digest = digestWith(EMPTY_DIGEST, other, nodeVersion(`uid-${other}`, "1"));
  const shard = shardOf(node);

  function asked({ io }: LedgerWorld): Message<"asked.resync">[] {
    const asks: Message<"asked.resync">[] = [];
    io.bus.subscribe("asked.resync", "all", (message) => asks.push(message));
    return asks;
  }

  test("is found by the observer's digest: the shard is asked for again, and then the node is gone", () => {
    const world = ledgerWorld();
    const asks = asked(world);
    world.tell("observed.node", observedNode(node), null);
    world.tell("observed.pulse", pulse(shard, { nodes: EMPTY_DIGEST, resyncs: 0 }), null);
    expect(asks).toEqual([]);
    world.clock.advance(PATIENCE_MS);
    world.tell("observed.pulse", pulse(shard, { nodes: EMPTY_DIGEST, resyncs: 0 }), null);
    expect(asks).toMatchObject([{ body: { shard } }]);
    world.tell("observed.pulse", pulse(shard, { nodes: EMPTY_DIGEST, resyncs: 1 }), asks[0]?.id ?? null);
    expect(world.kube.events.map(({ reason }) => reason)).toEqual(["RegisteredNode", "RemovingNode"]);
    expect(world.ledger.reader.nodes()).toEqual([]);
  });

  test("does not take others along", () => {
    const world = ledgerWorld();
    const ofOther = shardOf(other);
    world.tell("observed.node", observedNode(other), null);
    world.tell("judged.node", judgedNode(other), null);
    world.clock.advance(PATIENCE_MS);
    world.tell("observed.pulse", pulse(ofOther, { nodes: digest, resyncs: 1 }), "ask");
    expect(world.ledger.reader.nodes()).toHaveLength(1);
  });
});

test("a stopped ledger hears nothing more and leaves no timer behind", () => {
  const { ledger, clock, tell } = ledgerWorld();
  ledger.stop();
  tell("judged.zone", judgedZone(), null);
  expect(ledger.reader.overview().zones).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});
