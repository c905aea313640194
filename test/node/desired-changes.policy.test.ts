/** What is wished for a node as a whole, and what of it may be asked for while nothing can be seen. */
import { describe, expect, test } from "vitest";
import {
  desiredChangesOf,
  harmlessChanges,
  isHarmless,
  type NodeSituation,
} from "../../services/node/desired-changes.policy.ts";
import { observedPod } from "../support/observed-objects.ts";
import { condition, nodeWith, taint } from "./node-fixtures.ts";

const [NOT_READY, UNREACHABLE] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const [NO_EXECUTE, NO_SCHEDULE] = ["NoExecute", "NoSchedule"];

function wishes(fields: Partial<NodeSituation>) {
  const node = nodeWith("True");
  const rest = { pods: [], bound: null, isSilent: false, eviction: "unmarked", evictionMode: "taint" } as const;
  return desiredChangesOf({ node, ...rest, ...fields });
}

test("conditions are forced on a silent node alone", () => {
  expect(wishes({}).conditions).toEqual([]);
  expect(wishes({ isSilent: true }).conditions.map(({ type }) => type)).toContain("Ready");
});

describe("pods are deleted from a node directly", () => {
  const pods = [observedPod("p")];
  test.each([
    ["direct", "evicted", ["p"]],
    ["direct", "toBeEvicted", []],
    ["direct", "unmarked", []],
    ["taint", "evicted", []],
  ] as const)("in %s mode when it is %s: %j", (evictionMode, eviction, names) => {
    expect(wishes({ pods, evictionMode, eviction }).evictions.map(({ name }) => name)).toEqual(names);
  });

  test("not from one that was drained and has lost its Ready condition since (R2.23)", () => {
    const drained = { node: nodeWith(null), pods, evictionMode: "direct", eviction: "evicted" } as const;
    expect(wishes(drained).evictions).toEqual([]);
  });

  test("not before they are known", () => {
    expect(wishes({ pods: null, evictionMode: "direct", eviction: "evicted" }).evictions).toEqual([]);
  });
});

describe("while nothing can be seen", () => {
  const cordoned = { unschedulable: true };
  const labels = { "kubernetes.io/os": "linux" };

  test("a node that is lost is asked nothing about but its labels", () => {
    const lost = wishes({
      node: nodeWith("Unknown", { labels, taints: [taint(NOT_READY, NO_EXECUTE)] }),
      pods: [observedPod("p")],
      isSilent: true,
      eviction: "evicted",
      evictionMode: "direct",
    });
    expect(isHarmless(lost)).toBe(false);
    expect(harmlessChanges(lost)).toEqual({
      conditions: [],
      taints: null,
      labels: { "beta.kubernetes.io/os": "linux" },
      unready: [],
      evictions: [],
    });
  });

  test.each([
    ["is silent", { isSilent: true }],
    ["has pods to mark", { node: nodeWith("Unknown"), pods: [observedPod("p")] }],
    ["is drained", { pods: [observedPod("p")], eviction: "evicted", evictionMode: "direct" }],
    ["is cordoned", { node: nodeWith("True", cordoned) }],
    ["has its taint swapped", { node: nodeWith("False", { taints: [taint(UNREACHABLE, NO_EXECUTE)] }) }],
  ] as const)("something is left out of a node that %s", (_what, fields) => {
    expect(isHarmless(wishes(fields))).toBe(false);
  });

  test("a node that is well again is freed of all its taints, and nothing is left out", () => {
    const taints = [taint(UNREACHABLE, NO_EXECUTE), taint(UNREACHABLE, NO_SCHEDULE)];
    const healed = wishes({ node: nodeWith("True", { taints }) });
    expect(isHarmless(healed)).toBe(true);
    expect(harmlessChanges(healed)).toEqual(healed);
    expect(healed.taints?.remove).toHaveLength(2);
  });

  test("one that is well again and cordoned is freed of what evicts, and gets its new taint later", () => {
    const taints = [taint(UNREACHABLE, NO_EXECUTE), taint(UNREACHABLE, NO_SCHEDULE)];
    const healed = wishes({ node: nodeWith("True", { ...cordoned, taints }) });
    expect(harmlessChanges(healed).taints).toEqual({
      add: [],
      remove: [{ key: UNREACHABLE, effect: NO_EXECUTE }],
      why: "healing",
    });
  });

  test("no taint is swapped or set for another that evicts nobody", () => {
    const swapped = nodeWith("False", { taints: [taint(UNREACHABLE, NO_EXECUTE)] });
    expect(wishes({ node: swapped }).taints?.why).toBe("swap");
    expect(harmlessChanges(wishes({ node: swapped })).taints).toBeNull();
    const pressed = nodeWith("True", { conditions: [condition("Ready", "True"), condition("DiskPressure", "True")] });
    expect(wishes({ node: pressed }).taints?.why).toBe("conditions");
    expect(harmlessChanges(wishes({ node: pressed })).taints).toBeNull();
  });
});
