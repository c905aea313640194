/** The spec of a NodePolicy: how it is parsed, and which nodes it selects. */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX } from "../../protocols/bounds.ts";
import type { NodePolicy } from "../../protocols/policy-set.ts";
import { DURATION_MS_MAX } from "../../services/domain/duration.ts";
import { checkSpec, nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policyOf, policySet, selects } from "../../services/domain/node-policy.ts";

function policy(name: string, selector: object): NodePolicy {
  const { spec } = checkSpec({ selector });
  if (spec === null) throw new Error("the selector is wrong");
  return nodePolicyOf(name, spec);
}

function requirements(selector: object) {
  return policy("any", selector).selector;
}

const problemsOf = (spec: unknown) => checkSpec(spec).problems;
const withSelector = (fields: object) => ({ selector: { matchLabels: { pool: "gpu" } }, ...fields });

describe("a selector", () => {
  test.each<[string, object, Record<string, string>, boolean]>([
    ["an equal label", { matchLabels: { pool: "gpu" } }, { pool: "gpu" }, true],
    ["another value", { matchLabels: { pool: "gpu" } }, { pool: "cpu" }, false],
    ["a missing label", { matchLabels: { pool: "gpu" } }, {}, false],
    ["one of two labels", { matchLabels: { pool: "gpu", tier: "a" } }, { pool: "gpu" }, false],
    ["an empty value", { matchLabels: { spot: "" } }, { spot: "" }, true],
    ["a value in the list", expression("In", ["a", "b"]), { pool: "b" }, true],
    ["a value outside it", expression("In", ["a", "b"]), { pool: "c" }, false],
    ["NotIn and a value in the list", expression("NotIn", ["a"]), { pool: "a" }, false],
    ["NotIn and a missing label", expression("NotIn", ["a"]), {}, true],
    ["Exists and an empty value", expression("Exists"), { pool: "" }, true],
    ["Exists and a missing label", expression("Exists"), {}, false],
    ["DoesNotExist and the label", expression("DoesNotExist"), { pool: "a" }, false],
    ["DoesNotExist and a missing label", expression("DoesNotExist"), {}, true],
    ["no requirement", {}, { pool: "a" }, true],
    ["a label named as a method of objects", { matchLabels: { constructor: "x" } }, {}, false],
  ])("meets %s as Kubernetes does", (_, selector, labels, isSelected) => {
    expect(selects(requirements(selector), labels)).toBe(isSelected);
  });

  test("selects no node by a label that receivers would not see", () => {
    const { spec, problems } = checkSpec(JSON.parse('{"selector": {"matchLabels": {"__proto__": "gpu"}}}'));
    expect(spec).toBeNull();
    expect(problems).toEqual(['spec.selector.matchLabels: "__proto__": write a label key such as example.com/pool']);
  });
});

function expression(operator: string, values?: readonly string[]) {
  return { matchExpressions: [{ key: "pool", operator, ...(values ? { values } : {}) }] };
}

describe("the policy of a node", () => {
  const [gpu, all] = [policy("gpu", { matchLabels: { pool: "gpu" } }), policy("all", {})];
  const node = (policyLabels?: number) => ({ labels: { pool: "gpu" }, ...(policyLabels ? { policyLabels } : {}) });

  test("is unknown while the policies are", () => {
    expect(policyOf(node(), null)).toEqual({ kind: "unknown" });
  });

  test("is none without policies, whatever labels the observer kept", () => {
    expect(policyOf(node(17), policySet([]))).toEqual({ kind: "none" });
  });

  test("is the one that selects it", () => {
    const set = policySet([gpu]);
    expect(policyOf(node(set.labelsChecksum), set)).toEqual({ kind: "policy", policy: gpu });
  });

  test("is unknown until the observer keeps the selected labels", () => {
    expect(policyOf(node(), policySet([gpu]))).toEqual({ kind: "unknown" });
    expect(policyOf(node(1), policySet([gpu]))).toEqual({ kind: "unknown" });
  });

  test("is neither of two that select it", () => {
    const set = policySet([gpu, all]);
    expect(policyOf(node(set.labelsChecksum), set)).toEqual({ kind: "conflict", names: ["gpu", "all"] });
  });

  test("needs no further labels for selectors by zone", () => {
    const zone = policy("edge", { matchLabels: { "topology.kubernetes.io/zone": "edge" } });
    const set = policySet([zone]);
    expect(set).toMatchObject({ labelKeys: [], labelsChecksum: 0 });
    expect(policyOf({ labels: { "topology.kubernetes.io/zone": "edge" } }, set).kind).toBe("policy");
  });
});

