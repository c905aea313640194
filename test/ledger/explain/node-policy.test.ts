/** Explanations of a node policy: its nodes, what it sets, and what its limits and freezes do now. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { NodePolicySpec } from "../../../protocols/node-policy.ts";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { fixedPolicies } from "../../../services/platform/node-policies/policy-receiver.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { judgedNode, judgedZone, type LedgerWorld, ledgerWorld, type WorldOptions } from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const SETS_NOTHING = "It sets nothing, so its nodes are treated as without a policy.";
const sets = (fields: string) => `It sets ${fields}.`;

/** A world with the policy gpu, and how it is explained. */
function explainedWorld(spec: Partial<NodePolicySpec> = {}, frozen: FrozenInterval[] = [], options: WorldOptions = {}) {
  const gpu = nodePolicyOf("gpu", { selector: { matchLabels: { pool: "gpu" } }, ...spec }, frozen);
  const world = ledgerWorld({ policies: fixedPolicies(policySet([gpu])), ...options });
  const sentences = () => world.ledger.reader.explainPolicy("gpu")?.sentences ?? [];
  return { ...world, sentences };
}

function addNode({ receive }: LedgerWorld, name: string, judged: Partial<BodyOf<"judged.node">> = {}): void {
  const isReady = (judged.readiness ?? "ready") === "ready";
  receive("observed.node", observedNode(name, { ready: isReady ? "True" : "Unknown" }), null);
  receive("judged.node", judgedNode(name, judged), null);
}

const NO_LIMITS: BodyOf<"judged.limits"> = {
  policy: "gpu",
  selected: 4,
  unhealthy: 0,
  condemned: 0,
  inWindow: 0,
  permits: [],
  holds: [],
  memory: { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] },
};

const EVICTIONS: BodyOf<"judged.evictions"> = {
  policy: "gpu",
  inWindow: 3,
  waiting: 1,
  oldestDeadlineAt: START_AT,
  permits: [],
  queue: [],
};

describe("nodes of a policy", () => {
  test("none are said to be none", () => {
    expect(explainedWorld().sentences()).toEqual([
      "NodePolicy gpu selects nodes by pool=gpu.",
      "It applies to no node at present.",
      SETS_NOTHING,
    ]);
  });

  test("are named: all, the unhealthy ones, and those of two policies", () => {
    const world = explainedWorld();
    for (const name of ["n-2", "n-1"]) addNode(world, name, { policy: "gpu" });
    addNode(world, "n-3", { policy: "gpu", readiness: "unknown" });
    addNode(world, "n-4", { conflict: ["gpu", "spot"] });
    addNode(world, "n-5", { policy: "spot" });
    expect(world.sentences().slice(1, 4)).toEqual([
      "It applies to 3 nodes: n-1, n-2 and n-3.",
      "1 node is unhealthy: n-3.",
      "Another policy selects 1 node too, so neither applies there, but each may freeze what it selects: n-4 (NodePolicy spot).",
    ]);
  });

  test("are counted behind the tenth", () => {
    const world = explainedWorld();
    for (let index = 10; index < 22; index++) addNode(world, `n-${index}`, { policy: "gpu" });
    expect(world.sentences()[1]).toMatch(/^It applies to 12 nodes: n-10, n-11, .*, n-19 and 2 more\.$/);
  });

  test("in maintenance are named", () => {
    const world = explainedWorld({ maintenance: { hold: ["DrainInProgress"], atMost: "4h" } });
    const until = (untilAt: number) => ({ types: ["DrainInProgress"], sinceAt: START_AT, untilAt });
    addNode(world, "n-1", { policy: "gpu", maintenance: until(START_AT + MINUTE) });
    addNode(world, "n-2", { policy: "gpu", maintenance: until(START_AT - MINUTE) });
    expect(world.sentences()[2]).toBe("1 node is in maintenance, which blocks evictions: n-1.");
  });
});

test.each([
  [{}, "every node"],
  [{ matchExpressions: [{ key: "pool", operator: "In", values: ["a", "b"] }] }, "nodes by pool in (a,b)"],
  [{ matchExpressions: [{ key: "pool", operator: "NotIn", values: ["a"] }] }, "nodes by pool notin (a)"],
  [{ matchExpressions: [{ key: "site", operator: "Exists" }] }, "nodes by site"],
  [
    { matchLabels: { pool: "a" }, matchExpressions: [{ key: "old", operator: "DoesNotExist" }] },
    "nodes by pool=a,!old",
  ],
] as const)("the selector %j selects %s", (selector, selected) => {
  const { sentences } = explainedWorld({ selector: selector as NodePolicySpec["selector"] });
  expect(sentences()[0]).toBe(`NodePolicy gpu selects ${selected}.`);
});

