/** Writes whose reply was lost, and what the ledger reports once their outcome shows. */
import { describe, expect, test } from "vitest";
import type { ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import { metricValue } from "../../support/metric-value.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedCondition,
  askedEviction,
  askedTaint,
  doneNode,
  donePod,
  judgedNode,
  type LedgerWorld,
  ledgerWorld,
  livePod,
  podSentences,
  remembering,
  UNREACHABLE,
  WEB,
} from "../ledger-world.ts";

const LOST = { outcome: "unknown", detail: "read ECONNRESET" } as const;

const count = ({ metrics }: LedgerWorld, name: string) => metricValue(metrics, name);
const messages = ({ kube }: LedgerWorld, reason: string) =>
  kube.events.filter((event) => event.reason === reason).map(({ message }) => message);

/** The same world, in which the API shows the pod as terminating. */
function terminating(world: LedgerWorld): LedgerWorld {
  world.kube.pods.set("default/web", livePod({ metadata: { deletionTimestamp: "2026-01-01T00:00:30Z" } }));
  return world;
}

function nodeShown(ready: ConditionStatus, isTainted = false): ObservedNode {
  const conditions = [{ type: "Ready", status: ready, heartbeatAt: 0, transitionAt: 0 }];
  return observedNode("n-1", { conditions, taints: isTainted ? [UNREACHABLE] : [] });
}

describe("a taint with a lost reply", () => {
  function lostTurn(...shownBefore: ObservedNode[]): LedgerWorld {
    const world = ledgerWorld();
    world.receive("observed.node", nodeShown("Unknown"), null);
    world.receive("judged.node", judgedNode("n-1"), null);
    const ask = world.receive("asked.taint", askedTaint("n-1"), null);
    for (const node of shownBefore) world.receive("observed.node", node, null);
    world.receive("done.write", doneNode("asked.taint", "n-1", LOST), ask);
    return world;
  }
  const evictions = (world: LedgerWorld) => count(world, "node_collector_evictions_total");

  test("counts once the node shows the taint", async () => {
    const world = lostTurn();
    expect(await evictions(world)).toBe(0);
    world.receive("observed.node", nodeShown("Unknown", true), null);
    world.receive("observed.node", nodeShown("Unknown", true), null);
    expect(await evictions(world)).toBe(1);
  });

  test("counts when the node showed it before that", async () => {
    const world = lostTurn(nodeShown("Unknown", true));
    world.receive("observed.node", nodeShown("Unknown", true), null);
    expect(await evictions(world)).toBe(1);
  });

  test.each([
    ["kube-controller-manager", 0],
    ["vigil", 1],
  ])("that the API shows as written by %s counts %i times", async (taints, times) => {
    const world = lostTurn();
    world.receive("observed.node", { ...nodeShown("Unknown", true), writtenBy: { taints } }, null);
    expect(await evictions(world)).toBe(times);
  });

  test("counts when it was already removed again", async () => {
    expect(await evictions(lostTurn(nodeShown("Unknown", true), nodeShown("True")))).toBe(1);
  });

  test("is not explained as unseen once the node showed it", () => {
    const world = lostTurn(nodeShown("Unknown", true));
    const sentences = world.ledger.reader.explainNode("n-1")?.sentences ?? [];
    expect(sentences.filter((text) => text.includes("the watch does not show it yet"))).toEqual([]);
  });

  test("does not count while the node does not show it", async () => {
    const world = lostTurn();
    world.receive("observed.node", nodeShown("Unknown"), null);
    expect(await evictions(world)).toBe(0);
  });

  test("does not count for another node of that name", async () => {
    const world = lostTurn();
    world.receive("observed.node", { ...nodeShown("Unknown", true), uid: "another" }, null);
    expect(await evictions(world)).toBe(0);
  });

  test("is in the history as written", () => {
    const world = lostTurn();
    world.receive("observed.node", nodeShown("Unknown", true), null);
    const texts = world.ledger.reader.explainNode("n-1")?.timeline.map(({ text }) => text) ?? [];
    expect(texts.filter((text) => text.includes("reply"))).toEqual([
      "the reply was lost: something (read ECONNRESET)",
      "written after 12 ms: something (the reply was lost, and the node shows the change)",
    ]);
  });
});

