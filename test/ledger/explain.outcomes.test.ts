/** What explain says of requests that came to nothing: the last outcome, its reason and the next try. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { observedNode } from "../support/observed-objects.ts";
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
} from "./ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const FORBIDDEN = 'nodes "n-1" is forbidden: User "vigil" cannot patch resource "nodes"';
const WAITING = { readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted" } as const;

/** The node is silent and waits for its turn; the API shows it with this Ready status. */
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

function tellConditionDone(world: LedgerWorld, done: Partial<BodyOf<"done.write">>): void {
  const ask = world.receive("asked.condition", askedCondition("n-1"), null);
  world.receive("done.write", doneNode("asked.condition", "n-1", { resourceVersion: null, ...done }), ask);
}

function tellTurnDone(world: LedgerWorld, done: Partial<BodyOf<"done.write">>): void {
  const ask = askedTaintOfZone(world);
  world.receive("done.write", doneNode("asked.taint", "n-1", { resourceVersion: null, ...done }), ask);
}

const askedTaintOfZone = (world: LedgerWorld) => world.receiveAs("zone", "asked.taint", askedTaint("n-1"), null);

describe("a node", () => {
  test("whose Ready=Unknown is denied joins the queue when the API shows it, and the denial is quoted", () => {
    const world = waitingWorld("True");
    tellConditionDone(world, { outcome: "denied", detail: FORBIDDEN });
    expect(sentences(world)).toEqual(
      expect.arrayContaining([
        "It joins the queue of its zone as soon as the API server shows that it is not ready.",
        `The API server denied Ready=Unknown at 2026-01-01T00:00:00Z: ${FORBIDDEN}.`,
        "It is requested again within 60 s.",
      ]),
    );
  });

  test("whose taint is denied is told so, and comes again with its next turn", () => {
    const world = waitingWorld();
    tellTurnDone(world, { outcome: "denied", detail: FORBIDDEN });
    expect(sentences(world)).toEqual(
      expect.arrayContaining([
        `The API server denied the change of taints +node.kubernetes.io/unreachable:NoExecute at 2026-01-01T00:00:00Z: ${FORBIDDEN}.`,
        "It is requested again with the next turn of its node.",
      ]),
    );
  });

  test("that a write found gone is gone, although the watch still shows it", () => {
    const world = waitingWorld("True");
    tellConditionDone(world, { outcome: "gone", detail: 'nodes "n-1" not found' });
    expect(sentences(world)).toEqual([
      'Node n-1 is gone, as a write found at 2026-01-01T00:00:00Z: nodes "n-1" not found. The watch of nodes does not show that yet.',
    ]);
  });

  test("whose taint was requested is not promised a turn", () => {
    const world = waitingWorld();
    askedTaintOfZone(world);
    expect(sentences(world).join("\n")).not.toContain("its turn comes at");
    expect(sentences(world)).toContain(
      "The change of taints +node.kubernetes.io/unreachable:NoExecute was requested at 2026-01-01T00:00:00Z, and its outcome is not known yet.",
    );
  });

  test.each<[BodyOf<"done.write">["outcome"], string]>([
    ["throttled", "The API server asked for a pause before Ready=Unknown at 2026-01-01T00:00:00Z: busy."],
    ["failed", "Ready=Unknown failed at 2026-01-01T00:00:00Z: busy."],
    [
      "unknown",
      "Ready=Unknown was sent, and its reply was lost at 2026-01-01T00:00:00Z, so that it may have happened: busy.",
    ],
    ["conflict", "Ready=Unknown met an object that had changed at 2026-01-01T00:00:00Z: busy."],
    ["refused", "A live read held Ready=Unknown back at 2026-01-01T00:00:00Z: busy."],
  ])("whose request was %s is told so, and when the next try comes", (outcome, said) => {
    const world = waitingWorld("True");
    tellConditionDone(world, { outcome, detail: "busy.", retrying: true, retryAt: START_AT + 2000 });
    expect(sentences(world)).toEqual(expect.arrayContaining([said, "The next try comes at 2026-01-01T00:00:02Z."]));
    world.clock.advance(3000);
    expect(sentences(world)).toContain("The next try is under way.");
  });

  test("that shows what was requested is not told of earlier refusals", () => {
    const world = waitingWorld();
    tellTurnDone(world, { outcome: "denied", detail: FORBIDDEN });
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: [UNREACHABLE] }), null);
    expect(sentences(world).join("\n")).not.toContain("denied");
  });

  test("whose requests nobody repeats any more is not told of them", () => {
    const world = waitingWorld("True");
    tellConditionDone(world, { outcome: "denied", detail: FORBIDDEN });
    world.clock.advance(2 * world.io.profile.askRetryMaxMs);
    expect(sentences(world).join("\n")).not.toContain("denied");
  });

  test("that lives again is not told of the verdict that was refused", () => {
    const world = waitingWorld("True");
    tellConditionDone(world, { outcome: "refused", detail: "the lease was renewed" });
    world.receive("judged.node", judgedNode("n-1"), null);
    expect(sentences(world).join("\n")).not.toContain("held");
  });

  test("that waits while nothing can be seen is not promised a turn", () => {
    const world = waitingWorld();
    world.clock.advance(10_000);
    expect(sentences(world)).toContain("It waits for its turn, and nobody can say now when that comes.");
  });

  test("whose zone has no owner is not told of its state as if it were the present one", () => {
    const world = waitingWorld();
    world.clock.advance(20_000);
    seePulses(world);
    expect(sentences(world)).toEqual(
      expect.arrayContaining([
        "Its zone a was Normal at 2026-01-01T00:00:00Z, and nothing has been heard of it since.",
        "It waits for its turn, and nobody can say now when that comes.",
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
  ])("whose deletion came to nothing (%o) is told so", (done, said) => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: START_AT }), null);
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
    world.receive("done.write", donePod("asked.eviction", { ...done, retrying: true, retryAt: START_AT + 1500 }), ask);
    expect(podSentences(world)).toEqual(expect.arrayContaining([said, "The next try comes at 2026-01-01T00:00:01Z."]));
  });

  test("whose deletion was requested and has no outcome yet is told so", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ eviction: "due", deadlineAt: START_AT }), null);
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
    expect(podSentences(world)).toContain(
      "Its deletion was requested at 2026-01-01T00:00:00Z, and its outcome is not known yet.",
    );
  });
});