test.each<[object, string]>([
  [
    { evictions: { deleteAfter: "1m" } },
    "spec.evictions: deleteAfter belongs to method EvictThenDelete; until that is valid, the method is Evict",
  ],
  [
    { evictions: { method: "evict", maxPerMinute: 5 } },
    'spec.evictions.method: "evict": write Delete or Evict or EvictThenDelete; until that is valid, the method is Evict',
  ],
  [{ evictions: { maxPerMinute: "5" } }, 'spec.evictions.maxPerMinute: "5": write a number of pods, such as 60'],
  [{ evictions: { maxPerMinutes: 5 } }, "spec.evictions.maxPerMinutes: no such field"],
])("names the wrong part of evictions: %j", (fields, message) => {
  expect(problemsOf(withSelector(fields))).toEqual([message]);
});

test.each([
  [{ method: "EvictThenDelete" }, { method: "Evict" }],
  [{ method: "Evict", deleteAfter: "1m" }, { method: "Evict" }],
  [
    { deleteAfter: "1m", maxPerMinute: 5 },
    { method: "Evict", maxPerMinute: 5 },
  ],
  [
    { method: "evict", maxPerNamespacePerMinute: 5 },
    { method: "Evict", maxPerNamespacePerMinute: 5 },
  ],
  [
    { method: "EvictThenDelete", deleteAfter: 60, maxPerMinute: 5 },
    { method: "Evict", maxPerMinute: 5 },
  ],
  [{ method: "Evict", maxPerMinute: -1 }, { method: "Evict" }],
  [{ maxPerMinutes: 5, maxPerMinute: 3 }, { maxPerMinute: 3 }],
])("of wrong evictions %j holds %j", (evictions, held) => {
  expect(checkSpec(withSelector({ evictions })).spec).toEqual(withSelector({ evictions: held }));
});

test.each([
  ["freeze", "write Enforce or Freeze"],
  ["Shadow", "see what a policy would do with vigil preview, and write Freeze to do no harm to its nodes"],
  [null, "write Enforce or Freeze"],
])("the wrong mode %j freezes, and the fix is named", (mode, fix) => {
  const { spec, problems } = checkSpec(withSelector({ mode, healthyDelay: "1m" }));
  expect(spec).toEqual(withSelector({ mode: "Freeze", healthyDelay: "1m" }));
  const message = `spec.mode: ${JSON.stringify(mode)}: ${fix}; until that is valid, the mode is Freeze`;
  expect(problems).toEqual([message]);
});

