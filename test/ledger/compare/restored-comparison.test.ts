/** A comparison that goes on after a restart with what an earlier ledger stored. */
import { expect, test } from "vitest";
import {
  type ComparisonRecord,
  decodeRecord,
  encodeRecord,
  recordKeyOf,
} from "../../../protocols/comparison-record.ts";
import type { AnyMessage, BodyOf, MessageType } from "../../../protocols/messages.ts";
import { Comparison } from "../../../services/ledger/compare/comparison.ts";
import { noExecute, observedNode, observedPod } from "../../support/observed-objects.ts";
import { doneNode, donePod, judgedPod } from "../ledger-world.ts";

const S = 1000;
const NODE = "n-1";
const UNREACHABLE = "node.kubernetes.io/unreachable";
const TAINTED = `taints: +${UNREACHABLE}:NoExecute`;
const VERDICT = { verdict: { at: 0, leaseRenewedAt: 60 * S, statusHeartbeatAt: null, conditions: [] } };

function messageOf<T extends MessageType>(type: T, body: BodyOf<T>, atS: number): AnyMessage {
  return { v: 1, id: `${type}:${atS}`, type, source: "s@m", at: atS * S, cause: null, body } as AnyMessage;
}

/** The bucket, and the ledgers that use it one after the other. */
class Restarts {
  readonly bucket = new Map<string, Uint8Array>();
  readonly over: (string | null)[] = [];
  #comparison: Comparison;
  readonly #isBeside: boolean;

  constructor(isBeside = false) {
    this.#isBeside = isBeside;
    this.#comparison = this.start(0);
  }

  /** Starts a ledger, which restores at once by default. */
  start(atS: number, isRestored = true): Comparison {
    this.#comparison = new Comparison({
      member: "m-0",
      startedAt: atS * S,
      comparesPods: true,
      isShadow: !this.#isBeside,
      isBeside: this.#isBeside,
      nodeMonitorGraceMs: 50 * S,
      keep: (record) => this.bucket.set(recordKeyOf(record), encodeRecord(record)),
      podShown: () => {},
      isOver: ({ node }) => this.over.push(node),
    });
    if (isRestored) this.restore(atS);
    return this.#comparison;
  }

  restore(atS: number): void {
    const records = [...this.bucket.values()].map((data) => decodeRecord(data));
    this.#comparison.restore(
      records.filter((record): record is ComparisonRecord => record !== null),
      atS * S,
    );
  }

  receive<T extends MessageType>(atS: number, type: T, body: BodyOf<T>): void {
    this.#comparison.onMessage(messageOf(type, body, atS));
  }

  /** Observes the node: Unknown since an instant, or well; with taints. */
  node(atS: number, unknownAtS: number | null, rest: Parameters<typeof observedNode>[1] = {}): void {
    const known = observedNode(NODE, { ready: unknownAtS === null ? "True" : "Unknown", ...rest });
    const conditions = known.conditions.map((each) => ({ ...each, transitionAt: (unknownAtS ?? 0) * S }));
    this.receive(atS, "observed.node", { ...known, conditions });
  }

  pods(atS: number, ...pods: ReturnType<typeof observedPod>[]): void {
    this.receive(atS, "observed.pods", { node: NODE, version: String(atS), chunk: 0, chunks: 1, pods });
  }

  report(atS: number) {
    return this.#comparison.report(0, atS * S, true);
  }

  steps(atS: number) {
    const { nodes, pods } = this.report(atS);
    return [
      nodes.map(({ unknown, noExecute: taint, to }) => [unknown.leadMs, taint.leadMs, to]),
      pods.map(({ name, notReady, deleted }) => [name, notReady.leadMs, deleted.leadMs]),
    ];
  }
}

const shadowed = { outcome: "shadowed" as const, nodeShadow: VERDICT };

test("a failure that was over is reported as it was", () => {
  const world = new Restarts();
  world.node(10, null);
  world.receive(100, "done.write", doneNode("asked.condition", NODE, shadowed));
  world.node(100, 100, { shadow: VERDICT });
  world.node(110, 110);
  world.pods(111, observedPod("web"));
  world.receive(112, "judged.pod", judgedPod({ deadlineAt: 400 * S }));
  world.receive(115, "done.write", doneNode("asked.taint", NODE, { outcome: "shadowed", change: TAINTED }));
  world.node(120, 110, { taints: [noExecute(UNREACHABLE, { timeAdded: new Date(120 * S).toISOString() })] });
  world.receive(400, "done.write", donePod("asked.eviction", { outcome: "shadowed" }));
  world.pods(420);
  world.node(500, null);
  const before = world.report(600);
  world.start(700);
  const { nodes, pods } = world.report(800);
  expect(world.steps(800)).toEqual([[[10 * S, 5 * S, 500 * S]], [["web", null, 20 * S]]]);
  expect([nodes, pods]).toEqual([before.nodes, before.pods]);
  expect(world.over).toEqual([NODE]);
});

