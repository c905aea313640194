/** All desired changes of a node, and which of them may be requested while blind. */
import { describe, expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { NOTHING_FOUND } from "../../services/node/concerns/concern.ts";
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

const DIRECT = { evictionMode: "direct", upstream: "replace" };
const BESIDE = { evictionMode: "taint", upstream: "beside" };

function desired(fields: Partial<NodeSituation>) {
  const node = nodeWith("True");
  const rest = { pods: [], bound: null, isSilent: false, eviction: "unmarked", profile: STANDARD_PROFILE } as const;
  return desiredChangesOf({ node, findings: NOTHING_FOUND, ...rest, ...fields });
}

test("conditions are forced only on a silent node", () => {
  expect(desired({}).conditions).toEqual([]);
  expect(desired({ isSilent: true }).conditions.map(({ type }) => type)).toContain("Ready");
});

describe("a node's pods are deleted", () => {
  const pods = [observedPod("p")];
  test.each([
    ["direct", "evicted", ["p"]],
    ["direct", "toBeEvicted", []],
    ["direct", "unmarked", []],
    ["taint", "evicted", []],
  ] as const)("in %s mode when it is %s: %j", (evictionMode, eviction, names) => {
    const profile = { evictionMode, upstream: "replace" };
    expect(desired({ pods, profile, eviction }).evictions.map(({ name }) => name)).toEqual(names);
  });

  test("not if it lost its Ready condition since (R2.23)", () => {
    const drained = { node: nodeWith(null), pods, profile: DIRECT, eviction: "evicted" } as const;
    expect(desired(drained).evictions).toEqual([]);
  });

  test("not before they are known", () => {
    expect(desired({ pods: null, profile: DIRECT, eviction: "evicted" }).evictions).toEqual([]);
  });
});

describe("beside upstream", () => {
  const pods = [observedPod("p")];
  const names = (fields: Partial<NodeSituation>) =>
    desired({ pods, profile: BESIDE, ...fields }).unready.map(({ name }) => name);

  test("a silent node is forced Unknown as usual", () => {
    const silent = { isSilent: true } as const;
    expect(desired({ ...silent, profile: BESIDE }).conditions).toEqual(desired(silent).conditions);
  });

  test.each([
    ["carries a wrong NoExecute taint", nodeWith("False", { taints: [taint(UNREACHABLE, NO_EXECUTE)] })],
    ["is ready and tainted", nodeWith("True", { taints: [taint(UNREACHABLE, NO_EXECUTE)] })],
    ["is cordoned", nodeWith("True", { unschedulable: true })],
    ["has a new label without its old name", nodeWith("True", { labels: { "kubernetes.io/os": "linux" } })],
  ])("taints and labels of a node that %s are upstream's", (_what, node) => {
    expect(desired({ node }).taints ?? desired({ node }).labels).not.toBeNull();
    expect(desired({ node, profile: BESIDE })).toMatchObject({ taints: null, labels: null });
  });

  test("an Unknown node's pods are marked; a NotReady one's are not", () => {
    expect(names({ node: nodeWith("Unknown") })).toEqual(["p"]);
    const bound = { pods, known: new Set(["uid-p"]), unmarked: new Set(["uid-p"]) };
    expect(desired({ node: nodeWith("False"), pods, bound }).unready).toHaveLength(1);
    expect(names({ node: nodeWith("False"), bound })).toEqual([]);
    expect(names({ node: nodeWith("True") })).toEqual([]);
  });
});

describe("while blind", () => {
  const cordoned = { unschedulable: true };
  const labels = { "kubernetes.io/os": "linux" };

  test("an unknown node gets no change but its labels", () => {
    const lost = desired({
      node: nodeWith("Unknown", { labels, taints: [taint(NOT_READY, NO_EXECUTE)] }),
      pods: [observedPod("p")],
      isSilent: true,
      eviction: "evicted",
      profile: DIRECT,
    });
    expect(isHarmless(lost)).toBe(false);
    expect(harmlessChanges(lost)).toEqual({
      conditions: [],
      taints: null,
      labels: { "beta.kubernetes.io/os": "linux" },
      annotations: null,
      unready: [],
      evictions: [],
    });
  });

  test.each([
    ["is silent", { isSilent: true }],
    ["has pods to mark", { node: nodeWith("Unknown"), pods: [observedPod("p")] }],
    ["is drained", { pods: [observedPod("p")], eviction: "evicted", profile: DIRECT }],
    ["is cordoned", { node: nodeWith("True", cordoned) }],
    ["has its taint swapped", { node: nodeWith("False", { taints: [taint(UNREACHABLE, NO_EXECUTE)] }) }],
  ] as const)("a change is held back for a node that %s", (_what, fields) => {
    expect(isHarmless(desired(fields))).toBe(false);
  });

  test("a node that is Ready again loses all its taints", () => {
    const taints = [taint(UNREACHABLE, NO_EXECUTE), taint(UNREACHABLE, NO_SCHEDULE)];
    const healed = desired({ node: nodeWith("True", { taints }) });
    expect(isHarmless(healed)).toBe(true);
    expect(harmlessChanges(healed)).toEqual(healed);
    expect(healed.taints?.remove).toHaveLength(2);
  });

  test("a cordoned Ready node loses NoExecute; its cordon's taint waits", () => {
    const taints = [taint(UNREACHABLE, NO_EXECUTE), taint(UNREACHABLE, NO_SCHEDULE)];
    const healed = desired({ node: nodeWith("True", { ...cordoned, taints }) });
    expect(harmlessChanges(healed).taints).toEqual({
      add: [],
      remove: [{ key: UNREACHABLE, effect: NO_EXECUTE }],
      why: "healing",
    });
  });

  test("no taint is swapped or added", () => {
    const swapped = nodeWith("False", { taints: [taint(UNREACHABLE, NO_EXECUTE)] });
    expect(desired({ node: swapped }).taints?.why).toBe("swap");
    expect(harmlessChanges(desired({ node: swapped })).taints).toBeNull();
    const pressed = nodeWith("True", { conditions: [condition("Ready", "True"), condition("DiskPressure", "True")] });
    expect(desired({ node: pressed }).taints?.why).toBe("conditions");
    expect(harmlessChanges(desired({ node: pressed })).taints).toBeNull();
  });
});
