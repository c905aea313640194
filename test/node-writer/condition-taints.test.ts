/** Which taints of conditions the node-writer puts on and takes off: it checks each on the live node. */
import { describe, expect, test } from "vitest";
import type { ObservedNode } from "../../protocols/objects.ts";
import { apiMicroTime } from "../../services/domain/api-time.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";
import { forbiddenChange } from "../../services/node-writer/allowed-changes.policy.ts";
import { decideLabels, decideTaints } from "../../services/node-writer/node-writer.policy.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import { condition, nodeWith } from "../node/node-fixtures.ts";
import { NODE, Scene } from "./node-writer-scene.ts";

const S = 1000;
const WALL = Date.UTC(2026, 0, 5, 12);
const KEY = "vigil.io/deadlock";
const TAINT = { key: KEY, effect: "NoSchedule", value: "vigil" };
const TYPE = "KernelDeadlock";
const RECORD = "vigil.v1/condition-taints";

const unhealthyConditions = (["NoSchedule", "NoExecute"] as const).map((effect) => {
  return { type: TYPE, status: "True" as const, duration: "60s", taint: { key: KEY, effect } };
});
const POLICIES = policySet([nodePolicyOf("gpu", { selector: {}, unhealthyConditions })]);

/** A node with the condition since so many seconds. */
function sick(agoS: number, fields: Partial<ObservedNode> = {}): ObservedNode {
  const conditions = [condition("Ready", "True"), condition(TYPE, "True")];
  const conditionSightings = [{ type: TYPE, status: "True" as const, since: WALL - agoS * S, transitionAt: 0 }];
  return { ...nodeWith(null), policyLabels: POLICIES.labelsChecksum, conditions, conditionSightings, ...fields };
}

type Ids = { readonly key: string; readonly effect: string; readonly value?: string }[];
type Why = "conditions" | "granted" | "healing";

function ask(node: ObservedNode, change: { add?: Ids; remove?: Ids; why?: Why }) {
  const { node: name, uid, resourceVersion, taints } = node;
  const { add = [], remove = [], why = "conditions" } = change;
  return { node: name, uid, resourceVersion, taints, add, remove, ready: "True" as const, why };
}

function decided(node: ObservedNode, change: Parameters<typeof ask>[1], policies: typeof POLICIES | null = POLICIES) {
  const decision = decideTaints(ask(node, change), node, WALL, policies);
  if (decision.kind !== "write") return decision.kind;
  return { change: decision.change, record: decision.body.metadata.annotations?.[RECORD] };
}

const own = { taints: [TAINT], conditionTaints: { [`${KEY}:NoSchedule`]: TYPE } };

describe("a taint is put on", () => {
  const put = { change: `taints: +${KEY}:NoSchedule`, record: `{"${KEY}:NoSchedule":"${TYPE}"}` };
  test.each([
    ["when the condition has lasted, with its record", sick(60), put],
    ["up to two seconds early, for clocks are apart", sick(58), put],
    ["not earlier", sick(57.999), "refused"],
    ["not without the record", sick(60, { conditionSightings: [] }), "refused"],
    [
      "not with another status",
      sick(60, { conditions: [condition("Ready", "True"), condition(TYPE, "False")] }),
      "refused",
    ],
    ["not again", sick(60, { taints: [TAINT] }), "ok"],
  ])("%s", (_when, node, expected) => {
    expect(decided(node, { add: [TAINT] })).toEqual(expected);
  });

  test("not unless its policy says so", () => {
    expect(decided(sick(60), { add: [{ key: "vigil.io/other", effect: "NoSchedule" }] })).toBe("refused");
    expect(decided(sick(60), { add: [{ ...TAINT, value: "deep" }] })).toBe("refused");
    expect(decided(sick(60), { add: [TAINT] }, policySet([]))).toBe("refused");
    expect(decided(sick(60), { add: [TAINT] }, null)).toBe("refused");
  });

  test("beside one that is refused", () => {
    const pressure = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };
    expect(decided(sick(0), { add: [pressure, TAINT] })).toMatchObject({
      change: "taints: +node.kubernetes.io/memory-pressure:NoSchedule",
    });
  });
});

