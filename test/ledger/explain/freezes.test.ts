/**
 * What explain says of a pod without a deadline: a planned freeze without an end begins before its countdown ends, or
 * the judgement that names the deadline was lost.
 */
import { describe, expect, test } from "vitest";
import { SETTLED_KEPT_MS } from "../../../services/ledger/state/pod-records.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedEviction,
  judgedNode,
  judgedPod,
  ledgerWorld,
  livePod,
  podSentences,
  UNREACHABLE,
} from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const S = 1000;
const ENDLESS = [{ fromAt: START_AT + 100 * S, toAt: null }];
const AHEAD = "Pod default/web has no deadline yet: a planned freeze without an end begins before its countdown ends.";

/** The sentence about a deadline that the ledger computes. */
const computed = (at: string) =>
  `Pod default/web has to leave by ${at} because of ${UNREACHABLE.key}:NoExecute: ` +
  "this ledger has received no deadline and computes it from the tolerations.";

/** Pod web tolerates the taint of its node, which is there since 00:00, for 300 s. */
function countingWorld() {
  const policies = new HandPolicies({});
  const world = ledgerWorld({ policies });
  const spec = { tolerations: [{ ...UNREACHABLE, operator: "Exists", tolerationSeconds: 300 }] };
  world.kube.pods.set("default/web", livePod({ spec }));
  const taints = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints }), null);
  const judged = { readiness: "unknown", ready: "Unknown", eviction: "evicted", policy: "pool" } as const;
  world.receive("judged.node", judgedNode("n-1", judged), null);
  const waiting = () => world.ledger.reader.pendingEvictions(10);
  return { ...world, policies, waiting };
}

/** The same, judged before a planned freeze without an end. */
function plannedWorld() {
  const world = countingWorld();
  world.policies.put({}, ENDLESS);
  world.receive("judged.pod", judgedPod({ deadlineAt: null }), null);
  return world;
}

describe("a pod before an endless freeze", () => {
  test("has no deadline", () => {
    const world = plannedWorld();
    expect(podSentences(world)[0]).toBe(AHEAD);
    expect(world.waiting()).toMatchObject([{ isBeforeFreeze: true }]);
  });

  test("has none while the policies are not known", () => {
    const world = plannedWorld();
    world.policies.forget();
    expect(podSentences(world)[0]).toBe(AHEAD);
  });

  test("has none where its judgement was lost", () => {
    const world = countingWorld();
    world.policies.put({}, ENDLESS);
    expect(podSentences(world)[0]).toBe(AHEAD);
  });
});

describe("a pod whose new judgement was lost", () => {
  test.each([
    ["is taken away", [], "2026-01-01T00:05:00Z"],
    ["has an end", [{ fromAt: START_AT + 100 * S, toAt: START_AT + 160 * S }], "2026-01-01T00:06:00Z"],
  ])("has a deadline once its freeze %s", (_what, frozen, at) => {
    const world = plannedWorld();
    world.policies.put({}, frozen);
    expect(podSentences(world)[0]).toBe(computed(at));
    expect(world.waiting()).toEqual([]);
  });

  test("is due once its deletion is requested", () => {
    const world = plannedWorld();
    world.policies.put({});
    world.clock.advance(360 * S);
    world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT + 300 * S }), null);
    expect(podSentences(world)[0]).toBe("Pod default/web was due to be deleted at 2026-01-01T00:05:00Z, 60 s ago.");
    expect(world.waiting()).toMatchObject([{ deadlineAt: START_AT + 300 * S }]);
  });

  test("is forgotten after a while", () => {
    const world = plannedWorld();
    world.clock.advance(2 * SETTLED_KEPT_MS);
    expect(world.ledger.reader.overview().pendingEvictions).toBe(1);
    world.policies.put({});
    world.clock.advance(SETTLED_KEPT_MS);
    expect(world.ledger.reader.overview().pendingEvictions).toBe(0);
  });
});

test("a computed deadline is later by frozen time", () => {
  const world = countingWorld();
  world.policies.put({}, [{ fromAt: START_AT - 60 * S, toAt: START_AT + 40 * S }]);
  world.clock.advance(50 * S);
  expect(podSentences(world)[0]).toBe(computed("2026-01-01T00:05:40Z"));
});

describe("a pod of a node in maintenance", () => {
  const untilAt = START_AT + 600 * S;
  const maintenance = { types: ["DrainInProgress"], sinceAt: START_AT, untilAt };
  const held = { field: "NodePolicy pool: spec.maintenance (DrainInProgress)", remainingMs: 90 * S };

  test.each([
    ["of the same clock reading", 0, ": 1m30s remain of its countdown"],
    ["of another reading of the clock", 20, ": 1m30s remain of its countdown"],
    ["of another hold", 60 * S, "."],
  ])("says what is left by a judgement %s", (_which, apartMs, text) => {
    const world = countingWorld();
    const judged = { readiness: "unknown", ready: "Unknown", eviction: "evicted", policy: "pool" } as const;
    world.receive("judged.node", judgedNode("n-1", { ...judged, maintenance }), null);
    const deadlineAt = untilAt + 90 * S;
    world.receive("judged.pod", judgedPod({ deadlineAt, held: { ...held, untilAt: untilAt - apartMs } }), null);
    expect(podSentences(world)[0]).toContain(`stays while its node n-1 is frozen${text}`);
  });
});
