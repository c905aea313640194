/** The taints and labels that follow from a node's conditions, as tables. */
import { describe, expect, test } from "vitest";
import type { ConditionStatus, TaintId } from "../../protocols/objects.ts";
import { desiredNoScheduleKeys, labelChangeOf, taintChangeOf } from "../../services/node/taint.policy.ts";
import { condition, nodeWith, taint } from "./node-fixtures.ts";

const K8S = "node.kubernetes.io";
const NOT_READY = `${K8S}/not-ready`;
const UNREACHABLE = `${K8S}/unreachable`;

/** Taint ids from `key:effect`. */
function ids(...texts: string[]): TaintId[] {
  return texts.map((text) => ({ key: text.slice(0, text.indexOf(":")), effect: text.slice(text.indexOf(":") + 1) }));
}

describe("desired taints (R4.18)", () => {
  const cases: [string, ConditionStatus, string[]][] = [
    ["Ready", "True", []],
    ["Ready", "False", [NOT_READY]],
    ["Ready", "Unknown", [UNREACHABLE]],
    ["MemoryPressure", "True", [`${K8S}/memory-pressure`]],
    ["MemoryPressure", "False", []],
    ["MemoryPressure", "Unknown", []],
    ["DiskPressure", "True", [`${K8S}/disk-pressure`]],
    ["DiskPressure", "Unknown", []],
    ["PIDPressure", "True", [`${K8S}/pid-pressure`]],
    ["PIDPressure", "Unknown", []],
    ["NetworkUnavailable", "True", [`${K8S}/network-unavailable`]],
    ["NetworkUnavailable", "Unknown", []],
    ["example.com/Custom", "True", []],
  ];
  test.each(cases)("of %s=%s", (type, status, keys) => {
    expect(desiredNoScheduleKeys(nodeWith(null, { conditions: [condition(type, status)] }))).toEqual(keys);
  });

  test("come in the order of the conditions, the cordon last", () => {
    const conditions = [
      condition("PIDPressure", "True"),
      condition("Ready", "False"),
      condition("DiskPressure", "True"),
    ];
    expect(desiredNoScheduleKeys(nodeWith(null, { conditions, unschedulable: true }))).toEqual([
      `${K8S}/pid-pressure`,
      NOT_READY,
      `${K8S}/disk-pressure`,
      `${K8S}/unschedulable`,
    ]);
  });

  test("name a key once when a condition appears twice", () => {
    const conditions = [condition("Ready", "False"), condition("Ready", "False")];
    expect(desiredNoScheduleKeys(nodeWith(null, { conditions }))).toEqual([NOT_READY]);
  });
});

