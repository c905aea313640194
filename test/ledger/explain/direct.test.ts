/**
 * Explanations in direct mode: the earliest drain of a node, its place in the queue, and the pods that are deleted.
 */
import { expect, test } from "vitest";
import { observedNode, observedPod } from "../../support/observed-objects.ts";
import {
  askedEviction,
  donePod,
  judgedNode,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  livePod,
  podSentences,
  seePulses,
} from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const DOWN = { readiness: "unknown", ready: "Unknown", since: START_AT } as const;

function directWorld(): LedgerWorld {
  const world = ledgerWorld({ profile: { evictionMode: "direct" } });
  seePulses(world);
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  world.receive("judged.node", judgedNode("n-1", { ...DOWN, evictionFromAt: START_AT + 50_000 }), null);
  return world;
}

const sentences = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.sentences ?? [];
const FROM =
  "It joins the eviction queue of its zone at 2026-01-01T00:00:50Z, in 50 s: its pods are deleted no sooner.";

test("before a drain is due, its node, its pods and the timers show its earliest time", () => {
  const world = directWorld();
  expect(sentences(world)).toContain(FROM);
  expect(podSentences(world)).toEqual(
    expect.arrayContaining(["Pod default/web stays until its node n-1 is admitted for eviction.", FROM]),
  );
  expect(world.ledger.reader.nodes()).toMatchObject([{ evictionFromAt: START_AT + 50_000 }]);
});

test("a node that waits to be drained shows its place and an estimate", () => {
  const world = directWorld();
  world.receive("judged.node", judgedNode("n-1", { ...DOWN, eviction: "toBeEvicted" }), null);
  world.receive("judged.zone", judgedZone({ notReady: 2, queueLength: 2, queue: ["n-2", "n-1"], tokens: 0 }), null);
  const place =
    "It is number 2 of 2 in the eviction queue: at the present rate, one node every 10 s, it is admitted at 2026-01-01T00:00:20Z, in 20 s.";
  expect(sentences(world)).toEqual(expect.arrayContaining([place, "Once it is admitted, its pods are deleted."]));
  expect(podSentences(world)).toContain(place);
  expect(world.ledger.reader.nodes()).toMatchObject([{ queuePlace: 2 }]);
});

test("a drain spares a DaemonSet's pods, and a ready node is not drained", () => {
  const world = directWorld();
  const ownerReferences = [{ kind: "DaemonSet", name: "d", controller: true }];
  world.kube.pods.set("default/web", livePod({ metadata: { ownerReferences } }));
  expect(podSentences(world)[0]).toBe("Pod default/web stays: a drain does not delete pods of DaemonSets.");
  world.clock.advance(1000);
  world.kube.pods.set("default/web", livePod());
  world.receive("judged.node", judgedNode("n-1"), null);
  expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 is not due to be drained.");
});

test("a dead node without a pod to delete does not wait to be drained", () => {
  const world = directWorld();
  const EMPTY = "It does not wait to be drained, because it has no pod that a drain would delete.";
  const agent = { ...observedPod("agent"), owner: "DaemonSet" };
  const seePods = (version: string, pods: ReturnType<typeof observedPod>[]) =>
    world.receive("observed.pods", { node: "n-1", version, chunk: 0, chunks: 1, pods }, null);
  world.receive("judged.node", judgedNode("n-1", DOWN), null);
  expect(sentences(world)).not.toContain(EMPTY);
  seePods("1", [agent]);
  expect(sentences(world)).toContain(EMPTY);
  seePods("2", [agent, observedPod("web")]);
  expect(sentences(world)).not.toContain(EMPTY);
});

test("a pod whose drain was cancelled is not due", () => {
  const world = directWorld();
  const ask = { deadlineAt: START_AT, mode: "direct", taint: null } as const;
  world.receive("judged.node", judgedNode("n-1", { ...DOWN, eviction: "evicted" }), null);
  world.receive("asked.eviction", askedEviction(ask), null);
  expect(podSentences(world)[0]).toMatch(/^Pod default\/web was due to be deleted at /);
  expect(world.ledger.reader.pendingEvictions(10)).toHaveLength(1);
  world.receive("judged.node", judgedNode("n-1"), null);
  expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 is not due to be drained.");
  expect(world.ledger.reader.pendingEvictions(10)).toEqual([]);
  expect(world.ledger.reader.overview().pendingEvictions).toBe(0);
});

test("a pod of a cancelled drain waits for the next one", () => {
  const world = directWorld();
  const { ledger, receive } = world;
  const ask = { deadlineAt: START_AT, mode: "direct", taint: null } as const;
  receive("observed.pods", { node: "n-1", version: "1", chunk: 0, chunks: 1, pods: [observedPod("web")] }, null);
  receive("judged.node", judgedNode("n-1", { ...DOWN, eviction: "evicted" }), null);
  const cause = receive("asked.eviction", askedEviction(ask), null);
  receive("done.write", donePod("asked.eviction", { outcome: "refused", change: "" }), cause);
  for (const eviction of ["unmarked", "toBeEvicted"] as const) {
    receive("judged.node", judgedNode("n-1", { ...DOWN, eviction, evictionFromAt: START_AT + 50_000 }), null);
    expect(podSentences(world)[0]).toBe("Pod default/web stays until its node n-1 is admitted for eviction.");
    expect(ledger.reader.pendingEvictions(10)).toMatchObject([{ name: "web", isEarliest: true }]);
    expect(ledger.reader.overview().pendingEvictions).toBe(1);
  }
});

test("the timers list a drain at its earliest time, then its estimate, then as due", () => {
  const world = directWorld();
  const { ledger, receive } = world;
  const listed = () => ledger.reader.pendingEvictions(10);
  const pods = [
    { ...observedPod("web"), uid: "uid-web" },
    { ...observedPod("agent"), owner: "DaemonSet" },
    { ...observedPod("leaving"), deletionAt: START_AT },
  ];
  expect(listed()).toEqual([]);
  receive("observed.pods", { node: "n-1", version: "1", chunk: 0, chunks: 1, pods }, null);
  const web = { namespace: "default", name: "web", uid: "uid-web", node: "n-1", taint: null, isEarliest: true };
  expect(listed()).toMatchObject([{ ...web, deadlineAt: START_AT + 50_000 }]);
  expect(listed()).toHaveLength(1);
  expect(ledger.reader.overview().pendingEvictions).toBe(1);
  receive("judged.node", judgedNode("n-1", { ...DOWN, eviction: "toBeEvicted" }), null);
  expect(listed()).toMatchObject([{ ...web, deadlineAt: null }]);
  receive("judged.zone", judgedZone({ notReady: 2, queueLength: 2, queue: ["n-2", "n-1"], tokens: 0 }), null);
  expect(listed()).toMatchObject([{ ...web, deadlineAt: START_AT + 20_000 }]);
  receive("judged.node", judgedNode("n-1", { ...DOWN, eviction: "evicted" }), null);
  receive("asked.eviction", askedEviction({ deadlineAt: START_AT, mode: "direct", taint: null }), null);
  expect(listed()).toHaveLength(1);
  expect(listed()[0]?.isEarliest).toBeUndefined();
});

test("a node that is ready again takes its pods off the timers", () => {
  const { ledger, receive } = directWorld();
  receive("observed.pods", { node: "n-1", version: "1", chunk: 0, chunks: 1, pods: [observedPod("web")] }, null);
  expect(ledger.reader.pendingEvictions(10)).toHaveLength(1);
  receive("judged.node", judgedNode("n-1"), null);
  expect(ledger.reader.pendingEvictions(10)).toEqual([]);
});
