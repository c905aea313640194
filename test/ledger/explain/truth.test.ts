/** What an explanation must not claim: an action, a refusal or a message that never was. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedEviction,
  donePod,
  explainedPod,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  podSentences,
  remembering,
  seePulses,
  UNREACHABLE,
  WEB,
} from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const DEADLINE_AT = START_AT + 300_000;
const CARRIES = "Its node n-1 carries node.kubernetes.io/unreachable:NoExecute";

const nodeSentences = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.sentences ?? [];
const timeline = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.timeline ?? [];
const waiting = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10);

/** The pod's deadline passed 5 s ago, and its deletion was requested; `outcomes` are the writer's answers. */
function askedWorld(...outcomes: BodyOf<"done.write">["outcome"][]): LedgerWorld {
  const world = ledgerWorld();
  world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }), null);
  world.clock.advance(305_000);
  const ask = world.receive("asked.eviction", askedEviction({ deadlineAt: DEADLINE_AT }), null);
  for (const outcome of outcomes) world.receive("done.write", donePod("asked.eviction", { outcome }), ask);
  return world;
}

describe("a pod", () => {
  test("whose deletion was only shadowed is neither terminating nor pending", () => {
    const world = askedWorld("shadowed");
    expect(podSentences(world)).toEqual([
      "Pod default/web was due to be deleted at 2026-01-01T00:05:00Z, 5 s ago.",
      `${CARRIES}, which it tolerates for 300 s.`,
      "Its deletion would have been written at 2026-01-01T00:05:05Z, but shadow mode writes nothing.",
    ]);
    expect(waiting(world)).toEqual([]);
  });

  test("that must go at once is due since its judgement, whenever it is requested", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: START_AT, tolerationSeconds: null }), null);
    world.clock.advance(60_000);
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT + 60_000 }), null);
    expect(podSentences(world)[0]).toBe("Pod default/web was due to be deleted at 2026-01-01T00:00:00Z, 60 s ago.");
  });

  test("whose deletion was refused is not terminating", () => {
    expect(podSentences(askedWorld("refused"))).toContain(
      "A live read ruled out its deletion at 2026-01-01T00:05:05Z: no reason was given.",
    );
  });

  test("that was already gone was not deleted by Vigil", () => {
    const world = askedWorld("gone");
    world.kube.pods.clear();
    expect(podSentences(world)).toEqual(["Pod default/web no longer exists."]);
  });

  test("that was deleted stays so when a repeated deletion finds nothing", () => {
    const world = askedWorld("ok", "gone");
    world.kube.pods.clear();
    expect(podSentences(world)).toEqual([
      "Pod default/web no longer exists.",
      "Vigil deleted it at 2026-01-01T00:05:05Z.",
    ]);
  });

  test("with a later deadline is not due at the earlier one", () => {
    const world = askedWorld("refused");
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT + 60_000, tolerationSeconds: 360 }), null);
    expect(podSentences(world)[0]).toBe("Pod default/web is due to be deleted at 2026-01-01T00:06:00Z, in 55 s.");
  });

  test("whose countdown began with the opposite taint is explained by both", () => {
    const world = ledgerWorld();
    const at = START_AT + 100_000;
    const taintSwap = { at, firstKey: "node.kubernetes.io/not-ready", firstAt: START_AT, secondAt: at };
    const taints = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:01:40Z" }];
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints, taintSwap }), null);
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }), null);
    expect(podSentences(world)[1]).toBe(
      `${CARRIES}, and its countdown of 300 s has run since 2026-01-01T00:00:00Z, when the node carried the opposite taint.`,
    );
    world.receive("judged.pod", judgedPod({ deadlineAt: at + 60_000, tolerationSeconds: 60 }), null);
    expect(podSentences(world)[1]).toBe(`${CARRIES}, which it tolerates for 60 s.`);
  });

  test("bound as its taint was replaced is explained by the toleration that counts", () => {
    const world = ledgerWorld();
    const toleratedTaint = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };
    const taintSwap = { at: START_AT, firstKey: toleratedTaint.key, firstAt: START_AT - 60_000, secondAt: START_AT };
    const taints = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints, taintSwap }), null);
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT, toleratedTaint }), null);
    expect(podSentences(world)[1]).toBe(
      `${CARRIES} in place of the opposite taint, and what counts is that the pod tolerates node.kubernetes.io/not-ready:NoExecute for 300 s.`,
    );
  });

  test("whose taint was replaced within its first second is explained by both", () => {
    const world = ledgerWorld();
    // The first taint was seen after the whole second that the second taint is stamped with.
    const taintSwap = {
      at: START_AT,
      firstKey: "node.kubernetes.io/not-ready",
      firstAt: START_AT + 2,
      secondAt: START_AT,
    };
    const taints = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints, taintSwap }), null);
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT + 2 }), null);
    expect(podSentences(world)[1]).toContain("when the node carried the opposite taint");
    // A pod that was bound later counts from its binding.
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT + 5000 }), null);
    expect(podSentences(world)[1]).toBe(`${CARRIES}, which it tolerates for 300 s.`);
  });

  test("of which only the request is known is explained by its taint or its drain", () => {
    const world = ledgerWorld();
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
    expect(podSentences(world)[1]).toBe(`${CARRIES}, and the time for which the pod may stay is over.`);
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT, mode: "direct", taint: null }), null);
    expect(podSentences(world)[1]).toBe("Its node n-1 is being drained.");
  });

  test("marked NotReady may have a node whose kubelet reports it not ready", () => {
    const world = ledgerWorld();
    world.receive("asked.unready", WEB, null);
    const told = explainedPod(world)?.timeline.map(({ text }) => text);
    expect(told).toEqual(["Ready=False requested: its node is not ready"]);
  });
});

