/**
 * A request, its outcome and the state that shows it have three publishers, so they arrive in any order. What a ledger
 * says once all are here is the same in each.
 */
import { describe, expect, test } from "vitest";
import type { BodyOf, MessageType } from "../../../protocols/messages.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedCondition,
  askedTaint,
  doneNode,
  judgedNode,
  type LedgerWorld,
  ledgerWorld,
  seePulses,
  UNREACHABLE,
} from "../ledger-world.ts";

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

type Step = "asked" | "shown" | "done";

/** A request for one change, the outcome of its write, and the node that shows the change. */
interface Change {
  readonly ask: readonly [MessageType, BodyOf<MessageType>];
  readonly before: ReturnType<typeof observedNode>;
  readonly shown: ReturnType<typeof observedNode>;
  readonly done: Partial<BodyOf<"done.write">>;
}

const UNTAINTED: Change = {
  ask: ["asked.taint", askedTaint("n-1", { add: [], remove: [NOT_READY], ready: "True", why: "conditions" })],
  before: observedNode("n-1", { taints: [NOT_READY] }),
  shown: observedNode("n-1", { resourceVersion: "2" }),
  done: { change: "taints: -node.kubernetes.io/not-ready:NoSchedule" },
};
const TAINTED: Change = {
  ask: ["asked.taint", askedTaint("n-1")],
  before: observedNode("n-1", { ready: "Unknown" }),
  shown: observedNode("n-1", { ready: "Unknown", taints: [UNREACHABLE], resourceVersion: "2" }),
  done: { change: "taints: +node.kubernetes.io/unreachable:NoExecute" },
};
const SILENT: Change = {
  ask: ["asked.condition", askedCondition("n-1")],
  before: observedNode("n-1"),
  shown: observedNode("n-1", { ready: "Unknown", resourceVersion: "2" }),
  done: { change: "conditions: Ready=Unknown" },
};

/** A ledger that has received the three messages of a change in an order. */
function worldAfter({ ask: [type, body], before, shown, done }: Change, order: readonly Step[]): LedgerWorld {
  const world = ledgerWorld();
  seePulses(world);
  world.receive("observed.node", before, null);
  world.receive("judged.node", judgedNode("n-1"), null);
  let ask: string | null = "node@m-0:not-received";
  for (const step of order) {
    if (step === "asked") ask = world.receive(type, body, null);
    if (step === "shown") world.receive("observed.node", shown, null);
    if (step === "done") world.receive("done.write", doneNode(type, "n-1", done), ask);
  }
  return world;
}

const said = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.sentences.join("\n") ?? "";

describe.each([
  ["a taint that is removed", UNTAINTED],
  ["a taint that is added", TAINTED],
  ["Ready=Unknown", SILENT],
])("%s", (_what, change) => {
  test.each<[string, Step[]]>([
    ["the reply comes first", ["asked", "done", "shown"]],
    ["the node comes first", ["asked", "shown", "done"]],
    ["the request comes last but one", ["shown", "asked", "done"]],
    ["the request is lost, and the node comes first", ["shown", "done"]],
    ["the request is lost, and the reply comes first", ["done", "shown"]],
  ])("is not awaited once it shows: %s", (_order, order) => {
    expect(said(worldAfter(change, order))).not.toMatch(/watch does not show|was requested/);
  });

  test("is awaited until it shows", () => {
    expect(said(worldAfter(change, ["asked", "done"]))).toContain("the watch does not show it yet");
  });
});

test.each<[string, Step[]]>([
  ["after its reply", ["asked", "done", "shown"]],
  ["before its reply", ["asked", "shown", "done"]],
])("a taint that shows %s was caused by its write", (_when, order) => {
  const { ledger } = worldAfter(TAINTED, order);
  for (const entries of [ledger.reader.explainNode("n-1")?.timeline ?? [], ledger.reader.decisions(100)]) {
    const shown = entries.find(({ text }) => text.startsWith("now carries"));
    expect(entries.find(({ id }) => id === shown?.cause)?.type).toBe("done.write");
  }
});

test("an outcome of an earlier request says nothing of the present one", () => {
  const world = ledgerWorld();
  seePulses(world);
  world.receive("observed.node", observedNode("n-1", { taints: [NOT_READY] }), null);
  world.receive("judged.node", judgedNode("n-1"), null);
  const first = world.receive(...UNTAINTED.ask, null);
  world.receive("asked.taint", askedTaint("n-1", { why: "conditions" }), null);
  world.receive("done.write", doneNode("asked.taint", "n-1", { outcome: "denied", detail: "no" }), first);
  expect(said(world)).not.toContain("denied");
});

test("an outcome of a request that is over says nothing", () => {
  const world = ledgerWorld();
  seePulses(world);
  world.receive("observed.node", observedNode("n-1"), null);
  world.receive("judged.node", judgedNode("n-1", { readiness: "unknown", ready: "Unknown" }), null);
  const ask = world.receive(...SILENT.ask, null);
  world.receive("judged.node", judgedNode("n-1"), null);
  world.receive("done.write", doneNode("asked.condition", "n-1", { outcome: "conflict", detail: "changed" }), ask);
  expect(said(world)).not.toContain("conflicted");
});

test.each<[string, Step[]]>([
  ["first", ["asked", "shown", "done"]],
  ["last but one", ["shown", "asked", "done"]],
])("an Event reports the silence of a node where the request comes %s", (_when, order) => {
  const { kube } = worldAfter(SILENT, order);
  expect(kube.events.map(({ reason }) => reason)).toContain("NodeNotReady");
});
