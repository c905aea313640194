/** The judge of incidents: which deletions and verdicts are right. */
import { describe, expect, test } from "vitest";
import type { AuditedRequest } from "../../support/kube-audit.ts";
import { isRight, judge, type Play, type PlayedNode, pausedDeadline } from "./judge.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const at = (second: number) => START + second * 1000;
const UNREACHABLE = "node.kubernetes.io/unreachable";
const GRACE_MS = 12_000;

const REQUEST: AuditedRequest = {
  user: "controller",
  verb: "patch",
  apiGroup: "",
  resource: "nodes",
  namespace: "",
  name: "n",
  receivedAt: START,
  answeredAt: START,
  status: 200,
  isDryRun: false,
  answer: null,
};
const NODE: PlayedNode = {
  name: "n",
  group: "g",
  silentAt: at(0),
  pod: "on-n",
  tolerates: new Map([
    [UNREACHABLE, 20],
    ["maintenance", 5],
  ]),
  userTaints: [],
};

function taintedAt(second: number): AuditedRequest {
  const spec = { taints: [{ key: UNREACHABLE, effect: "NoExecute" }] };
  return { ...REQUEST, receivedAt: at(second), answer: { kind: "Node", metadata: { name: "n" }, spec } };
}

function unknownAt(second: number, since = second): AuditedRequest {
  const lastTransitionTime = new Date(at(since)).toISOString();
  const status = { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime }] };
  const answer = { kind: "Node", metadata: { name: "n" }, status };
  return { ...REQUEST, resource: "nodes/status", receivedAt: at(second), answer };
}

function deletedAt(second: number): AuditedRequest {
  return { ...REQUEST, verb: "delete", resource: "pods", name: "on-n", receivedAt: at(second) };
}

interface Case {
  readonly right: { readonly pods?: "stay" | "go"; readonly unknown: "never" | "once" | "either" };
  readonly writes: readonly AuditedRequest[];
  readonly node?: Partial<PlayedNode>;
  readonly play?: Partial<Play>;
}

function outcomeOf({ right, writes, node, play }: Case) {
  const incident = { name: "i", title: "", reports: [], seen: "", groups: {}, timeline: [], because: "" };
  return judge({
    incident: { ...incident, right: { g: right } },
    nodes: [{ ...NODE, ...node }],
    startedAt: START,
    endedAt: at(100),
    outages: [],
    refusals: [],
    writes,
    graceMs: GRACE_MS,
    missed: [],
    worksAfter: true,
    ...play,
  });
}

describe("a pod that goes", () => {
  const right = { pods: "go", unknown: "either" } as const;

  test.each([
    ["in time", [taintedAt(10), deletedAt(31)], { rightly: 1 }],
    ["too early", [taintedAt(10), deletedAt(27)], { wrong: ["on-n at 27 s, due at 30 s"] }],
    ["too late", [taintedAt(10), deletedAt(39)], { missing: ["on-n at 39 s, due at 30 s"] }],
    ["never", [taintedAt(10)], { missing: ["on-n, due at 30 s"] }],
    ["without a taint", [deletedAt(31)], { wrong: ["on-n at 31 s, never due"] }],
  ])("%s", (_name, writes, expected) => {
    expect(outcomeOf({ right, writes })).toMatchObject({ wrong: [], missing: [], ...expected });
  });

  test("by a user's taint, whose countdown no outage pauses", () => {
    const node = { userTaints: [{ key: "maintenance", at: at(10) }] };
    const play = { outages: [{ from: at(11), to: at(40) }] };
    expect(outcomeOf({ right, writes: [deletedAt(16)], node, play }).rightly).toBe(1);
  });

  test("of a dead node, whether an outage pauses its countdown or not", () => {
    const play = { outages: [{ from: at(20), to: at(50) }] };
    const of = (second: number) => outcomeOf({ right, writes: [taintedAt(10), deletedAt(second)], play });
    expect([27, 30, 62, 71].map((second) => of(second).rightly)).toEqual([0, 1, 1, 0]);
  });

  test("counts from the first taint, though the controller removed it", () => {
    const writes = [taintedAt(10), { ...taintedAt(12), answer: null }, taintedAt(20), deletedAt(41)];
    expect(outcomeOf({ right, writes }).missing).toEqual(["on-n at 41 s, due at 30 s"]);
  });

  test("after the time in which deletions were refused", () => {
    const play = { refusals: [{ from: at(20), to: at(50) }] };
    expect(outcomeOf({ right, writes: [taintedAt(10), deletedAt(51)], play }).rightly).toBe(1);
  });
});

describe("verdicts", () => {
  test("one of a dead node is right, another is not", () => {
    const writes = [unknownAt(12), unknownAt(40)];
    const outcome = outcomeOf({ right: { pods: "stay", unknown: "once" }, writes });
    expect(outcome).toMatchObject({ falseVerdicts: ["n at 40 s"], notFound: [], verdictSeconds: [12] });
  });

  test("none of a dead node is a fault", () => {
    expect(outcomeOf({ right: { pods: "stay", unknown: "once" }, writes: [] }).notFound).toEqual(["n"]);
  });

  test("a write beside an old Unknown is none", () => {
    expect(isRight(outcomeOf({ right: { pods: "stay", unknown: "never" }, writes: [unknownAt(12, -500)] }))).toBe(true);
  });
});

test("a pod that stays is counted once, however often it is deleted", () => {
  const outcome = outcomeOf({ right: { pods: "stay", unknown: "never" }, writes: [deletedAt(3), deletedAt(4)] });
  expect(outcome.wrong).toEqual(["on-n at 3 s, 2 times"]);
});

test.each([
  ["runs without an outage", [], 300],
  ["pauses in an outage", [{ from: 100, to: 700 }], 900],
  ["leaves the grace after an outage", [{ from: 299, to: 700 }], 712],
  ["ignores an outage after its end", [{ from: 301, to: 700 }], 300],
  ["that begins in an outage runs from its end", [{ from: -5, to: 700 }], 1000],
])("a countdown %s", (_name, outages, expected) => {
  const times = outages.map(({ from, to }) => ({ from: at(from), to: at(to) }));
  expect(pausedDeadline({ beganAt: at(0), forMs: 300_000 }, times, GRACE_MS)).toBe(at(expected));
});
