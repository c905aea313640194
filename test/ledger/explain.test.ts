/** Explanations: a whole story told through the bus, and what the ledger then answers in plain words. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { observedNode } from "../support/observed-objects.ts";
import {
  askedCondition,
  askedEviction,
  askedTaint,
  doneNode,
  donePod,
  explainedPod,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  livePod,
  podSentences,
  seePulses,
  UNREACHABLE,
} from "./ledger-world.ts";

function seeingWorld(): LedgerWorld {
  const world = ledgerWorld();
  seePulses(world);
  return world;
}

/** The node falls silent, waits for its turn, is tainted, and its pod is given a deadline. */
function silenceStory(world: LedgerWorld): { tainted: string | null; deadlineAt: number } {
  const { clock, receive } = world;
  const heartbeatAt = clock.wallMs();
  receive("judged.zone", judgedZone(), null);
  receive("observed.node", observedNode("n-1"), null);
  receive("judged.node", judgedNode("n-1", { heartbeatAt }), null);
  clock.advance(50_000);
  seePulses(world);
  const gone = { readiness: "unknown", ready: "Unknown", since: clock.wallMs(), heartbeatAt } as const;
  const judged = receive("judged.node", judgedNode("n-1", { ...gone, eviction: "toBeEvicted" }), null);
  const condition = receive("asked.condition", askedCondition("n-1"), judged);
  receive(
    "done.write",
    doneNode("asked.condition", "n-1", { change: "Ready=Unknown", resourceVersion: "2" }),
    condition,
  );
  receive("judged.zone", judgedZone({ notReady: 1, queueLength: 1, tokens: 0.4 }), judged);
  clock.advance(6000);
  seePulses(world);
  const turn = receive("asked.taint", askedTaint("n-1"), judged);
  receive(
    "done.write",
    doneNode("asked.taint", "n-1", { change: "taints: +unreachable:NoExecute", resourceVersion: "3" }),
    turn,
  );
  const taints = [{ ...UNREACHABLE, timeAdded: apiTime(clock.wallMs()) }];
  const tainted = receive("observed.node", observedNode("n-1", { resourceVersion: "3", taints }), null);
  receive("judged.node", judgedNode("n-1", { ...gone, eviction: "evicted", resourceVersion: "3" }), tainted);
  const deadlineAt = clock.wallMs() + 300_000;
  receive("judged.pod", judgedPod({ deadlineAt }), tainted);
  return { tainted, deadlineAt };
}

const sentencesOf = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.sentences ?? [];
/** What a pod's metadata shows whose deletion was accepted 5:56 after the world began. */
const TERMINATING = { deletionTimestamp: "2026-01-01T00:06:26Z", deletionGracePeriodSeconds: 30 };

const podTimeline = (world: LedgerWorld) => explainedPod(world)?.timeline.map(({ text }) => text);

