/** Explanations of a node and a pod from a whole run of messages on the bus. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
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
} from "../ledger-world.ts";

function seeingWorld(): LedgerWorld {
  const world = ledgerWorld();
  seePulses(world);
  return world;
}

/** The node falls silent, waits to be admitted, is tainted, and its pod gets a deadline. */
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
/** Metadata of a pod whose deletion was accepted 5:56 after the start. */
const TERMINATING = { deletionTimestamp: "2026-01-01T00:06:26Z", deletionGracePeriodSeconds: 30 };

const podTimeline = (world: LedgerWorld) => explainedPod(world)?.timeline.map(({ text }) => text);

describe("a node that fell silent", () => {
  test("is explained by its silence, its taint and its zone", () => {
    const world = seeingWorld();
    silenceStory(world);
    expect(sentencesOf(world)).toEqual([
      "Node n-1 has been unknown since 2026-01-01T00:00:50Z (6 s): its last heartbeat was seen at 2026-01-01T00:00:00Z, and its grace period is 50 s.",
      "It carries node.kubernetes.io/unreachable:NoExecute since 2026-01-01T00:00:56Z.",
      "Its zone a is Normal: 1 of 10 nodes not ready, 1 node in the eviction queue.",
    ]);
  });

  test("shows since when a taint with a wrong timeAdded counts", () => {
    const world = seeingWorld();
    const taints = [
      { ...UNREACHABLE, timeAdded: "2099-01-01T00:00:00Z" },
      { key: "bare", effect: "NoExecute" },
    ];
    const names = taints.map(({ key, effect }) => `${key}:${effect}`);
    const taintsSeenAt = Object.fromEntries(names.map((name) => [name, Date.UTC(2026, 0, 1)]));
    world.receive("observed.node", observedNode("n-1", { taints, taintsSeenAt }), null);
    expect(sentencesOf(world)[1]).toBe(
      "It carries node.kubernetes.io/unreachable:NoExecute since 2026-01-01T00:00:00Z (its timeAdded is 2099-01-01T00:00:00Z) and bare:NoExecute since 2026-01-01T00:00:00Z.",
    );
  });

  test("has a timeline from its silence to its taint", () => {
    const world = seeingWorld();
    silenceStory(world);
    expect(world.ledger.reader.explainNode("n-1")?.timeline.map(({ text }) => text)).toEqual([
      "judged unknown: silent for 50 s; waits for eviction in zone a",
      "conditions requested: Ready=Unknown",
      "written after 12 ms: Ready=Unknown",
      "taints requested: +node.kubernetes.io/unreachable:NoExecute (admitted for eviction)",
      "written after 12 ms: taints: +unreachable:NoExecute",
      "now carries node.kubernetes.io/unreachable:NoExecute",
      "admitted for eviction",
    ]);
  });

  test("shows a verdict that was withdrawn", () => {
    const world = seeingWorld();
    world.receive("asked.condition", askedCondition("n-1"), null);
    world.receive("asked.condition", { ...askedCondition("n-1"), conditions: [] }, null);
    expect(world.ledger.reader.explainNode("n-1")?.timeline.map(({ text }) => text)).toEqual([
      "conditions requested: Ready=Unknown",
      "request for conditions withdrawn",
    ]);
  });

  const waiting = (zone: Partial<BodyOf<"judged.zone">>) => {
    const world = seeingWorld();
    world.receive("judged.zone", judgedZone(zone), null);
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    world.receive("judged.node", judgedNode("n-1", { readiness: "unknown", eviction: "toBeEvicted" }), null);
    return sentencesOf(world);
  };

  test("that waits shows how long the rate limiter makes it wait", () => {
    expect(waiting({ queueLength: 4, tokens: 0.5, queue: ["n-7", "n-8", "n-1", "n-9"] })).toContain(
      "It is number 3 of 4 in the eviction queue: at the present rate, one node every 10 s, it is admitted at 2026-01-01T00:00:25Z, in 25 s.",
    );
    expect(waiting({ queueLength: 40, tokens: 0, queue: ["n-7", "n-8"] })).toContain(
      "It is behind the first 2 of 40 in the eviction queue: at the present rate, one node every 10 s, it is admitted after 2026-01-01T00:00:20Z, in more than 20 s.",
    );
  });

  test("that waits in a small disrupted zone shows why", () => {
    expect(waiting({ state: "PartialDisruption", taintsPerSecond: 0, notReady: 6 })).toContain(
      "It waits: a small zone evicts nothing while it is in PartialDisruption.",
    );
  });

  test("shows that evictions are halted", () => {
    expect(waiting({ state: "FullDisruption", halted: true, taintsPerSecond: 0, notReady: 10 })).toContain(
      "It waits: evictions are halted while every zone is disrupted, because the nodes are then probably not at fault.",
    );
  });

  test("shows that its shard is blind", () => {
    const world = seeingWorld();
    silenceStory(world);
    world.clock.advance(10_000);
    expect(sentencesOf(world).at(-1)).toBe("Vigil takes no action against it at present: no pulse from the observer.");
  });
});

