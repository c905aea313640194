/** Which taints the conditions of a node call for: both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { ConditionSighting, ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import {
  type ConditionObservation,
  recordOf,
  sinceAt,
  withObservations,
} from "../../../services/node/concerns/conditions/condition-observations.ts";
import {
  type ConditionRules,
  conditionPlanOf,
} from "../../../services/node/concerns/conditions/condition-taints.policy.ts";
import type { PolicyFields } from "../../support/hand-policies.ts";
import { condition, nodeWith } from "../node-fixtures.ts";

const S = 1000;
const WALL = Date.UTC(2026, 0, 5, 12);
const NOW = 10_000_000;
const now = { nowMs: NOW, wallMs: WALL };
const KEY = "vigil.io/kernel-deadlock";
const FOREIGN = "example.com/deadlock";

type Rules = NonNullable<PolicyFields["unhealthyConditions"]>;

function rule(fields: Partial<Rules[number]> = {}, effect = "NoSchedule"): Rules[number] {
  const taint = { key: KEY, effect, value: "vigil" } as Rules[number]["taint"];
  return { type: "KernelDeadlock", status: "True", duration: "60s", taint, ...fields };
}

function policyOf(unhealthyConditions: Rules, healthyDelay?: string) {
  const delay = healthyDelay === undefined ? {} : { healthyDelay };
  return nodePolicyOf("gpu", { selector: {}, unhealthyConditions, ...delay });
}

/** A node with the condition, recorded so many seconds ago. */
function sick(status: ConditionStatus | null, agoS: number | null, fields: Partial<ObservedNode> = {}): ObservedNode {
  const conditions = [condition("Ready", "True"), ...(status === null ? [] : [condition("KernelDeadlock", status)])];
  const record = { type: "KernelDeadlock", status: status ?? "True", transitionAt: 0 } as const;
  const recorded = agoS === null ? {} : { conditionSightings: [{ ...record, since: WALL - agoS * S }] };
  return { ...nodeWith(null), createdAt: 0, conditions, ...recorded, ...fields };
}

const on = (effect: string, key = KEY): Pick<ObservedNode, "taints" | "conditionTaints"> => ({
  taints: [{ key, effect, value: "vigil" }],
  conditionTaints: { [`${key}:${effect}`]: "KernelDeadlock" },
});

function plan(node: ObservedNode, policy: ConditionRules | null, more: { mode?: "direct" } = {}) {
  const types = policy === null ? [] : policy.unhealthyConditions.map(({ type }) => type);
  const observations = withObservations(new Map(), node, types, { ...now, isUnbroken: true });
  return conditionPlanOf({ node, rules: policy, observations, evictionMode: more.mode ?? "taint", now });
}

describe("a taint is put on", () => {
  test.each([
    ["when its duration is over", "True", 60, [KEY], "due", null],
    ["not a millisecond before", "True", 59.999, [], "waiting", WALL + 1],
    ["not while nothing is recorded", "True", null, [], "waiting", WALL + 60 * S],
    ["not for another status", "False", 60, [], undefined, null],
    ["not for Unknown", "Unknown", 60, [], undefined, null],
    ["not without the condition", null, 60, [], undefined, null],
  ] as const)("%s", (_when, status, agoS, keys, state, untilAt) => {
    const { add, judged, nextAt } = plan(sick(status, agoS), policyOf([rule()]));
    expect(add.map(({ key }) => key)).toEqual(keys);
    expect(judged[0]?.state).toBe(state);
    expect(nextAt).toBe(untilAt ?? Number.POSITIVE_INFINITY);
  });

  test("by its zone if it evicts", () => {
    const { add, judged } = plan(sick("True", 60), policyOf([rule({}, "NoExecute")]));
    expect([add, judged[0]?.state]).toEqual([[], "due"]);
  });

  test("never in direct mode if it evicts", () => {
    const { judged, annotations } = plan(sick("True", null), policyOf([rule({}, "NoExecute")]), { mode: "direct" });
    expect([judged, annotations]).toEqual([[], null]);
  });

  test("once for several rules, with its value", () => {
    const taint = { key: KEY, effect: "NoSchedule", value: "vigil-deep" } as const;
    const rules = [rule({ taint }), rule({ taint, duration: "10s" })];
    expect(plan(sick("True", 60), policyOf(rules)).add).toEqual([taint]);
  });
});

const FOREIGN_TAINT = [{ key: KEY, effect: "NoSchedule" }];

