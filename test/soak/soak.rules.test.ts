/** The rules of the soak catch breaches and let right changes pass. */
import { describe, expect, test } from "vitest";
import { deletionProblem, finalProblems, rateProblems, type SeenTaint, verdictProblem } from "./soak.rules.ts";

const SETTINGS = { graceMs: 20_000, tolerationMs: 15_000, taintsPerSecond: 1, crossingMs: 3_000 };
const SILENT = [{ fromMs: 100_000, toMs: 200_000 }];
const taint = (addedMs: number): SeenTaint => ({ node: "n", zone: "a", key: "k", addedMs });

describe("a verdict", () => {
  test.each([
    ["on a live node is wrong", 50_000, 45_000, "is live"],
    ["before the grace has ended is wrong", 113_000, 95_000, "1000 ms before"],
    ["after the last renewal plus the grace is right", 114_000, 95_000, null],
    ["that crosses with the return is right", 202_000, 201_000, null],
    ["after the return is wrong", 204_000, 201_000, "is live"],
    ["before a renewal of the kubelet that is back is right", 199_000, 201_000, null],
  ])("%s", (_what, atMs, renewedMs, problem) => {
    const found = verdictProblem({ node: "n", atMs, renewedMs }, SILENT, SETTINGS);
    expect(found).toEqual(problem === null ? null : expect.stringContaining(problem));
  });
});

describe("a deletion", () => {
  const at = (atMs: number, taints: readonly SeenTaint[]) =>
    deletionProblem({ pod: "p", node: "n", atMs }, { silences: SILENT, taints }, SETTINGS);

  test("on a live node is wrong", () => expect(at(90_000, [taint(80_000)])).toContain("live node"));
  test("without a taint of this silence is wrong", () =>
    expect(at(150_000, [taint(80_000)])).toContain("no NoExecute"));
  test("before the toleration ends is wrong", () => expect(at(140_000, [taint(130_000)])).toContain("4000 ms before"));
  test("when the toleration has ended is right", () => expect(at(144_000, [taint(130_000)])).toBeNull());
});

describe("the taints of a zone", () => {
  test("may be one token and the rate", () => {
    expect(rateProblems([0, 1000, 2000].map(taint), SETTINGS)).toEqual([]);
  });
  test("are too many beyond that", () => {
    expect(rateProblems([0, 1000, 1000, 1000].map(taint), SETTINGS)).not.toEqual([]);
  });
});

describe("at the end", () => {
  const unreachable = ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"];

  test.each([
    ["a live node that is well is right", { ready: "True", taints: [], staying: ["p"] }, true, 0],
    ["a live node that carries a taint is wrong", { ready: "True", taints: unreachable, staying: [] }, true, 2],
    ["a silent node that is drained is right", { ready: "Unknown", taints: unreachable, staying: [] }, false, 0],
    ["a silent node that still shows Ready is wrong", { ready: "True", taints: [], staying: ["p"] }, false, 4],
  ])("%s", (_what, node, isLive, problems) => {
    expect(finalProblems({ name: "n", ...node }, isLive)).toHaveLength(problems);
  });
});
