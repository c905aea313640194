/** What `vigil get policies` shows: the nodes of each policy, its limits and its freezes. */
import { describe, expect, test } from "vitest";
import type { PolicyReport } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { NodePolicySpec } from "../../../protocols/node-policy.ts";
import { type Freezes, NO_FREEZES } from "../../../protocols/policy-set.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { fixedPolicies } from "../../../services/platform/node-policies/policy-receiver.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { judgedNode, type LedgerWorld, ledgerWorld } from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const BREAKER = { circuitBreaker: { maxNodes: 1, duration: "1m" } };

/** A ledger with the policies gpu, with these fields, and spot. */
function worldOf(fields: Omit<NodePolicySpec, "selector"> = {}, everywhere: Freezes = NO_FREEZES): LedgerWorld {
  const policies = [nodePolicyOf("spot", { selector: {} }), nodePolicyOf("gpu", { selector: {}, ...fields })];
  return ledgerWorld({ policies: fixedPolicies(policySet(policies, everywhere)) });
}

function addNode({ receive }: LedgerWorld, name: string, ready: "True" | "False", judged: object): void {
  receive("observed.node", observedNode(name, { ready }), null);
  receive(
    "judged.node",
    judgedNode(name, { ready, readiness: ready === "True" ? "ready" : "notReady", ...judged }),
    null,
  );
}

function limits(changes: Partial<BodyOf<"judged.limits">> = {}): BodyOf<"judged.limits"> {
  const memory = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
  const counts = { selected: 5, unhealthy: 2, condemned: 1, inWindow: 1 };
  return { policy: "gpu", ...counts, permits: [], holds: [], memory, ...changes };
}

const report = ({ ledger }: LedgerWorld, name: string): PolicyReport | undefined =>
  ledger.reader.policies()?.find((policy) => policy.name === name);
const names = ({ ledger }: LedgerWorld) => ledger.reader.policies()?.map(({ name }) => name);

test("policies are in order of their names", () => {
  expect(names(worldOf())).toEqual(["gpu", "spot"]);
});

test("a node that has posted no status yet is not unhealthy, as for maxUnhealthy", () => {
  const world = worldOf();
  world.receive("observed.node", observedNode("n-1", { ready: null }), null);
  world.receive("judged.node", judgedNode("n-1", { readiness: "starting", ready: null, policy: "gpu" }), null);
  expect(report(world, "gpu")).toMatchObject({ nodes: 1, unhealthy: 0 });
});

test("a policy counts its nodes, the unhealthy ones, and those in a conflict", () => {
  const world = worldOf();
  addNode(world, "n-1", "True", { policy: "gpu" });
  addNode(world, "n-2", "False", { policy: "gpu" });
  addNode(world, "n-3", "False", { conflict: ["gpu", "spot"] });
  addNode(world, "n-4", "True", {});
  expect(report(world, "gpu")).toMatchObject({ mode: "Enforce", nodes: 2, unhealthy: 1, conflicts: 1 });
  expect(report(world, "spot")).toMatchObject({ nodes: 0, unhealthy: 0, conflicts: 1 });
});

describe("the limits of a policy", () => {
  test("are those that their owner published", () => {
    const world = worldOf(BREAKER);
    const memory = { ...limits().memory, trippedAt: START_AT, resetAt: START_AT + 60_000 };
    const permits = [{ node: "n-1", uid: "uid-n-1" }];
    world.receive("judged.limits", limits({ memory, budget: 3, permits }), null);
    expect(report(world, "gpu")).toMatchObject({
      breaker: { state: "open", resetAt: START_AT + 60_000 },
      budget: { nodes: 3, left: 2 },
    });
  });

  test("are unknown once their owner publishes nothing", () => {
    const world = worldOf(BREAKER);
    world.receive("judged.limits", limits({ budget: 3 }), null);
    expect(report(world, "gpu")).toMatchObject({ breaker: { state: "closed" }, budget: { left: 2 } });
    world.clock.advance(15_000);
    expect(report(world, "gpu")).toMatchObject({ breaker: { state: "unknown" }, budget: null });
  });

  test("are forgotten with it, like rates and remediations", () => {
    const fields = { ...BREAKER, evictions: { maxPerMinute: 1 } };
    const policies = new HandPolicies(fields);
    const world = ledgerWorld({ policies });
    const policy = "pool";
    const rates = { inWindow: 1, waiting: 1, oldestDeadlineAt: null, permits: [], queue: [] };
    world.receive("judged.limits", limits({ policy }), null);
    world.receive("judged.evictions", { policy, ...rates }, null);
    world.receive("judged.remediations", { policy, nodes: [{ node: "n-1", state: "exhausted" }] }, null);
    expect(report(world, policy)).toMatchObject({ breaker: { state: "closed" }, evictions: {}, remediations: {} });
    policies.put(null);
    policies.put(fields);
    expect(report(world, policy)).toMatchObject({ breaker: { state: "unknown" } });
    expect(report(world, policy)).not.toHaveProperty("evictions");
    expect(report(world, policy)).not.toHaveProperty("remediations");
  });

  test("name no breaker where the policy has none", () => {
    const world = worldOf();
    world.receive("judged.limits", limits(), null);
    expect(report(world, "gpu")?.breaker).toBeNull();
  });
});

test("a freeze of all nodes is shown for them, and for every policy", () => {
  const alice = { name: "alice", reason: null, sinceAt: START_AT, untilAt: null };
  const world = worldOf({}, { pauseRequests: [alice], frozen: [{ fromAt: START_AT, toAt: null }] });
  addNode(world, "n-1", "False", {});
  const freeze = { sinceAt: START_AT, untilAt: null, causes: [{ policy: null, by: "alice", reason: null }] };
  expect(names(world)).toEqual(["", "gpu", "spot"]);
  expect(report(world, "")).toMatchObject({ mode: null, nodes: 1, unhealthy: 1, freeze });
  expect(report(world, "gpu")).toMatchObject({ freeze });
});

test("the breaker of the cluster is one of all nodes", () => {
  const world = worldOf();
  world.receive("judged.limits", limits({ policy: "" }), null);
  expect(report(world, "")).toMatchObject({ breaker: { state: "closed" }, freeze: null });
});
