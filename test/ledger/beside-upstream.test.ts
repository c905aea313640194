/** The ledger beside upstream: its Events and explanations leave upstream's work to upstream. */
import { expect, test } from "vitest";
import { observedNode } from "../support/observed-objects.ts";
import {
  askedCondition,
  doneNode,
  judgedNode,
  type LedgerWorld,
  ledgerWorld,
  podSentences,
  seePulses,
} from "./ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const DOWN = { readiness: "unknown", ready: "Unknown", since: START_AT, eviction: "toBeEvicted" } as const;

function besideWorld(): LedgerWorld {
  const world = ledgerWorld({ profile: { upstream: "beside" } });
  seePulses(world);
  return world;
}

test("Events report Vigil's writes; upstream reports registrations and departures", () => {
  const world = besideWorld();
  world.receive("observed.node", observedNode("n-1"), null);
  world.receive("judged.node", judgedNode("n-1"), null);
  const asked = world.receive("asked.condition", askedCondition("n-1"), null);
  world.receive("done.write", doneNode("asked.condition", "n-1"), asked);
  world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
  expect(world.kube.events.map(({ reason }) => reason)).toEqual(["NodeNotReady"]);
});

test("a lost node and its pod wait for upstream's controllers", () => {
  const world = besideWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  world.receive("judged.node", judgedNode("n-1", DOWN), null);
  const waits = "It waits for upstream's controllers, which taint it and evict its pods at their own rate.";
  expect(world.ledger.reader.explainNode("n-1")?.sentences).toContain(waits);
  expect(podSentences(world)).toContain(waits);
});