describe("conditions with a lost reply", () => {
  function lostVerdict(): LedgerWorld {
    const world = ledgerWorld();
    world.receive("observed.node", nodeShown("True"), null);
    const ask = world.receive("asked.condition", askedCondition("n-1"), null);
    world.receive("done.write", doneNode("asked.condition", "n-1", { ...LOST, retrying: true }), ask);
    return world;
  }

  test("cause one NodeNotReady when the node shows them", () => {
    const world = lostVerdict();
    expect(messages(world, "NodeNotReady")).toEqual([]);
    world.receive("observed.node", nodeShown("Unknown"), null);
    world.receive("done.write", doneNode("asked.condition", "n-1", { change: "" }), null);
    expect(messages(world, "NodeNotReady")).toEqual(["Node n-1 status is now: NodeNotReady"]);
  });

  test("cause no Event while the node is Ready", () => {
    const world = lostVerdict();
    world.receive("observed.node", nodeShown("True"), null);
    expect(messages(world, "NodeNotReady")).toEqual([]);
  });
});

describe("a deletion with a lost reply", () => {
  function lostDeletion(last: "gone" | "refused" | null): LedgerWorld {
    const world = ledgerWorld();
    const ask = world.receive("asked.eviction", askedEviction(), null);
    world.receive("done.write", donePod("asked.eviction", { ...LOST, retrying: true }), ask);
    if (last !== null) world.receive("done.write", donePod("asked.eviction", { outcome: last, change: "" }), ask);
    return world;
  }
  const deletions = (world: LedgerWorld) => count(world, "taint_eviction_controller_pod_deletions_total");

  test("is Vigil's when the pod is found gone", async () => {
    const world = lostDeletion("gone");
    expect(await deletions(world)).toBe(1);
    expect(messages(world, "TaintManagerEviction")).toEqual(["Marking for deletion Pod default/web"]);
    expect(podSentences(terminating(world))).toContain("Vigil deleted it at 2026-01-01T00:00:00Z.");
  });

  test("is not reported before the pod is read again", async () => {
    const world = lostDeletion(null);
    expect(await deletions(world)).toBe(0);
    expect(messages(world, "TaintManagerEviction")).toEqual([]);
  });

  test("did not happen when a live read found the pod", async () => {
    const world = lostDeletion("refused");
    const ask = world.receive("asked.eviction", askedEviction(), null);
    world.receive("done.write", donePod("asked.eviction", { outcome: "gone", change: "" }), ask);
    expect(await deletions(world)).toBe(0);
    expect(podSentences(terminating(world)).join()).not.toContain("Vigil deleted it");
  });

  test("is Vigil's for a ledger that started in between", () => {
    const store = remembering(["done.write", donePod("asked.eviction", { ...LOST, retrying: true })]);
    const world = ledgerWorld({ store });
    const ask = world.receive("asked.eviction", askedEviction(), null);
    world.receive("done.write", donePod("asked.eviction", { outcome: "gone", change: "" }), ask);
    expect(messages(world, "TaintManagerEviction")).toEqual(["Marking for deletion Pod default/web"]);
  });
});

test("a pod marked NotReady with a lost reply gets its Event later", () => {
  const world = ledgerWorld();
  const ask = world.receive("asked.unready", WEB, null);
  world.receive("done.write", donePod("asked.unready", { ...LOST, retrying: true }), ask);
  expect(world.kube.events).toEqual([]);
  world.receive("done.write", donePod("asked.unready", { change: "" }), ask);
  expect(messages(world, "NodeNotReady")).toEqual(["Node is not ready"]);
});