describe("a spec", () => {
  test("is parsed into whole units", () => {
    const raw = withSelector({
      mode: "Freeze",
      pauseRequests: [{ name: "oncall", until: "2026-01-31T12:00:00Z" }],
      nodeMonitorGracePeriod: "1m30s",
      nodeEvictionRate: 0.5,
      maxUnhealthy: "20%",
      circuitBreaker: { percentage: 10, duration: "10m" },
      stormCooldownDuration: "0s",
      flapping: { transitions: 4, window: "30m", holdDown: "1h" },
      evictions: { method: "EvictThenDelete", deleteAfter: "10m", maxPerMinute: 60 },
      budgets: [{ nodes: 0, schedule: "0 9 * * 1-5", duration: "8h" }, { nodes: "3" }],
      outOfService: { after: "3m", proof: ["Manual", "Manual"] },
    });
    const { spec, problems } = checkSpec(raw);
    expect(problems).toEqual([]);
    expect(spec && nodePolicyOf("gpu", spec)).toMatchObject({
      name: "gpu",
      mode: "Freeze",
      pauseRequests: [{ name: "oncall", reason: null, untilAt: Date.UTC(2026, 0, 31, 12) }],
      nodeMonitorGraceMs: 90_000,
      nodeStartupGraceMs: null,
      nodeEvictionsPerSecond: 0.5,
      maxUnhealthy: { percentage: 20 },
      circuitBreaker: { percentage: 10, nodesMax: null, durationMs: 600_000, resetAfterMs: null },
      stormCooldownMs: 0,
      flapping: { transitions: 4, windowMs: 1_800_000, holdDownMs: 3_600_000 },
      evictions: {
        method: "EvictThenDelete",
        deleteAfterMs: 600_000,
        perMinuteMax: 60,
        perNamespacePerMinuteMax: null,
      },
      budgets: [
        { nodes: { nodes: 0 }, window: { schedule: "0 9 * * 1-5", timeZone: null, durationMs: 28_800_000 } },
        { nodes: { nodes: 3 }, window: null },
      ],
      outOfService: { afterMs: 180_000, proofs: ["Manual"], removeWhenReady: true },
    });
  });

  test.each<[object, string]>([
    [{ maxUnhealty: 2 }, "spec.maxUnhealty: no such field; did you mean maxUnhealthy?"],
    [{ maxUnhealthy: "120%" }, 'spec.maxUnhealthy: "120%": write a number of nodes or a percentage, such as 2 or 20%'],
    [{ maxUnhealthy: -1 }, "spec.maxUnhealthy: -1: write a number of nodes or a percentage, such as 2 or 20%"],
    [{ nodeMonitorGracePeriod: 20 }, "spec.nodeMonitorGracePeriod: 20: write a duration such as 90s or 1m30s"],
    [{ nodeMonitorGracePeriod: "20" }, 'spec.nodeMonitorGracePeriod: "20": write a duration such as 90s or 1m30s'],
    [
      { nodeMonitorGracePeriod: "0s" },
      'spec.nodeMonitorGracePeriod: "0s": write a duration longer than 0, such as 90s',
    ],
    [{ unhealthyZoneThreshold: 1.2 }, "spec.unhealthyZoneThreshold: 1.2: write 1 or less"],
    [{ nodeEvictionRate: -0.1 }, "spec.nodeEvictionRate: -0.1: write 0 or more"],
    [
      { circuitBreaker: { duration: "10m" } },
      "spec.circuitBreaker: write percentage, maxNodes or both: how many nodes newly admitted for eviction trip it",
    ],
    [
      { circuitBreaker: { maxNodes: 5 } },
      "spec.circuitBreaker.duration: missing; write a duration such as 90s or 1m30s",
    ],
    [
      { flapping: { transitions: 4, window: "1m", hold: "1h" } },
      "spec.flapping.holdDown: missing; write a duration such as 90s or 1m30s",
    ],
    [
      { budgets: [{ nodes: "10%" }, { nodes: 0, schedule: "0 9 * * *" }] },
      "spec.budgets[1]: schedule and duration belong together: when the budget begins to hold, and for how long; a budget without a valid schedule always applies",
    ],
    [
      { outOfService: { after: "-3m", proof: ["Manual"] } },
      'spec.outOfService.after: "-3m": write a duration such as 90s or 1m30s',
    ],
    [
      { outOfService: { after: "3m", proof: ["Time"] } },
      'spec.outOfService.proof[0]: "Time": write RemediationSucceeded or Manual',
    ],
    [{ outOfService: { after: "3m", proof: [] } }, "spec.outOfService.proof: write [Manual]: time alone is no proof"],
    [{ outOfService: { after: "3m" } }, "spec.outOfService.proof: missing; write [RemediationSucceeded, Manual]"],
    [{ evictions: 5 }, "spec.evictions: 5: write {method: EvictThenDelete, deleteAfter: 10m, maxPerMinute: 60}"],
    [
      { selector: { matchLabels: { "a b": "x" } } },
      'spec.selector.matchLabels.a b: "a b": write labels such as {pool: gpu}',
    ],
  ])("names the wrong field, its value and the fix: %j", (fields, message) => {
    expect(problemsOf(withSelector(fields))).toEqual([message]);
  });

  test.each([[null], [[]], ["gpu"]])("is refused when it is %j", (raw) => {
    expect(checkSpec(raw)).toMatchObject({ spec: null, problems: [expect.any(String)] });
  });

  test("selects no node without a selector", () => {
    const { spec, problems } = checkSpec({});
    expect(spec).toBeNull();
    expect(problems).toEqual(["spec.selector: missing; write a label selector such as {matchLabels: {pool: gpu}}"]);
  });

  test("keeps its right fields beside a wrong one", () => {
    const { spec } = checkSpec(withSelector({ maxUnhealthy: "120%", healthyDelay: "2m" }));
    expect(spec).toEqual(withSelector({ healthyDelay: "2m" }));
  });
});

describe("a duration", () => {
  test.each(["99999999h", `${"9".repeat(400)}h`])("counts as a thousand years at most", (length) => {
    const circuitBreaker = { maxNodes: 1, duration: length, resetAfter: length };
    const { spec, problems } = checkSpec(withSelector({ nodeMonitorGracePeriod: length, circuitBreaker }));
    expect(problems).toEqual([]);
    expect(spec && nodePolicyOf("gpu", spec)).toMatchObject({
      nodeMonitorGraceMs: DURATION_MS_MAX,
      circuitBreaker: { durationMs: DURATION_MS_MAX, resetAfterMs: DURATION_MS_MAX },
    });
    expect(Date.UTC(2026) + 2 * DURATION_MS_MAX).toBeLessThan(INSTANT_MAX);
  });
});