test.each([
  ["before", true],
  ["after", false],
])("a failure that lasts goes on; its node is observed %s the records are read", (_when, isRestored) => {
  const world = new Restarts();
  world.receive(100, "done.write", doneNode("asked.condition", NODE, shadowed));
  world.node(100, 100, { shadow: VERDICT });
  world.start(104, isRestored);
  world.node(106, 105);
  if (!isRestored) world.restore(107);
  world.node(110, 105, { taints: [noExecute(UNREACHABLE, { timeAdded: new Date(110 * S).toISOString() })] });
  world.receive(120, "done.write", doneNode("asked.taint", NODE, { outcome: "shadowed", change: TAINTED }));
  expect(world.steps(200)).toEqual([[[5 * S, -10 * S, null]], []]);
  world.node(300, null);
  expect(world.steps(300)[0]).toEqual([[5 * S, -10 * S, 300 * S]]);
  world.start(310);
  expect(world.steps(320)[0]).toEqual([[5 * S, -10 * S, 300 * S]]);
});

test("what happened to pods while no ledger ran has no lead; the API dates the rest", () => {
  const world = new Restarts();
  world.receive(100, "done.write", doneNode("asked.condition", NODE, shadowed));
  world.node(100, 100, { shadow: VERDICT });
  world.pods(101, observedPod("web"), observedPod("gone"));
  for (const name of ["web", "gone"]) {
    const body = judgedPod({ name, uid: `uid-${name}`, deadlineAt: 130 * S });
    world.receive(102, "judged.pod", body);
  }
  world.start(200);
  world.node(202, 140);
  world.pods(203, observedPod("web", { deletionAt: 170 * S }));
  expect(world.steps(300)).toEqual([
    [[40 * S, null, null]],
    [
      ["web", null, null],
      ["gone", null, null],
    ],
  ]);
  const [web] = world.report(300).pods;
  expect(web?.deleted).toMatchObject({ others: { at: 203 * S, isLatest: true }, why: null });
});

test("beside upstream Vigil's own write stays Vigil's", () => {
  const world = new Restarts(true);
  world.receive(100, "done.write", doneNode("asked.condition", NODE));
  world.node(100, 100);
  world.start(110, false);
  world.node(111, 100);
  world.restore(112);
  expect(world.report(120).nodes[0]?.unknown).toMatchObject({
    vigil: { at: 100 * S },
    others: null,
    why: "Vigil has written it, so that nothing was left to do",
  });
});

test("a node that returned and failed again meanwhile has failed twice", () => {
  const world = new Restarts();
  world.receive(100, "done.write", doneNode("asked.condition", NODE, shadowed));
  world.node(110, 110);
  world.start(120);
  world.node(300, 290);
  expect(world.steps(300)[0]).toEqual([
    [10 * S, null, 300 * S],
    [null, null, null],
  ]);
});

test("in shadow mode a silent node is judged again, and that is no second failure", () => {
  const world = new Restarts();
  world.receive(100, "done.write", doneNode("asked.condition", NODE, shadowed));
  world.node(100, 100, { shadow: VERDICT });
  world.start(104);
  world.node(105, null);
  world.receive(154, "done.write", doneNode("asked.condition", NODE, shadowed));
  world.node(154, 154, { shadow: VERDICT });
  world.node(160, 160);
  expect(world.steps(170)[0]).toEqual([[60 * S, null, null]]);
  const third = world.start(200);
  world.node(201, null);
  third.sweep(240 * S, () => true);
  expect(world.steps(240)[0]).toEqual([[60 * S, null, null]]);
  third.sweep(320 * S, () => true);
  expect(world.steps(320)[0]).toEqual([[60 * S, null, 320 * S]]);
});

test("a failure from before the record began is no difference", () => {
  const world = new Restarts();
  world.start(1000, false);
  world.node(1001, 200);
  world.receive(1050, "done.write", doneNode("asked.condition", NODE, shadowed));
  expect(world.report(1100).nodes).toEqual([]);
});

test("the time in which no ledger ran is a gap", () => {
  const world = new Restarts();
  const first = world.start(0);
  first.noteRunning(100 * S);
  world.start(130);
  const { from, isCut, gaps } = world.report(200);
  expect([from, isCut, gaps]).toEqual([0, false, [{ from: 100 * S, to: 130 * S }]]);
});