describe("a node that fell silent", () => {
  test("is explained by its silence, its taint and its zone", () => {
    const world = seeingWorld();
    silenceStory(world);
    expect(sentencesOf(world)).toEqual([
      "Node n-1 is unknown since 2026-01-01T00:00:50Z (6 s): its last heartbeat was seen at 2026-01-01T00:00:00Z, and 50 s of silence are tolerated.",
      "It carries node.kubernetes.io/unreachable:NoExecute since 2026-01-01T00:00:56Z.",
      "Its zone a is Normal: 1 of 10 nodes not ready, 1 node in the queue.",
    ]);
  });

  test("has its taint explained by when it counts from, where its stamp does not say it", () => {
    const world = seeingWorld();
    const taints = [
      { ...UNREACHABLE, timeAdded: "2099-01-01T00:00:00Z" },
      { key: "bare", effect: "NoExecute" },
    ];
    const names = taints.map(({ key, effect }) => `${key}:${effect}`);
    const taintsSeenAt = Object.fromEntries(names.map((name) => [name, Date.UTC(2026, 0, 1)]));
    world.receive("observed.node", observedNode("n-1", { taints, taintsSeenAt }), null);
    expect(sentencesOf(world)[1]).toBe(
      "It carries node.kubernetes.io/unreachable:NoExecute since 2026-01-01T00:00:00Z (its timeAdded says 2099-01-01T00:00:00Z) and bare:NoExecute since 2026-01-01T00:00:00Z.",
    );
  });

  test("has a timeline from the silence to the taint", () => {
    const world = seeingWorld();
    silenceStory(world);
    expect(world.ledger.reader.explainNode("n-1")?.timeline.map(({ text }) => text)).toEqual([
      "judged unknown: silent for 50 s; waits for its turn in zone a",
      "asked to set Ready=Unknown",
      "written after 12 ms: Ready=Unknown",
      "asked for taints +node.kubernetes.io/unreachable:NoExecute: its turn has come",
      "written after 12 ms: taints: +unreachable:NoExecute",
      "now carries node.kubernetes.io/unreachable:NoExecute",
      "its turn has come: its pods may not stay",
    ]);
  });

  test("says of a verdict that was taken back that nothing is to be set any more", () => {
    const world = seeingWorld();
    world.receive("asked.condition", askedCondition("n-1"), null);
    world.receive("asked.condition", { ...askedCondition("n-1"), conditions: [] }, null);
    expect(world.ledger.reader.explainNode("n-1")?.timeline.map(({ text }) => text)).toEqual([
      "asked to set Ready=Unknown",
      "asked to set no condition after all",
    ]);
  });

  const waiting = (zone: Partial<BodyOf<"judged.zone">>) => {
    const world = seeingWorld();
    world.receive("judged.zone", judgedZone(zone), null);
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    world.receive("judged.node", judgedNode("n-1", { readiness: "unknown", eviction: "toBeEvicted" }), null);
    return sentencesOf(world);
  };

  test("that waits for its turn is told how long the limiter makes it wait", () => {
    expect(waiting({ queueLength: 4, tokens: 0.5, queue: ["n-7", "n-8", "n-1", "n-9"] })).toContain(
      "It is number 3 of 4 in the queue, at one node every 10 s: as things stand its turn comes at 2026-01-01T00:00:25Z, in 25 s.",
    );
    expect(waiting({ queueLength: 40, tokens: 0, queue: ["n-7", "n-8"] })).toContain(
      "It is behind the first 2 of 40 in the queue, at one node every 10 s: as things stand its turn comes after 2026-01-01T00:00:20Z, in 20 s.",
    );
  });

  test("that no turn comes for is told so", () => {
    expect(waiting({ state: "PartialDisruption", taintsPerSecond: 0, notReady: 6 })).toContain(
      "It waits for its turn, and no turn comes while so much of a zone so small is not ready.",
    );
  });

  test("is told that the all-zones rule holds it back", () => {
    expect(waiting({ state: "FullDisruption", halted: true, taintsPerSecond: 0, notReady: 10 })).toContain(
      "It waits, and no turn comes, because every zone is disrupted: that looks like our own fault, not theirs.",
    );
  });

  test("is told that we are blind", () => {
    const world = seeingWorld();
    silenceStory(world);
    world.clock.advance(10_000);
    expect(sentencesOf(world).at(-1)).toBe("Nothing is decided against it at present: no pulse from the observer.");
  });
});

describe("a node", () => {
  test.each<[Partial<BodyOf<"judged.node">>, string]>([
    [{ readiness: "ready" }, "Node n-1 is ready since 1970-01-01T00:00:00Z"],
    [{ readiness: "notReady", ready: "False" }, "its kubelet reports Ready=False."],
    [
      { readiness: "starting", ready: null },
      "its kubelet has not posted a Ready condition. Until it does, 60 s without a heartbeat are tolerated.",
    ],
    [{ readiness: "unknown", heartbeatAt: null }, ", and its last heartbeat is not known."],
  ])("judged %o is explained", (judged, text) => {
    const world = seeingWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1", judged), null);
    expect(sentencesOf(world)[0]).toContain(text);
  });

  test("that is excluded from disruption checks is told so", () => {
    const world = seeingWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1", { counted: false }), null);
    expect(sentencesOf(world)).toContain("It is excluded by its label from what decides its zone's state.");
  });

  test("that left is remembered, and one never heard of is not made up", () => {
    const world = seeingWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    expect(sentencesOf(world)).toEqual(["Node n-1 is not there any more."]);
    expect(world.ledger.reader.explainNode("n-2")).toBeNull();
  });
});