describe("a node", () => {
  test.each<[Partial<BodyOf<"judged.node">>, string]>([
    [{ readiness: "ready" }, "Node n-1 has been ready since 1970-01-01T00:00:00Z"],
    [{ readiness: "notReady", ready: "False" }, "its kubelet reports Ready=False."],
    [
      { readiness: "starting", ready: null },
      "its kubelet has not posted a Ready condition yet, and its grace period is 60 s.",
    ],
    [{ readiness: "unknown", heartbeatAt: null }, ": its last heartbeat is not known."],
  ])("judged %o is explained", (judged, text) => {
    const world = seeingWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1", judged), null);
    expect(sentencesOf(world)[0]).toContain(text);
  });

  test.each<[Partial<BodyOf<"judged.node">>, string]>([
    [{ readiness: "unknown", ready: "Unknown", heartbeatAt: 0 }, "20 s"],
    [{ readiness: "starting", ready: null }, "20 min"],
  ])("judged %o is explained with the grace of its policy", (judged, grace) => {
    const policies = new HandPolicies({ nodeMonitorGracePeriod: "20s", nodeStartupGracePeriod: "20m" });
    const world = ledgerWorld({ policies });
    world.receive("observed.node", observedNode("n-1", { ready: judged.ready ?? null }), null);
    world.receive("judged.node", judgedNode("n-1", { ...judged, policy: "pool" }), null);
    expect(sentencesOf(world)[0]).toMatch(new RegExp(`and its grace period is ${grace}\\.$`));
  });

  test("shows that a label excludes it from disruption checks", () => {
    const world = seeingWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1", { counted: false }), null);
    expect(sentencesOf(world)).toContain(
      "A label excludes it from disruption checks, so it does not count towards the state of its zone.",
    );
  });

  test("that left is explained, and an unknown one is not", () => {
    const world = seeingWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    expect(sentencesOf(world)).toEqual(["Node n-1 no longer exists."]);
    expect(world.ledger.reader.explainNode("n-2")).toBeNull();
  });

  test("that left may have returned while its shard is blind", () => {
    const world = seeingWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    world.clock.advance(10_000);
    expect(sentencesOf(world)).toEqual([
      "Node n-1 no longer exists.",
      "Vigil takes no action against it at present: no pulse from the observer.",
    ]);
  });
});

describe("a pod", () => {
  test("with a countdown shows its taint, its toleration and its deadline", () => {
    const world = seeingWorld();
    silenceStory(world);
    world.clock.advance(100_000);
    expect(podSentences(world).slice(0, 2)).toEqual([
      "Pod default/web is due to be deleted at 2026-01-01T00:05:56Z, in 3 min.",
      "Its node n-1 carries node.kubernetes.io/unreachable:NoExecute, which it tolerates for 300 s.",
    ]);
  });

  test("has a timeline from the missed heartbeat through the API server", () => {
    const world = seeingWorld();
    const { deadlineAt, tainted } = silenceStory(world);
    world.clock.advance(300_000);
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt }), tainted);
    world.receive("done.write", donePod("asked.eviction", { change: "deleted" }), ask);
    expect(podTimeline(world)).toEqual([
      "judged unknown: silent for 50 s; waits for eviction in zone a",
      "taints requested: +node.kubernetes.io/unreachable:NoExecute (admitted for eviction)",
      "written after 12 ms: taints: +unreachable:NoExecute",
      "now carries node.kubernetes.io/unreachable:NoExecute",
      "may stay until 2026-01-01T00:05:56Z: it tolerates node.kubernetes.io/unreachable:NoExecute for 300 s",
      "deletion requested: due 2026-01-01T00:05:56Z because of node.kubernetes.io/unreachable:NoExecute",
      "written after 12 ms: deleted",
    ]);
    world.kube.pods.set("default/web", livePod({ metadata: TERMINATING }));
    world.clock.advance(1000);
    expect(podSentences(world).slice(0, 3)).toEqual([
      "Pod default/web has been terminating since 2026-01-01T00:05:56Z (1 s).",
      "Vigil deleted it at 2026-01-01T00:05:56Z.",
      "Its node n-1 is silent, so no kubelet confirms that it has ended.",
    ]);
  });

  test("that must go at once shows the taint it does not tolerate", () => {
    const world = seeingWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: null, tolerationSeconds: null }), null);
    expect(podSentences(world)).toEqual([
      "Pod default/web is due to be deleted at once.",
      "Its node n-1 carries node.kubernetes.io/unreachable:NoExecute, which it does not tolerate.",
      "No request for its deletion has been received yet.",
    ]);
  });

  test("whose deletion is denied shows the denial and that it is overdue", () => {
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
        "It is retried at 2026-01-01T00:06:04Z.",
      ]),
    );
    expect(podTimeline(world)?.at(-1)).toBe(
      'denied by the API server: deleted (admission webhook "guard" denied the request); will be retried',
    );
  });

  test("whose countdown was cancelled stays", () => {
    const world = seeingWorld();
    silenceStory(world);
    world.receive("judged.pod", judgedPod({ eviction: "none", deadlineAt: null, taint: null }), null);
    world.receive("observed.node", observedNode("n-1"), null);
    expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 carries no NoExecute taint.");
  });

  test("without a history has no explanation", () => {
    expect(explainedPod(seeingWorld(), "other")).toBeNull();
  });

  test("spared by a live read shows it", () => {
    const world = seeingWorld();
    const { deadlineAt } = silenceStory(world);
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt }), null);
    world.receive("done.write", donePod("asked.eviction", { outcome: "refused", detail: "n-1 is ready again" }), ask);
    expect(podTimeline(world)?.at(-1)).toBe("ruled out by a live read: deleted (n-1 is ready again)");
  });
});