describe("a condition that becomes a taint", () => {
  test.each<[object, string]>([
    [
      {
        unhealthyConditions: [
          { type: "Ready", status: "False", duration: "1m", taint: { key: "a", effect: "NoSchedule" } },
        ],
      },
      'spec.unhealthyConditions[0].type: "Ready": write a condition type such as KernelDeadlock; Ready has taints of its own',
    ],
    [
      {
        unhealthyConditions: [
          { type: "A", status: "True", duration: "1m", taint: { key: "node.kubernetes.io/a", effect: "NoSchedule" } },
        ],
      },
      'spec.unhealthyConditions[0].taint.key: "node.kubernetes.io/a": write a key of your own, such as vigil.io/kernel-deadlock; this one belongs to Kubernetes',
    ],
    [
      {
        unhealthyConditions: [
          { type: "A", status: "True", duration: "1m", taint: { key: "a", value: "deep", effect: "NoSchedule" } },
        ],
      },
      'spec.unhealthyConditions[0].taint.value: "deep": write vigil, or a value that begins with vigil-, such as vigil-gpu',
    ],
    [
      {
        unhealthyConditions: [{ type: "A", status: "true", duration: "1m", taint: { key: "a", effect: "NoSchedule" } }],
      },
      'spec.unhealthyConditions[0].status: "true": write True or False or Unknown',
    ],
    [
      {
        unhealthyConditions: [
          { type: "MemoryPressure", status: "False", duration: "1s", taint: { key: "a", effect: "NoExecute" } },
        ],
      },
      'spec.unhealthyConditions[0].status: "False": write True or Unknown; MemoryPressure is False on every healthy node',
    ],
    [
      { maintenance: { hold: ["Ready"], atMost: "1h" } },
      'spec.maintenance.hold[0]: "Ready": write a condition type such as DrainInProgress; a ready node is not in maintenance',
    ],
    [
      { maintenance: { hold: ["DrainInProgress"], atMost: "0s" } },
      'spec.maintenance.atMost: "0s": write a duration longer than 0, such as 90s',
    ],
  ])("names the wrong part, its value and the fix: %j", (fields, message) => {
    expect(problemsOf(withSelector(fields))).toEqual([message]);
  });
});

describe("a remediation", () => {
  const TEMPLATE = {
    apiVersion: "self-node-remediation.medik8s.io/v1alpha1",
    kind: "SelfNodeRemediationTemplate",
    namespace: "medik8s",
    name: "reboot",
  };
  const stepWith = (template: object, step: object = {}) => ({
    timeout: "5m",
    template: { ...TEMPLATE, ...template },
    ...step,
  });

  test.each<[object, string]>([
    [
      { apiVersion: "v1", kind: "PodTemplate" },
      'template.apiVersion: "v1": write group/version, such as self-node-remediation.medik8s.io/v1alpha1; the core group has no template',
    ],
    [
      { apiVersion: "apps/v1" },
      'template.apiVersion: "apps/v1": write group/version, such as self-node-remediation.medik8s.io/v1alpha1; the core group has no template',
    ],
    [
      { kind: "SelfNodeRemediation" },
      'template.kind: "SelfNodeRemediation": write the kind of a template, such as SelfNodeRemediationTemplate',
    ],
    [{ namespace: "a/b" }, 'template.namespace: "a/b": write the template\'s namespace'],
    [{ namespace: undefined }, "template.namespace: missing; write the template's namespace"],
  ])("names a wrong template and the fix: %j", (template, message) => {
    expect(problemsOf(withSelector({ remediations: [stepWith(template)] }))).toEqual([
      `spec.remediations[0].${message}`,
    ]);
  });

  test("needs a timeout, and a kind that no other has", () => {
    expect(problemsOf(withSelector({ remediations: [stepWith({}, { timeout: "0s" })] }))).toEqual([
      'spec.remediations[0].timeout: "0s": write a duration longer than 0, such as 90s',
    ]);
    expect(problemsOf(withSelector({ remediations: [stepWith({}), stepWith({ name: "off" })] }))).toEqual([
      "spec.remediations: two templates of one kind: name each kind once, because its object has the name of the node",
    ]);
  });

  test("is read in whole units", () => {
    const { spec } = checkSpec(withSelector({ remediations: [stepWith({})] }));
    expect(spec === null ? [] : nodePolicyOf("gpu", spec).remediations).toEqual([
      { timeoutMs: 300_000, template: TEMPLATE, dryRun: false },
    ]);
  });
});