describe("a taint that Vigil put on", () => {
  const policy = policyOf([rule()]);
  const delayed = policyOf([rule()], "30s");
  test.each([
    ["stays while the condition lasts", sick("True", 1, on("NoSchedule")), policy, "tainted"],
    ["stays when the condition disappears", sick(null, 90, on("NoSchedule")), policy, "missing"],
    ["stays when the condition is Unknown", sick("Unknown", 90, on("NoSchedule")), policy, "missing"],
    ["goes with another status", sick("False", null, on("NoSchedule")), policy, "gone"],
    ["waits for healthyDelay", sick("False", 29.999, on("NoSchedule")), delayed, "healing"],
    ["goes after healthyDelay", sick("False", 30, on("NoSchedule")), delayed, "gone"],
    ["waits for all of an unrecorded healthyDelay", sick("False", null, on("NoSchedule")), delayed, "healing"],
    ["goes with its rule", sick("True", 90, on("NoSchedule")), policyOf([]), "gone"],
    ["goes with its rule under any key", sick("True", 90, on("NoSchedule", FOREIGN)), policyOf([]), "gone"],
    [
      "stays if only a record says that it is Vigil's",
      sick("False", 90, { ...on("NoSchedule"), taints: FOREIGN_TAINT }),
      policyOf([rule({})]),
      "left",
    ],
    ["stays while two policies contradict", sick("True", 90, on("NoSchedule")), null, "left"],
  ] as const)("%s", (_what, node, rules, expected) => {
    const { remove, judged } = plan(node, rules);
    expect(remove.length === 0 ? judged[0]?.state : "gone").toBe(expected);
  });

  describe("and that two rules call for", () => {
    const other = { type: "ReadonlyFilesystem", transitionAt: 0 } as const;
    const rules = policyOf([rule(), rule({ type: other.type })], "30s");
    const of = (status: ConditionStatus | null, agoS: number | null) => {
      const first = sick("False", 3600, on("NoSchedule"));
      const record = { ...other, status: status ?? "True", since: WALL - (agoS ?? 0) * S };
      return {
        ...first,
        conditions: [...first.conditions, ...(status === null ? [] : [condition(other.type, status)])],
        conditionSightings: [...(first.conditionSightings ?? []), ...(agoS === null ? [] : [record])],
      };
    };
    test.each([
      ["stays for the second", of("True", 90), "tainted"],
      ["waits for the healthyDelay of the second", of("False", 29), "healing"],
      ["goes after that", of("False", 30), "gone"],
    ] as const)("%s", (_what, node, expected) => {
      const { remove, judged } = plan(node, rules);
      expect(remove.length === 0 ? judged[0]?.state : "gone").toBe(expected);
    });
  });

  test("is not one that somebody else put on", () => {
    const node = sick("False", null, { taints: [{ key: KEY, effect: "NoSchedule" }] });
    expect(plan(node, policy).remove).toEqual([]);
  });

  test("stays for its condition alone", () => {
    const rules = [rule(), rule({ type: "ReadonlyFilesystem" })];
    expect(plan(sick("False", null, on("NoSchedule")), policyOf(rules)).remove).toHaveLength(1);
    const both = sick("False", null, on("NoSchedule"));
    const conditions = [...both.conditions, condition("ReadonlyFilesystem", "True")];
    expect(plan({ ...both, conditions }, policyOf(rules)).remove).toEqual([]);
  });
});

describe("the record", () => {
  const text = (node: ObservedNode, policy = policyOf([rule()])) => plan(node, policy).annotations;
  test("begins when the condition is first seen", () => {
    const since = '{"KernelDeadlock":{"status":"True","since":"2026-01-05T12:00:00.000000Z"';
    expect(text(sick("True", null))?.["vigil.v1/conditions"]).toContain(since);
  });

  test("is not written again", () => {
    expect(text(sick("True", 10))).toBeNull();
  });

  test.each([
    ["the condition has another status", sick("False", 10)],
    ["it is gone", sick(null, 10)],
  ])("goes when %s", (_what, node) => {
    expect(text(node)).toEqual({ "vigil.v1/conditions": null });
  });

  test("of a taint that somebody took off goes", () => {
    const node = { ...sick(null, null), conditionTaints: { [`${KEY}:NoSchedule`]: "KernelDeadlock" } };
    expect(text(node)).toEqual({ "vigil.v1/condition-taints": null });
  });
});

describe("a condition counts", () => {
  const type = "KernelDeadlock";
  const see = (
    node: ObservedNode,
    before: ReadonlyMap<string, ConditionObservation>,
    atMs: number,
    isUnbroken = true,
  ) => withObservations(before, node, [type], { nowMs: NOW + atMs, wallMs: WALL + atMs, isUnbroken });
  const since = (seen: ReadonlyMap<string, ConditionObservation>, atMs = 0) => {
    const observation = seen.get(type);
    return observation === undefined ? null : sinceAt(observation, { nowMs: NOW + atMs, wallMs: WALL + atMs }) - WALL;
  };
  const recorded = (fields: Partial<ConditionSighting>): ObservedNode => {
    const record = { type, status: "True" as const, since: WALL - 50 * S, transitionAt: 0, ...fields };
    return { ...sick("True", null), createdAt: WALL - 60 * S, conditionSightings: [record] };
  };

  test.each([
    ["from its record", {}, -50 * S],
    ["from now if the record is in the future", { since: WALL + 1 }, 0],
    ["from now if the record is older than the node", { since: WALL - 61 * S }, 0],
    ["from now if it has made a transition since", { transitionAt: 5000 }, 0],
    ["from now if the record is about another status", { status: "False" as const }, 0],
  ])("%s when it is found", (_what, fields, at) => {
    expect(since(see(recorded(fields), new Map(), 0))).toBe(at);
  });

  test("from its change when that is seen", () => {
    const fine = see(sick("False", null), new Map(), 0);
    const seen = see(recorded({}), fine, 5 * S);
    expect(since(seen, 5 * S)).toBe(5 * S);
    const observation = seen.get(type);
    const at = { nowMs: NOW + 5 * S, wallMs: WALL + 5 * S };
    const record = (ms: number) => observation && recordOf(recorded({ since: WALL + ms }), type, observation, at);
    expect([record(3999), record(4000), record(6000), record(6001)].map((each) => each != null)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  test("on when its transition is stamped again, but not over a gap", () => {
    const first = see(sick("True", null), new Map(), 0);
    const restamped = { ...sick("True", null), conditions: [condition(type, "True", { transitionAt: 7000 })] };
    expect(since(see(restamped, first, 9 * S), 9 * S)).toBe(0);
    expect(since(see(restamped, first, 9 * S, false), 9 * S)).toBe(9 * S);
  });

  test("later when the clock turns out to have been behind", () => {
    const seen = see(sick("True", null), new Map(), 0).get(type);
    const corrected = { nowMs: NOW + 10 * S, wallMs: WALL + 310 * S };
    expect(seen && sinceAt(seen, corrected) - WALL).toBe(300 * S);
  });
});
