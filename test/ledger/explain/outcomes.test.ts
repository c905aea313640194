/** Explanations of failed requests: the last outcome, its reason and the next retry. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedCondition,
  askedEviction,
  askedTaint,
  doneNode,
  donePod,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  podSentences,
  seePulses,
  UNREACHABLE,
} from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const FORBIDDEN = 'nodes "n-1" is forbidden: User "vigil" cannot patch resource "nodes"';
const WAITING = { readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted" } as const;

/** A silent node that waits to be admitted for eviction; the API shows it with this Ready status. */
function waitingWorld(ready: "True" | "Unknown" = "Unknown"): LedgerWorld {
  const world = ledgerWorld();
  seePulses(world);
  world.receive("observed.node", observedNode("n-1", { ready }), null);
  world.receive("judged.node", judgedNode("n-1", { ...WAITING, since: START_AT }), null);
  const queue = ready === "Unknown" ? { queueLength: 1, queue: ["n-1"] } : {};
  world.receive("judged.zone", judgedZone({ notReady: 1, tokens: 0, ...queue }), null);
  return world;
}

const sentences = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.sentences ?? [];

function receiveConditionDone(world: LedgerWorld, done: Partial<BodyOf<"done.write">>): void {
  const ask = world.receive("asked.condition", askedCondition("n-1"), null);
  world.receive("done.write", doneNode("asked.condition", "n-1", { resourceVersion: null, ...done }), ask);
}

function receiveGrantDone(world: LedgerWorld, done: Partial<BodyOf<"done.write">>): void {
  const ask = receiveGrant(world);
  world.receive("done.write", doneNode("asked.taint", "n-1", { resourceVersion: null, ...done }), ask);
}

const receiveGrant = (world: LedgerWorld) => world.receiveAs("zone", "asked.taint", askedTaint("n-1"), null);

describe("a node", () => {
  test("whose Ready=Unknown is denied joins the queue later", () => {
    const world = waitingWorld("True");
    receiveConditionDone(world, { outcome: "denied", detail: FORBIDDEN });
    expect(sentences(world)).toEqual(
      expect.arrayContaining([
        "It joins the eviction queue of its zone once the API server shows it as not ready.",
        `The API server denied Ready=Unknown at 2026-01-01T00:00:00Z: ${FORBIDDEN}.`,
        "It is requested again within 60 s.",
      ]),
    );
  });

  test("whose taint is denied is tainted when it is admitted again", () => {
    const world = waitingWorld();
    receiveGrantDone(world, { outcome: "denied", detail: FORBIDDEN });
    expect(sentences(world)).toEqual(
      expect.arrayContaining([
        `The API server denied the change of taints +node.kubernetes.io/unreachable:NoExecute at 2026-01-01T00:00:00Z: ${FORBIDDEN}.`,
        "It is requested again when its node is next admitted for eviction.",
      ]),
    );
  });

  test("that a write found gone no longer exists", () => {
    const world = waitingWorld("True");
    receiveConditionDone(world, { outcome: "gone", detail: 'nodes "n-1" not found' });
    expect(sentences(world)).toEqual([
      'Node n-1 no longer exists: a write at 2026-01-01T00:00:00Z found it gone (nodes "n-1" not found), and the watch does not show that yet.',
    ]);
  });

  test("whose taint was requested has no estimate", () => {
    const world = waitingWorld();
    receiveGrant(world);
    expect(sentences(world).join("\n")).not.toContain("it is admitted at");
    expect(sentences(world)).toContain(
      "The change of taints +node.kubernetes.io/unreachable:NoExecute was requested at 2026-01-01T00:00:00Z, and its outcome is not known yet.",
    );
  });

  test.each<[BodyOf<"done.write">["outcome"], string]>([
    ["throttled", "The API server throttled Ready=Unknown at 2026-01-01T00:00:00Z: busy."],
    ["failed", "Ready=Unknown failed at 2026-01-01T00:00:00Z: busy."],
    ["unknown", "The reply to Ready=Unknown was lost at 2026-01-01T00:00:00Z, so it may have been carried out: busy."],
    ["conflict", "Ready=Unknown conflicted with another change at 2026-01-01T00:00:00Z: busy."],
    ["refused", "A live read ruled out Ready=Unknown at 2026-01-01T00:00:00Z: busy."],
  ])("whose request was %s shows the outcome and the next retry", (outcome, said) => {
    const world = waitingWorld("True");
    receiveConditionDone(world, { outcome, detail: "busy.", retrying: true, retryAt: START_AT + 2000 });
    expect(sentences(world)).toEqual(expect.arrayContaining([said, "It is retried at 2026-01-01T00:00:02Z."]));
    world.clock.advance(3000);
    expect(sentences(world)).toContain("A retry is under way.");
  });

  test("that shows the requested change shows no earlier refusals", () => {
    const world = waitingWorld();
    receiveGrantDone(world, { outcome: "denied", detail: FORBIDDEN });
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: [UNREACHABLE] }), null);
    expect(sentences(world).join("\n")).not.toContain("denied");
  });

  test("shows no request that is not repeated any more", () => {
    const world = waitingWorld("True");
    receiveConditionDone(world, { outcome: "denied", detail: FORBIDDEN });
    world.clock.advance(2 * world.io.profile.askRetryMaxMs);
    expect(sentences(world).join("\n")).not.toContain("denied");
  });

  test("that is ready again shows no refused verdict", () => {
    const world = waitingWorld("True");
    receiveConditionDone(world, { outcome: "refused", detail: "the lease was renewed" });
    world.receive("judged.node", judgedNode("n-1"), null);
    expect(sentences(world).join("\n")).not.toContain("ruled out");
  });

  test("that waits while its shard is blind has no estimate", () => {
    const world = waitingWorld();
    world.clock.advance(10_000);
    expect(sentences(world)).toContain(
      "It waits to be admitted for eviction, at a time that cannot be estimated at present.",
    );
  });

  test("whose zone has no owner shows the state of its zone as an old one", () => {
    const world = waitingWorld();
    world.clock.advance(20_000);
    seePulses(world);
    expect(sentences(world)).toEqual(
      expect.arrayContaining([
        "Its zone a was Normal at 2026-01-01T00:00:00Z, and its owner has published nothing since.",
        "It waits to be admitted for eviction, at a time that cannot be estimated at present.",
      ]),
    );
  });
});

describe("a pod", () => {
  test.each<[Partial<BodyOf<"done.write">>, string]>([
    [
      { outcome: "denied", detail: "pods is forbidden" },
      "The API server denied its deletion at 2026-01-01T00:00:00Z: pods is forbidden.",
    ],
    [
      { outcome: "failed", detail: "the pod could not be read: connect ECONNREFUSED" },
      "Its deletion failed at 2026-01-01T00:00:00Z: the pod could not be read: connect ECONNREFUSED.",
    ],
  ])("whose deletion failed shows the outcome (%o)", (done, said) => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: START_AT }), null);
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
    world.receive("done.write", donePod("asked.eviction", { ...done, retrying: true, retryAt: START_AT + 1500 }), ask);
    expect(podSentences(world)).toEqual(expect.arrayContaining([said, "It is retried at 2026-01-01T00:00:01Z."]));
  });

  test("whose deletion has no outcome yet shows the request", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: START_AT }), null);
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
    expect(podSentences(world)).toContain(
      "Its deletion was requested at 2026-01-01T00:00:00Z, and its outcome is not known yet.",
    );
  });
});