/** A Ready status, the present taints, and the change that follows. */
const CHANGES: [string, ConditionStatus | null, string[], ReturnType<typeof taintChangeOf>][] = [
  ["a ready node without taints needs nothing", "True", [], null],
  [
    "a node without Ready loses the taint of its admission (R4.22)",
    null,
    [`${NOT_READY}:NoSchedule`],
    { add: [], remove: ids(`${NOT_READY}:NoSchedule`), why: "healing" },
  ],
  ["a node without Ready keeps its NoExecute taints", null, [`${NOT_READY}:NoExecute`], null],
  [
    "a ready node loses both NoExecute taints (R4.33)",
    "True",
    [`${UNREACHABLE}:NoExecute`, `${NOT_READY}:NoExecute`],
    { add: [], remove: ids(`${NOT_READY}:NoExecute`, `${UNREACHABLE}:NoExecute`), why: "healing" },
  ],
  [
    "a node that is not ready keeps its right NoExecute taint (L4)",
    "False",
    [`${NOT_READY}:NoSchedule`, `${NOT_READY}:NoExecute`],
    null,
  ],
  [
    "an unknown node keeps its right NoExecute taint (L4)",
    "Unknown",
    [`${UNREACHABLE}:NoSchedule`, `${UNREACHABLE}:NoExecute`],
    null,
  ],
  [
    "the opposite NoExecute taint is swapped in one patch (L20)",
    "Unknown",
    [`${UNREACHABLE}:NoSchedule`, `${NOT_READY}:NoExecute`],
    { add: ids(`${UNREACHABLE}:NoExecute`), remove: ids(`${NOT_READY}:NoExecute`), why: "swap" },
  ],
  [
    "if both stand, the wrong one goes and the right one keeps its time (P3)",
    "False",
    [`${NOT_READY}:NoSchedule`, `${NOT_READY}:NoExecute`, `${UNREACHABLE}:NoExecute`],
    { add: [], remove: ids(`${UNREACHABLE}:NoExecute`), why: "healing" },
  ],
  [
    "a first NoExecute taint is left to the zone",
    "Unknown",
    [],
    { add: ids(`${UNREACHABLE}:NoSchedule`), remove: [], why: "conditions" },
  ],
  [
    "a swap carries the NoSchedule change with it",
    "False",
    [`${UNREACHABLE}:NoSchedule`, `${UNREACHABLE}:NoExecute`],
    {
      add: ids(`${NOT_READY}:NoSchedule`, `${NOT_READY}:NoExecute`),
      remove: ids(`${UNREACHABLE}:NoSchedule`, `${UNREACHABLE}:NoExecute`),
      why: "swap",
    },
  ],
  [
    "a managed taint without its condition goes, even if a user set it (R4.21)",
    "True",
    [`${K8S}/disk-pressure:NoSchedule`],
    { add: [], remove: ids(`${K8S}/disk-pressure:NoSchedule`), why: "healing" },
  ],
  [
    "other effects of managed keys and foreign keys stay (R4.19, P4)",
    "True",
    [
      `${K8S}/disk-pressure:PreferNoSchedule`,
      `${K8S}/memory-pressure:NoExecute`,
      "example.com/a:NoSchedule",
      `${K8S}/out-of-service:NoExecute`,
    ],
    null,
  ],
];

describe("in taint mode", () => {
  test.each(CHANGES)("%s", (_what, ready, standing, change) => {
    const taints = ids(...standing).map(({ key, effect }) => taint(key, effect));
    expect(taintChangeOf(nodeWith(ready, { taints }), "taint")).toEqual(change);
  });

  test("an existing taint with another value stays as it is (R4.21)", () => {
    const taints = [taint(NOT_READY, "NoSchedule", { value: "why" })];
    expect(taintChangeOf(nodeWith("False", { taints }), "taint")).toBeNull();
  });
});

test("in direct mode NoExecute taints are neither added nor removed (P14)", () => {
  const taints = [taint(NOT_READY, "NoExecute"), taint(UNREACHABLE, "NoExecute")];
  expect(taintChangeOf(nodeWith("True", { taints }), "direct")).toBeNull();
  expect(taintChangeOf(nodeWith("False", { taints }), "direct")).toEqual({
    add: ids(`${NOT_READY}:NoSchedule`),
    remove: [],
    why: "conditions",
  });
});

describe("labels (R4.27)", () => {
  const os = "kubernetes.io/os";
  const osBeta = `beta.${os}`;
  test.each([
    ["nothing to follow", {}, null],
    ["the follower is missing", { [os]: "linux" }, { [osBeta]: "linux" }],
    ["the follower differs", { [os]: "linux", [osBeta]: "windows" }, { [osBeta]: "linux" }],
    ["the follower follows", { [os]: "linux", [osBeta]: "linux" }, null],
    ["only the follower exists", { [osBeta]: "linux" }, null],
    ["an empty value is followed too", { [os]: "", [osBeta]: "linux" }, { [osBeta]: "" }],
    [
      "both pairs differ",
      { [os]: "linux", "kubernetes.io/arch": "arm64" },
      { [osBeta]: "linux", "beta.kubernetes.io/arch": "arm64" },
    ],
  ])("%s", (_what, labels, change) => {
    expect(labelChangeOf({ labels })).toEqual(change);
  });
});
