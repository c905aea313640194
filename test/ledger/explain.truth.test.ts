/** What an explanation must not claim: that something was done, refused or heard which was not. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { observedNode } from "../support/observed-objects.ts";
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
} from "./ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const DEADLINE_AT = START_AT + 300_000;
const CARRIES = "Its node n-1 carries node.kubernetes.io/unreachable:NoExecute";

const nodeSentences = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.sentences ?? [];
const timeline = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.timeline ?? [];
const waiting = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10);

/** The pod's deadline came 5 s ago and its deletion was asked for; `outcome` is what the writer answered. */
function askedWorld(...outcomes: BodyOf<"done.write">["outcome"][]): LedgerWorld {
  const world = ledgerWorld();
  world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }), null);
  world.clock.advance(305_000);
  const ask = world.receive("asked.eviction", askedEviction({ deadlineAt: DEADLINE_AT }), null);
  for (const outcome of outcomes) world.receive("done.write", donePod("asked.eviction", { outcome }), ask);
  return world;
}

describe("a pod", () => {
  test("whose deletion was only rehearsed is not said to be on its way out, and waits no more", () => {
    const world = askedWorld("shadowed");
    expect(podSentences(world)).toEqual([
      "Pod default/web was due to be deleted at 2026-01-01T00:05:00Z, 5 s ago.",
      `${CARRIES}, which it tolerates for 300 s.`,
      "Its deletion would have been written at 2026-01-01T00:05:05Z, and in shadow nothing is.",
    ]);
    expect(waiting(world)).toEqual([]);
  });

  test("that must go at once is due since it was judged so, however often its deletion is asked for", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: START_AT, tolerationSeconds: null }), null);
    world.clock.advance(60_000);
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT + 60_000 }), null);
    expect(podSentences(world)[0]).toBe("Pod default/web was due to be deleted at 2026-01-01T00:00:00Z, 60 s ago.");
  });

  test("whose deletion was held back is not said to be on its way out", () => {
    expect(podSentences(askedWorld("refused"))).toContain(
      "A live read held its deletion back at 2026-01-01T00:05:05Z: no reason was given.",
    );
  });

  test("that was gone already is not said to have been deleted", () => {
    const world = askedWorld("gone");
    world.kube.pods.clear();
    expect(podSentences(world)).toEqual(["Pod default/web is not there any more."]);
  });

  test("that was deleted stays so when its deletion is asked for again and there is nothing left to delete", () => {
    const world = askedWorld("ok", "gone");
    world.kube.pods.clear();
    expect(podSentences(world)).toEqual([
      "Pod default/web is not there any more.",
      "Vigil deleted it at 2026-01-01T00:05:05Z.",
    ]);
  });

  test("that got a later deadline is not said to be due at the one before", () => {
    const world = askedWorld("refused");
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT + 60_000, tolerationSeconds: 360 }), null);
    expect(podSentences(world)[0]).toBe("Pod default/web is due to be deleted at 2026-01-01T00:06:00Z, in 55 s.");
  });

  test("whose countdown ran on over a swap of taints is not said to tolerate the present one for so long", () => {
    const world = ledgerWorld();
    const at = START_AT + 100_000;
    const taintSwap = { at, firstKey: "node.kubernetes.io/not-ready", firstAt: START_AT, secondAt: at };
    const taints = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:01:40Z" }];
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints, taintSwap }), null);
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }), null);
    expect(podSentences(world)[1]).toBe(
      `${CARRIES}, and its countdown of 300 s has run since 2026-01-01T00:00:00Z, when that taint's opposite stood there.`,
    );
    world.receive("judged.pod", judgedPod({ deadlineAt: at + 60_000, tolerationSeconds: 60 }), null);
    expect(podSentences(world)[1]).toBe(`${CARRIES}, which it tolerates for 60 s.`);
  });

  test("of which only the ask was heard is not said to be drained when a taint asks it to go", () => {
    const world = ledgerWorld();
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
    expect(podSentences(world)[1]).toBe(`${CARRIES}, and it has been there for as long as the pod tolerates it.`);
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT, mode: "direct", taint: null }), null);
    expect(podSentences(world)[1]).toBe("Its node n-1 is drained.");
  });

  test("marked NotReady is not said to be on a silent node, as its kubelet may have said so itself", () => {
    const world = ledgerWorld();
    world.receive("asked.unready", WEB, null);
    const told = explainedPod(world)?.timeline.map(({ text }) => text);
    expect(told).toEqual(["asked to be marked NotReady: its node is not ready"]);
  });
});