const TEMPLATE = { apiVersion: "a/v1", kind: "RebootTemplate", namespace: "medik8s", name: "t" };
const TAINT = { key: "vigil.io/deadlock", effect: "NoSchedule" } as const;

test.each<[string, Partial<NodePolicySpec>, string]>([
  [
    "graces",
    { nodeMonitorGracePeriod: "20s", nodeStartupGracePeriod: "90s" },
    "nodeMonitorGracePeriod 20s and nodeStartupGracePeriod 1m30s",
  ],
  [
    "a rate and a threshold",
    { nodeEvictionRate: 0.02, unhealthyZoneThreshold: 0.8 },
    "nodeEvictionRate 0.02 and unhealthyZoneThreshold 0.8",
  ],
  ["a share", { maxUnhealthy: "20%" }, "maxUnhealthy 20%"],
  [
    "a breaker",
    { circuitBreaker: { percentage: 10, maxNodes: 3, duration: "10m", resetAfter: "30m" } },
    "circuitBreaker (10% or 3 within 10m, reset after 30m)",
  ],
  [
    "flapping",
    { flapping: { transitions: 4, window: "30m", holdDown: "1h" } },
    "flapping (4 transitions within 30m hold for 1h)",
  ],
  [
    "budgets",
    { budgets: [{ nodes: "10%" }, { nodes: 0, schedule: "0 9 * * 1-5", timeZone: "Europe/Berlin", duration: "8h" }] },
    "budgets (10%; 0 at 0 9 * * 1-5 Europe/Berlin for 8h)",
  ],
  [
    "conditions",
    { unhealthyConditions: [{ type: "Deadlock", status: "True", duration: "1m", taint: TAINT }] },
    "unhealthyConditions (Deadlock=True for 1m: vigil.io/deadlock:NoSchedule)",
  ],
  ["a maintenance", { maintenance: { hold: ["A", "B"], atMost: "4h" } }, "maintenance (A and B, at most 4h)"],
  [
    "evictions",
    { evictions: { method: "EvictThenDelete", deleteAfter: "10m", maxPerMinute: 5 } },
    "evictions (EvictThenDelete, deleteAfter 10m, maxPerMinute 5)",
  ],
  [
    "remediations",
    { remediations: [{ timeout: "5m", template: TEMPLATE, dryRun: true }] },
    "remediations (RebootTemplate for 5m as a dry run)",
  ],
  ["out of service", { outOfService: { after: "3m", proof: ["Manual"] } }, "outOfService (after 3m, by Manual)"],
])("a policy that sets %s says so", (_, spec, fields) => {
  expect(explainedWorld(spec).sentences()).toContain(sets(fields));
});