describe("a pod", () => {
  test("with a countdown is explained by its node's taint, its toleration and its deadline", () => {
    const world = seeingWorld();
    silenceStory(world);
    world.clock.advance(100_000);
    expect(podSentences(world).slice(0, 2)).toEqual([
      "Pod default/web is due to be deleted at 2026-01-01T00:05:56Z, in 3 min.",
      "Its node n-1 carries node.kubernetes.io/unreachable:NoExecute, which it tolerates for 300 s.",
    ]);
  });

  test("is led back, through the API server, to the heartbeat that was missed", () => {
    const world = seeingWorld();
    const { deadlineAt, tainted } = silenceStory(world);
    world.clock.advance(300_000);
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt }), tainted);
    world.receive("done.write", donePod("asked.eviction", { change: "deleted" }), ask);
    expect(podTimeline(world)).toEqual([
      "judged unknown: silent for 50 s; waits for its turn in zone a",
      "asked for taints +node.kubernetes.io/unreachable:NoExecute: its turn has come",
      "written after 12 ms: taints: +unreachable:NoExecute",
      "now carries node.kubernetes.io/unreachable:NoExecute",
      "may stay until 2026-01-01T00:05:56Z: it tolerates node.kubernetes.io/unreachable:NoExecute for 300 s",
      "asked to be deleted, due 2026-01-01T00:05:56Z: by node.kubernetes.io/unreachable:NoExecute",
      "written after 12 ms: deleted",
    ]);
    world.kube.pods.set("default/web", livePod({ metadata: TERMINATING }));
    world.clock.advance(1000);
    expect(podSentences(world).slice(0, 3)).toEqual([
      "Pod default/web has been terminating since 2026-01-01T00:05:56Z (1 s).",
      "Vigil deleted it at 2026-01-01T00:05:56Z.",
      "Its node n-1 is silent, so nobody finishes it.",
    ]);
  });

  test("that must go at once is told which taint it does not tolerate", () => {
    const world = seeingWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: null, tolerationSeconds: null }), null);
    expect(podSentences(world)).toEqual([
      "Pod default/web is due to be deleted at once.",
      "Its node n-1 carries node.kubernetes.io/unreachable:NoExecute, which it does not tolerate.",
      "Its deletion has not been requested yet.",
    ]);
  });

  test("whose deletion the API refuses shows the refusal, and that it is overdue", () => {
    const world = seeingWorld();
    const { deadlineAt } = silenceStory(world);
    world.clock.advance(305_000);
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt }), null);
    const refusal = {
      outcome: "denied",
      retrying: true,
      retryAt: world.clock.wallMs() + 3000,
      detail: 'admission webhook "guard" denied the request',
    } as const;
    world.receive("done.write", donePod("asked.eviction", refusal), ask);
    expect(podSentences(world)).toEqual(
      expect.arrayContaining([
        "Pod default/web was due to be deleted at 2026-01-01T00:05:56Z, 5 s ago.",
        'The API server denied its deletion at 2026-01-01T00:06:01Z: admission webhook "guard" denied the request.',
        "The next try comes at 2026-01-01T00:06:04Z.",
      ]),
    );
    expect(podTimeline(world)?.at(-1)).toBe(
      'the API server refused: deleted (admission webhook "guard" denied the request); will be tried again',
    );
  });

  test("whose countdown was cancelled has nothing against it any more", () => {
    const world = seeingWorld();
    silenceStory(world);
    world.receive("judged.pod", judgedPod({ eviction: "none", deadlineAt: null, taint: null }), null);
    world.receive("observed.node", observedNode("n-1"), null);
    expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 carries no NoExecute taint.");
  });

  test("nobody ever decided about is not made up", () => {
    expect(explainedPod(seeingWorld(), "other")).toBeNull();
  });

  test("that was saved by a second look shows it", () => {
    const world = seeingWorld();
    const { deadlineAt } = silenceStory(world);
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt }), null);
    world.receive("done.write", donePod("asked.eviction", { outcome: "refused", detail: "n-1 is ready again" }), ask);
    expect(podTimeline(world)?.at(-1)).toBe("held back after a second look: deleted (n-1 is ready again)");
  });
});