describe("a taint that evicts for a condition", () => {
  const EVICTING = { key: KEY, effect: "NoExecute", value: "vigil" };

  test.each([
    ["is put on while the condition stays", { status: "True", reason: "Hung" }, true],
    ["is not put on if the condition ends meanwhile", { status: "False" }, false],
  ])("%s", (_what, change, isOn) => {
    const scene = new Scene({}, { policies: fixedPolicies(POLICIES) });
    const conditions = [{ type: TYPE, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const since = apiMicroTime(scene.cluster.clock.wallMs());
    const annotations = { "vigil.v1/conditions": JSON.stringify({ [TYPE]: { status: "True", since } }) };
    scene.cluster.patch(NODE, { metadata: { annotations } });
    scene.cluster.patch(NODE, { status: { conditions } }, "status");
    scene.cluster.advance(60 * S);
    scene.askSlowly(scene.taintAsk({ add: [EVICTING], why: "granted" }), () => {
      scene.cluster.patch(NODE, { status: { conditions: [{ type: TYPE, ...change }] } }, "status");
    });
    expect(scene.cluster.taints("node-1").includes(`${KEY}:NoExecute`)).toBe(isOn);
  });
});

describe("a taint is taken off", () => {
  const healing = (node: ObservedNode, policies: typeof POLICIES | null = POLICIES, id: Ids[number] = TAINT) =>
    decided(node, { remove: [id], why: "healing" }, policies);
  test("with its record", () => {
    expect(healing(sick(60, own))).toEqual({ change: `taints: -${KEY}:NoSchedule`, record: null });
  });

  test("if Vigil put it on", () => {
    expect(healing(sick(60, { taints: [TAINT] }))).toBe("refused");
  });

  test.each([
    ["with Vigil's value", KEY, "vigil", true],
    ["with Vigil's value under any key", "dedicated", "vigil", true],
    ["with a value of its rule, which has gone", KEY, "vigil-deep", true],
    ["not without a value, as somebody else puts it on", KEY, undefined, false],
    ["not with another value", KEY, "vigilant", false],
  ])("where no policy names it, %s", (_which, key, value, isTakenOff) => {
    const id = { key, effect: "NoSchedule", ...(value !== undefined && { value }) };
    const node = sick(60, { taints: [id], conditionTaints: { [`${key}:NoSchedule`]: TYPE } });
    expect(healing(node, policySet([]), id) !== "refused").toBe(isTakenOff);
  });

  test("not if another client added it, whatever is recorded", () => {
    const forged = sick(60, { ...own, taints: [{ key: KEY, effect: "NoSchedule" }] });
    expect(healing(forged)).toBe("refused");
  });
});

test.each([
  ["a grant adds one taint that evicts", "granted", "NoExecute", true],
  ["a grant adds no other", "granted", "NoSchedule", false],
  ["conditions add one that does not evict", "conditions", "NoSchedule", true],
  ["conditions add none that evicts", "conditions", "NoExecute", false],
  ["healing adds none", "healing", "NoSchedule", false],
] as const)("%s", (_what, why, effect, isAllowed) => {
  const body = ask(sick(60), { add: [{ key: KEY, effect }], why });
  const profile = { evictionMode: "taint", upstream: "replace" } as const;
  expect(forbiddenChange({ type: "asked.taint", body }, profile) === null).toBe(isAllowed);
  expect(forbiddenChange({ type: "asked.taint", body }, { ...profile, upstream: "beside" })).not.toBeNull();
});

test.each([
  ["of a condition that the node has", "True", "write"],
  ["of another status", "False", "refused"],
])("a record %s: %s", (_what, status, kind) => {
  const node = sick(60);
  const text = JSON.stringify({ [TYPE]: { status, since: "2026-01-05T12:00:00.000000Z" } });
  const { node: name, uid, resourceVersion } = node;
  const annotations = { "vigil.v1/conditions": text };
  expect(decideLabels({ node: name, uid, resourceVersion, labels: {}, annotations }, node, { name }).kind).toBe(kind);
});
