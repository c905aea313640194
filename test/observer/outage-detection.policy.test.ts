/** What heartbeats say of the time in which no node could be heard. */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX } from "../../protocols/bounds.ts";
import { UNKNOWN_START_AT } from "../../services/domain/paused-time/outages.ts";
import {
  acceptedAt,
  countingSinceAt,
  endsGap,
  isCounting,
  orderedStamps,
  outagesIn,
  pastStamps,
} from "../../services/observer/outage-detection.policy.ts";
import { noExecute, observedNode } from "../support/observed-objects.ts";

const NOW_AT = 1_000_000;

describe("a heartbeat that is found after a gap", () => {
  test.each([
    ["counts at its stamp", 800_000, 800_000],
    ["of a clock in the year 9999 counts now", INSTANT_MAX, NOW_AT],
    ["of a clock that is behind counts now", 400_000, NOW_AT],
    ["without a stamp counts now", null, NOW_AT],
    ["a little ahead counts now", NOW_AT + 1000, NOW_AT],
  ])("%s", (_what, stampAt, at) => {
    expect(acceptedAt(stampAt, 500_000, NOW_AT)).toBe(at);
  });
});

test("a stamp of the year 9999 says nothing at a start", () => {
  const stamps = [900_000, INSTANT_MAX, null, 100].map((at) => ({ by: "a", at }));
  expect(pastStamps(stamps, NOW_AT).map(({ at }) => at)).toEqual([900_000, 100]);
});

test("a kubelet whose clock is behind fills no hole in the history", () => {
  // One that is 300 s behind renews between honest ones after an outage from 100 s to 700 s.
  const honest = [100_000, 700_000, 710_000, 720_000];
  const history = [100_000, 700_000, 405_000, 710_000, 415_000, 720_000];
  const renewals = history.map((renewTime) => ({ node: "a", renewTime }));
  expect(orderedStamps(renewals, NOW_AT).map(({ at }) => at)).toEqual(honest);
});

test("a gap without any heartbeat is not over", () => {
  expect(outagesIn({ fromAt: 0, fromVersion: null, heard: [] }, { minMs: 20, nodes: 1 })).toEqual({
    outages: [],
    heardAt: null,
  });
});

describe("a gap", () => {
  const of = (...bys: string[]) => bys.map((by, index) => ({ by, at: 120 + index }));
  const live = { by: "a", at: 500, arrivedAt: 500 };
  const late = (...bys: string[]) => bys.map((by) => ({ by, at: 500 }));

  test.each([
    ["does not end with what one node of several stamped", of("a", "a"), 2, false],
    ["ends with what the only node stamped", of("a", "a"), 1, true],
    ["ends with what two nodes stamped", of("a", "b"), 9, true],
    ["ends with a heartbeat that arrives", [live], 9, true],
    ["does not end with stamps of few nodes after an outage", late("a", "b"), 9, false],
    ["ends with stamps of most nodes after an outage", late("a", "b"), 3, true],
    ["does not end with nothing", [], 1, false],
  ])("%s", (_what, heard, nodes, ends) => {
    expect(endsGap({ fromAt: 100, fromVersion: null, heard }, { minMs: 50, nodes })).toBe(ends);
  });
});

describe("an outage", () => {
  const S = 1_000;
  const heard = (...marks: readonly (readonly [by: string, second: number])[]) =>
    outagesIn(
      { fromAt: 100 * S, fromVersion: null, heard: marks.map(([by, at]) => ({ by, at: at * S })) },
      { minMs: 20 * S, nodes: 3 },
    );

  test("lasts until a second node is heard, whose clock may be the right one", () => {
    const { outages } = heard(["behind", 680], ["behind", 690], ["b", 700], ["c", 701]);
    expect(outages).toEqual([{ fromAt: 100 * S, toAt: 700 * S }]);
  });

  test("begins with the last heartbeat of a second node", () => {
    const { outages } = heard(["c", 110], ["b", 115], ["ahead", 125], ["ahead", 130], ["b", 700], ["c", 701]);
    expect(outages).toEqual([{ fromAt: 115 * S, toAt: 701 * S }]);
  });

  test("may have begun before the last stamp of one node alone", () => {
    expect(heard(["c", 110], ["b", 115], ["ahead", 125], ["ahead", 130]).heardAt).toBe(115 * S);
    expect(heard(["only", 110], ["only", 115]).heardAt).toBe(115 * S);
  });

  test("ends with a heartbeat that arrives where few others have stamps", () => {
    const found = [
      ["a", 500],
      ["b", 505],
    ].map(([by, at]) => ({ by: `${by}`, at: Number(at) * S }));
    const arrived = ["c", "d"].map((by) => ({ by, at: 700 * S, arrivedAt: 700 * S }));
    const gap = { fromAt: 100 * S, fromVersion: null, heard: [...found, ...arrived] };
    expect(outagesIn(gap, { minMs: 20 * S, nodes: 9 }).outages).toEqual([{ fromAt: 100 * S, toAt: 700 * S }]);
  });

  test("ends when a heartbeat arrives, not at the stamp of a slow clock", () => {
    const behind = [400, 410].map((at) => ({ by: "behind", at: at * S, arrivedAt: (at + 300) * S }));
    const gap = { fromAt: 100 * S, fromVersion: null, heard: behind };
    expect(outagesIn(gap, { minMs: 20 * S, nodes: 9 }).outages).toEqual([{ fromAt: 100 * S, toAt: 700 * S }]);
  });

  test("begins when nodes were surely heard, where few have stamps after that", () => {
    const ahead = [
      ["a", 115],
      ["b", 110],
    ].map(([by, at]) => ({ by: `${by}`, at: Number(at) * S }));
    const after = ["c", "d", "e"].map((by, index) => ({ by, at: (700 + index) * S }));
    const gap = { fromAt: 100 * S, fromVersion: null, heard: [...ahead, ...after] };
    expect(outagesIn(gap, { minMs: 20 * S, nodes: 5 }).outages).toEqual([{ fromAt: 100 * S, toAt: 701 * S }]);
    expect(outagesIn(gap, { minMs: 20 * S, nodes: 3 }).outages).toEqual([{ fromAt: 110 * S, toAt: 701 * S }]);
  });

  test("ends with the only node that is heard", () => {
    expect(heard(["a", 690], ["a", 700]).outages).toEqual([{ fromAt: 100 * S, toAt: 690 * S }]);
  });
});

describe("a countdown may run since", () => {
  test.each([
    ["the taint", observedNode("a", { ready: "Unknown", taints: [noExecute("node.kubernetes.io/unreachable")] })],
  ])("an unknown instant, if %s says none", (_what, node) => {
    expect([isCounting(node), countingSinceAt(node)]).toEqual([true, UNKNOWN_START_AT]);
  });

  test("none of a node that is ready and untainted", () => {
    expect(isCounting(observedNode("a"))).toBe(false);
  });
});