describe("the schedule of a budget", () => {
  test.each<[object, string]>([
    [
      { budgets: [{ nodes: 0, schedule: "0 9 * *", duration: "8h" }] },
      'spec.budgets[0].schedule: "0 9 * *": write minute, hour, day, month and day of the week, such as "0 9 * * 1-5"; a budget without a valid schedule always applies',
    ],
    [
      { budgets: [{ nodes: 0, schedule: "0 9 * * 8", duration: "8h" }] },
      'spec.budgets[0].schedule: "0 9 * * 8": write minute, hour, day, month and day of the week, such as "0 9 * * 1-5"; a budget without a valid schedule always applies',
    ],
    [
      { budgets: [{ nodes: 0, schedule: "2026-12-24T00:00:00", duration: "8h" }] },
      'spec.budgets[0].schedule: "2026-12-24T00:00:00": write minute, hour, day, month and day of the week, such as "0 9 * * 1-5"; a budget without a valid schedule always applies',
    ],
    [
      { budgets: [{ nodes: 1 }, { nodes: 0, schedule: "0 0 31 2 *", duration: "8h" }] },
      'spec.budgets[1].schedule: "0 0 31 2 *": never runs, no such day exists; a budget without a valid schedule always applies',
    ],
    [
      { budgets: [{ nodes: 0, schedule: "0 9 ? * *", duration: "8h" }] },
      'spec.budgets[0].schedule: "0 9 ? * *": write * instead of ?; a budget without a valid schedule always applies',
    ],
    [
      { budgets: [{ nodes: 0, schedule: "0 9 * * *", timeZone: "Mars/Base", duration: "8h" }] },
      'spec.budgets[0].timeZone: "Mars/Base": write a time zone such as Europe/Berlin; a budget without a valid schedule always applies',
    ],
  ])("is checked: %j", (fields, message) => {
    expect(problemsOf(withSelector(fields))).toEqual([message]);
  });

  test.each<[object, readonly object[]]>([
    [{ nodes: 0, schedule: "0 9 * * 1-5", timeZone: "Europe/Belin", duration: "8h" }, [{ nodes: 0 }]],
    [{ nodes: 0, shedule: "0 9 * * 1-5", duration: "8h" }, [{ nodes: 0 }]],
    [{ nodes: "120%" }, []],
  ])("that is wrong lifts no budget: %j", (wrong, held) => {
    const { spec, problems } = checkSpec(withSelector({ budgets: [wrong, { nodes: 1 }] }));
    expect(spec?.budgets).toEqual([...held, { nodes: 1 }]);
    expect(problems).toHaveLength(1);
  });
});

describe("a request to freeze", () => {
  test.each([
    ["2028-02-29T24:00:00Z", Date.UTC(2028, 2, 1)],
    ["2026-12-31T23:30:00-02:00", Date.UTC(2027, 0, 1, 1, 30)],
    ["9999-12-31T23:59:59Z", null],
  ])("may end on a day that other zones do not have yet: %s", (until, untilAt) => {
    const { spec, problems } = checkSpec(withSelector({ pauseRequests: [{ name: "a", until }] }));
    expect(problems).toEqual([]);
    expect(spec === null ? [] : nodePolicyOf("gpu", spec).pauseRequests).toMatchObject([{ untilAt }]);
  });

  test.each<[object, object, string]>([
    [
      { name: "a", until: "2026-13-01T00:00:00Z" },
      { name: "a" },
      '.until: "2026-13-01T00:00:00Z": there is no such instant',
    ],
    [
      { name: "a", until: "2026-02-30T00:00:00Z" },
      { name: "a" },
      '.until: "2026-02-30T00:00:00Z": there is no such instant',
    ],
    [{ name: "a", since: "2026-06-31T24:30:00Z" }, { name: "a" }, ".since: "],
    [{ name: "a", until: "2026-06-01T12:00:00+99:00" }, { name: "a" }, ".until: "],
    [
      { name: "a", until: "tomorrow", since: "2026-01-01T00:00:00Z" },
      { name: "a", since: "2026-01-01T00:00:00Z" },
      '.until: "tomorrow": write an instant such as 2026-01-31T12:00:00Z',
    ],
    [{ nome: "a", reason: "outage" }, { name: "unknown", reason: "outage" }, ".name: missing"],
  ])("that is wrong freezes without its wrong parts: %j", (wrong, held, problem) => {
    const other = { reason: "storm", name: "b" };
    const { spec, problems } = checkSpec(withSelector({ pauseRequests: [other, wrong] }));
    expect(spec?.pauseRequests).toEqual([other, held]);
    expect(problems).toEqual([expect.stringContaining(`spec.pauseRequests[1]${problem}`)]);
  });
});