describe("what holds nodes back", () => {
  const BREAKER = { circuitBreaker: { maxNodes: 1, duration: "1m" } };
  const open = { ...NO_LIMITS.memory, trippedAt: START_AT };

  test.each<[string, Partial<BodyOf<"judged.limits">>, string]>([
    ["closed", {}, "Its circuit breaker is closed."],
    [
      "open",
      { memory: open },
      "Its circuit breaker is open: no further node is tainted NoExecute or drained until a user removes circuitBreaker from the policy.",
    ],
    [
      "open for a while",
      { memory: { ...open, resetAt: START_AT + MINUTE } },
      "Its circuit breaker is open: no further node is tainted NoExecute or drained until 2026-01-01T00:01:00Z at the earliest.",
    ],
    [
      "to have reset by now",
      { memory: { ...open, resetAt: START_AT } },
      "Whether its circuit breaker is open is not known at present.",
    ],
  ])("is a breaker that is %s", (_, limits, expected) => {
    const world = explainedWorld(BREAKER);
    world.receive("judged.limits", { ...NO_LIMITS, ...limits }, null);
    expect(world.sentences()).toContain(expected);
  });

  test("are budgets and other limits", () => {
    const world = explainedWorld({ budgets: [{ nodes: 1 }] });
    const hold = { policy: "gpu", field: "budgets", untilAt: null, detail: "1 of 1 disrupted", nodes: 2 };
    const until = { ...hold, field: "stormCooldownDuration", untilAt: START_AT + MINUTE, nodes: 1 };
    const ofCluster = { ...hold, policy: "", field: "circuitBreaker", nodes: 1 };
    const holds = [hold, until, ofCluster];
    world.receive("judged.limits", { ...NO_LIMITS, budget: 3, condemned: 2, holds }, null);
    expect(world.sentences().slice(3)).toEqual([
      "Its budgets allow 3 nodes to be disrupted at once now, and leave 1.",
      "Blocked by budgets: 2 nodes (1 of 1 disrupted).",
      "Blocked by stormCooldownDuration until 2026-01-01T00:01:00Z at the earliest: 1 node (1 of 1 disrupted).",
      "Blocked by circuitBreaker of the cluster: 1 node (1 of 1 disrupted).",
    ]);
  });

  test("is not known while its owner is silent", () => {
    const unknown = "What its limits do now is not known: their owner has published nothing lately.";
    const world = explainedWorld(BREAKER);
    expect(world.sentences().join()).not.toContain("its limits");
    addNode(world, "n-1", { policy: "gpu" });
    expect(world.sentences()).toContain(unknown);
    world.receive("judged.limits", NO_LIMITS, null);
    expect(world.sentences()).not.toContain(unknown);
    world.clock.advance(MINUTE);
    expect(world.sentences()).toContain(unknown);
  });

  test.each([
    [null, "until a user thaws them,"],
    [START_AT + MINUTE, "until 2026-01-01T00:01:00Z"],
  ])("is a freeze until %j", (toAt, until) => {
    const pauseRequests = [{ name: "alice", reason: "switches" }];
    const { sentences } = explainedWorld({ pauseRequests }, [{ fromAt: START_AT, toAt }]);
    expect(sentences()).toContain(
      `Its nodes have been frozen since 2026-01-01T00:00:00Z by alice (switches) through NodePolicy gpu: ${until} none is tainted NoExecute and none of their pods is evicted; healing goes on.`,
    );
  });

  test("is its eviction rate", () => {
    const world = explainedWorld({ evictions: { maxPerMinute: 3 } });
    world.receive("judged.evictions", EVICTIONS, null);
    expect(world.sentences()).toContain(
      "Its eviction rate has admitted 3 pods within the last minute, and delays 1 pod.",
    );
  });

  test("are remediations that wait or are used up", () => {
    const world = explainedWorld({ remediations: [{ timeout: "5m", template: TEMPLATE }] });
    const nodes: BodyOf<"judged.remediations">["nodes"] = [
      { node: "n-1", kind: "Reboot", state: "running" },
      { node: "n-2", state: "exhausted" },
    ];
    world.receive("judged.remediations", { policy: "gpu", nodes }, null);
    expect(world.sentences()).toContain("Remediations run for 1 node, and wait or are used up for 1 node.");
  });
});

test("shadow mode is named", () => {
  expect(explainedWorld({}, [], { isShadow: true }).sentences()).toContain(
    "Vigil runs in shadow mode, so it writes nothing, whatever the mode of the policy.",
  );
});

test.each<[string, Partial<NodePolicySpec>]>([
  ["its mode is Freeze", { mode: "Freeze" }],
  ["somebody freezes its nodes", { pauseRequests: [{ name: "alice" }] }],
])("a policy does not count as none where %s", (_, spec) => {
  expect(explainedWorld(spec).sentences()).not.toContain(SETS_NOTHING);
});

test("a policy counts as none again after a freeze", () => {
  const ended = { name: "alice", since: "2025-12-31T22:00:00Z", until: "2025-12-31T23:00:00Z" };
  expect(explainedWorld({ pauseRequests: [ended] }).sentences()).toContain(SETS_NOTHING);
});

test("the zones that a policy has for itself are explained with their history", () => {
  const world = explainedWorld({ nodeEvictionRate: 1 });
  const zone = (name: string) => `eu:\u0000:${name}\u0000@gpu`;
  for (const name of ["b", "a"]) {
    world.receive("judged.zone", judgedZone({ zone: zone(name) }), null);
    world.clock.advance(1);
  }
  world.receive("judged.zone", judgedZone({ zone: "eu:\u0000:a" }), null);
  const explained = world.ledger.reader.explainPolicy("gpu");
  expect(explained?.sentences.slice(-2)).toEqual([
    "Zone eu/a@gpu is Normal: 0 of 10 nodes not ready; eviction rate: one node every 10 s.",
    "Zone eu/b@gpu is Normal: 0 of 10 nodes not ready; eviction rate: one node every 10 s.",
  ]);
  expect(explained?.timeline.map(({ object }) => object.name)).toEqual([zone("b"), zone("a")]);
  world.clock.advance(MINUTE);
  expect(world.sentences().at(-1)).toBe(
    "Zone eu/b@gpu was Normal at 2026-01-01T00:00:00Z, and its owner has published nothing since.",
  );
});

test("a policy that is not in force, or not known yet, is not explained", () => {
  const policies = new HandPolicies({});
  const { ledger } = ledgerWorld({ policies });
  expect(ledger.reader.explainPolicy("gpu")).toBeNull();
  expect(ledger.reader.explainPolicy("pool")).not.toBeNull();
  policies.forget();
  expect(ledger.reader.explainPolicy("pool")).toBeNull();
});