describe("a node", () => {
  const unknown = { readiness: "unknown", ready: "Unknown" } as const;

  test("found silent by a controller that started later did have heartbeats", () => {
    const world = ledgerWorld();
    const ready = { type: "Ready", status: "Unknown", heartbeatAt: START_AT, transitionAt: START_AT } as const;
    const conditions = [{ ...ready, reason: "NodeStatusUnknown" }];
    world.receive("judged.node", judgedNode("n-1", { ...unknown, since: START_AT, heartbeatAt: null }), null);
    expect(nodeSentences(world)[0]).toBe(
      "Node n-1 has been unknown since 2026-01-01T00:00:00Z (0 ms): its last heartbeat is not known.",
    );
    world.receive("observed.node", observedNode("n-1", { conditions }), null);
    expect(nodeSentences(world)[0]).toContain(": its kubelet last posted its status at 2026-01-01T00:00:00Z.");
    const never = [{ ...ready, reason: "NodeStatusNeverUpdated" }];
    world.receive("observed.node", observedNode("n-1", { conditions: never }), null);
    expect(nodeSentences(world)[0]).toContain(": its kubelet has never posted its status.");
  });

  test("judged before the ledger started appears once, at the time of the verdict", () => {
    const world = ledgerWorld();
    world.clock.advance(60_000);
    const judged = judgedNode("n-1", { ...unknown, since: START_AT + 50_000, heartbeatAt: START_AT });
    world.receive("judged.node", { ...judged, eviction: "evicted" }, null);
    world.receive("judged.node", { ...judged, eviction: "evicted" }, null);
    expect(timeline(world)).toMatchObject([
      { at: START_AT + 50_000, times: 1, text: "judged unknown: silent for 50 s" },
      { at: START_AT + 60_000, times: 1, text: "already admitted for eviction" },
    ]);
  });

  test("whose verdict is restored and republished appears once", () => {
    const judged = judgedNode("n-1", { ...unknown, since: START_AT, heartbeatAt: START_AT - 50_000 });
    const world = ledgerWorld({ store: remembering(["judged.node", judged]) });
    world.clock.advance(60_000);
    world.receive("judged.node", judged, null);
    expect(timeline(world)).toMatchObject([{ at: START_AT, times: 1, text: "judged unknown: silent for 50 s" }]);
  });

  test("has the past that was restored, and no second one", () => {
    const judged = judgedNode("n-1", { ...unknown, since: START_AT - 20_700, heartbeatAt: START_AT - 70_700 });
    const store = remembering();
    const world = ledgerWorld({ store });
    for (const eviction of ["toBeEvicted", "evicted"] as const) store.remember("judged.node", { ...judged, eviction });
    world.clock.advance(60_000);
    // A process that has judged it since its restart knows the stamp of the API alone.
    world.receive("judged.node", { ...judged, since: START_AT - 21_000, eviction: "evicted" }, null);
    expect(timeline(world)).toMatchObject([
      { at: START_AT - 20_700, text: "judged unknown: silent for 50 s" },
      { at: START_AT, text: "waits for eviction in zone a" },
      { at: START_AT, text: "admitted for eviction" },
    ]);
  });

  test("that replaced another of its name has its own timeline", () => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1", { uid: "old" }), null);
    world.receive("judged.node", judgedNode("n-1", { uid: "old" }), null);
    world.receive("observed.node", observedNode("n-1", { uid: "new" }), null);
    world.receive("judged.node", judgedNode("n-1", { ...unknown, uid: "old" }), null);
    expect(timeline(world).map(({ text }) => text)).toEqual(["is a new node of the same name"]);
  });

  test("is not gone while the ledger does not know which nodes exist", () => {
    const world = ledgerWorld({ store: remembering(["judged.node", judgedNode("n-1", unknown)]) });
    expect(timeline(world)).toHaveLength(1);
    expect(nodeSentences(world)).toEqual([
      "This ledger has not observed node n-1 since it started: no pulse from the observer.",
    ]);
  });

  test("that waits while its zone's queue is empty has no estimate", () => {
    const world = ledgerWorld();
    seePulses(world);
    world.receive("judged.zone", judgedZone({ notReady: 1, queueLength: 0 }), null);
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    world.receive("judged.node", judgedNode("n-1", { ...unknown, eviction: "toBeEvicted" }), null);
    expect(nodeSentences(world)).toContain(
      "It waits to be admitted for eviction, but is not in the queue of its zone at present.",
    );
  });

  test.each<[BodyOf<"judged.zone">["state"], number, string]>([
    ["Normal", 10, "It waits: the eviction rate of its zone is 0."],
    ["PartialDisruption", 100, "It waits: the eviction rate of its zone is 0."],
    ["PartialDisruption", 10, "It waits: a small zone evicts nothing while it is in PartialDisruption."],
  ])("that waits in a zone that is %s with %i nodes shows why", (state, size, why) => {
    const world = ledgerWorld();
    world.receive("judged.zone", judgedZone({ state, size, taintsPerSecond: 0, notReady: 9 }), null);
    world.receive("judged.node", judgedNode("n-1", { ...unknown, eviction: "toBeEvicted" }), null);
    expect(nodeSentences(world)).toContain(why);
  });
});