describe("a node", () => {
  const unknown = { readiness: "unknown", ready: "Unknown" } as const;

  test("found silent by a controller that started later is not said never to have given a sign of life", () => {
    const world = ledgerWorld();
    const ready = { type: "Ready", status: "Unknown", heartbeatAt: START_AT, transitionAt: START_AT } as const;
    const conditions = [{ ...ready, reason: "NodeStatusUnknown" }];
    world.receive("judged.node", judgedNode("n-1", { ...unknown, since: START_AT, heartbeatAt: null }), null);
    expect(nodeSentences(world)[0]).toBe(
      "Node n-1 is unknown since 2026-01-01T00:00:00Z (0 ms), and its last heartbeat is not known.",
    );
    world.receive("observed.node", observedNode("n-1", { conditions }), null);
    expect(nodeSentences(world)[0]).toContain(": its kubelet last posted its status at 2026-01-01T00:00:00Z.");
    const never = [{ ...ready, reason: "NodeStatusNeverUpdated" }];
    world.receive("observed.node", observedNode("n-1", { conditions: never }), null);
    expect(nodeSentences(world)[0]).toContain(": its kubelet never posted its status.");
  });

  test("judged before we listened is told at the instant of the verdict, and once however often it is told", () => {
    const world = ledgerWorld();
    world.clock.advance(60_000);
    const judged = judgedNode("n-1", { ...unknown, since: START_AT + 50_000, heartbeatAt: START_AT });
    world.receive("judged.node", { ...judged, eviction: "evicted" }, null);
    world.receive("judged.node", { ...judged, eviction: "evicted" }, null);
    expect(timeline(world)).toMatchObject([
      { at: START_AT + 50_000, times: 1, text: "judged unknown: silent for 50 s; its pods may not stay" },
    ]);
  });

  test("whose verdict an earlier ledger kept is told of it once when it is told again", () => {
    const judged = judgedNode("n-1", { ...unknown, since: START_AT, heartbeatAt: START_AT - 50_000 });
    const world = ledgerWorld({ store: remembering(["judged.node", judged]) });
    world.clock.advance(60_000);
    world.receive("judged.node", judged, null);
    expect(timeline(world)).toMatchObject([{ at: START_AT, times: 1, text: "judged unknown: silent for 50 s" }]);
  });

  test("that was replaced under its name is told apart from the one before", () => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1", { uid: "old" }), null);
    world.receive("judged.node", judgedNode("n-1", { uid: "old" }), null);
    world.receive("observed.node", observedNode("n-1", { uid: "new" }), null);
    world.receive("judged.node", judgedNode("n-1", { ...unknown, uid: "old" }), null);
    expect(timeline(world).map(({ text }) => text)).toEqual(["is another node of that name from here on"]);
  });

  test("is not said to have left while the ledger has not been told which nodes there are", () => {
    const world = ledgerWorld({ store: remembering(["judged.node", judgedNode("n-1", unknown)]) });
    expect(timeline(world)).toHaveLength(1);
    expect(nodeSentences(world)).toEqual([
      "Node n-1 has not been observed since this ledger began: no pulse from the observer.",
    ]);
  });

  test("that is to be tainted while nobody is queued is not promised a turn", () => {
    const world = ledgerWorld();
    seePulses(world);
    world.receive("judged.zone", judgedZone({ notReady: 1, queueLength: 0 }), null);
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    world.receive("judged.node", judgedNode("n-1", { ...unknown, eviction: "toBeEvicted" }), null);
    expect(nodeSentences(world)).toContain("It waits for its turn, and is not in its zone's queue at present.");
  });

  test.each<[BodyOf<"judged.zone">["state"], number, string]>([
    ["Normal", 10, "It waits for its turn, and no turn comes: its zone's eviction rate is 0."],
    ["PartialDisruption", 100, "It waits for its turn, and no turn comes: its zone's eviction rate is 0."],
    [
      "PartialDisruption",
      10,
      "It waits for its turn, and no turn comes while so much of a zone so small is not ready.",
    ],
  ])("whose turn never comes in a zone that is %s with %i nodes is told the reason that holds", (state, size, why) => {
    const world = ledgerWorld();
    world.receive("judged.zone", judgedZone({ state, size, taintsPerSecond: 0, notReady: 9 }), null);
    world.receive("judged.node", judgedNode("n-1", { ...unknown, eviction: "toBeEvicted" }), null);
    expect(nodeSentences(world)).toContain(why);
  });
});
