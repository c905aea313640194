/** The gauges about policies: they follow the policies in force, and end with them. */
import { expect, test } from "vitest";
import { type FrozenInterval, NO_POLICIES, type NodePolicy, type PolicySet } from "../../../protocols/policy-set.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { metricValue } from "../../support/metric-value.ts";
import { judgedNode } from "../../support/observed-objects.ts";
import { type LedgerWorld, ledgerWorld } from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const REFRESH_MS = 2000;

function policy(name: string, frozen: FrozenInterval[] = []): NodePolicy {
  return nodePolicyOf(name, { selector: {}, maxUnhealthy: 1, circuitBreaker: { maxNodes: 1, duration: "1m" } }, frozen);
}

/** A ledger whose policies a test changes. */
function policyWorld(first: PolicySet | null): LedgerWorld & { put(set: PolicySet): void } {
  let set = first;
  const world = ledgerWorld({ policies: { current: () => set, follow: () => () => {} } });
  world.clock.advance(REFRESH_MS);
  const put = (next: PolicySet): void => {
    set = next;
    world.clock.advance(REFRESH_MS);
  };
  return { ...world, put };
}

const frozen = ({ metrics }: LedgerWorld, name: string) =>
  metricValue(metrics, "vigil_policy_frozen", { policy: name });

test("a policy is frozen from the first instant of an interval up to its last", async () => {
  const world = policyWorld(policySet([policy("gpu", [{ fromAt: START_AT + 10_000, toAt: START_AT + 20_000 }])]));
  expect(await frozen(world, "gpu")).toBe(0);
  world.clock.advance(10_000);
  expect(await frozen(world, "gpu")).toBe(1);
  world.clock.advance(10_000);
  expect(await frozen(world, "gpu")).toBe(0);
});

test("a freeze of all nodes is that of the policy without a name", async () => {
  const world = policyWorld(NO_POLICIES);
  expect(await frozen(world, "")).toBe(0);
  world.put(policySet([], { pauseRequests: [], frozen: [{ fromAt: START_AT, toAt: null }] }));
  expect(await frozen(world, "")).toBe(1);
});

test("a policy that is gone has no gauge", async () => {
  const world = policyWorld(policySet([policy("gpu", [{ fromAt: START_AT, toAt: null }])]));
  const memory = { trippedAt: START_AT, resetAt: null, isStorm: true, stormEndedAt: null, condemnations: [] };
  const counts = { selected: 5, unhealthy: 2, condemned: 1, inWindow: 1 };
  world.receive("judged.limits", { policy: "gpu", ...counts, permits: [], holds: [], memory }, null);
  expect(await world.metrics.text()).toContain('vigil_policy_breaker_open{policy="gpu"} 1');
  world.put(NO_POLICIES);
  expect(await world.metrics.text()).not.toContain('policy="gpu"');
});

test("nothing is said before the policies are known", async () => {
  expect(await policyWorld(null).metrics.text()).not.toContain("vigil_policy_frozen{");
});

test("the gauges of an eviction rate end with it", async () => {
  const rated = nodePolicyOf("gpu", { selector: {}, evictions: { maxPerMinute: 2 } }, []);
  const world = policyWorld(policySet([rated]));
  const at = START_AT + REFRESH_MS;
  const evictions = { policy: "gpu", inWindow: 2, waiting: 3, oldestDeadlineAt: at - 30_000, permits: [], queue: [] };
  world.receive("judged.evictions", evictions, null);
  const waiting = (name: string) => metricValue(world.metrics, name, { policy: "gpu" });
  expect(await waiting("vigil_policy_waiting_evictions")).toBe(3);
  expect(await waiting("vigil_policy_longest_wait_seconds")).toBe(30);
  world.put(policySet([policy("gpu")]));
  expect(await world.metrics.text()).not.toContain("vigil_policy_waiting_evictions{");
});

test("nodes whose condition requires a taint are counted", async () => {
  const world = policyWorld(policySet([policy("gpu")]));
  const count = async () => {
    world.clock.advance(REFRESH_MS);
    return metricValue(world.metrics, "vigil_policy_condition_nodes", { policy: "gpu", condition: "KernelDeadlock" });
  };
  const judge = (name: string, state: "waiting" | "due" | "tainted" | "healing") => {
    const taint = { key: "vigil.io/deadlock", effect: "NoSchedule" };
    const conditions = [{ type: "KernelDeadlock", status: "True" as const, since: START_AT, taint, state }];
    world.receive("judged.node", judgedNode(name, { policy: "gpu", conditions }), null);
  };
  judge("a", "due");
  judge("b", "tainted");
  judge("c", "waiting");
  expect(await count()).toBe(2);
  judge("a", "healing");
  expect(await count()).toBe(1);
  judge("b", "healing");
  world.clock.advance(REFRESH_MS);
  expect(await world.metrics.text()).not.toContain("vigil_policy_condition_nodes{");
});

test("nodes on their way to the out-of-service taint are counted by how far they are", async () => {
  const world = policyWorld(policySet([policy("gpu")]));
  const count = async (state: string) => {
    world.clock.advance(REFRESH_MS);
    return metricValue(world.metrics, "vigil_policy_out_of_service_nodes", { policy: "gpu", state });
  };
  const judge = (name: string, state?: "unproved" | "on") => {
    const outOfService = state === undefined ? {} : { outOfService: { state } };
    world.receive("judged.node", judgedNode(name, { policy: "gpu", ...outOfService }), null);
  };
  judge("a", "unproved");
  judge("b", "unproved");
  expect(await count("unproved")).toBe(2);
  judge("b", "on");
  expect([await count("unproved"), await count("on")]).toEqual([1, 1]);
  judge("a");
  judge("b");
  world.clock.advance(REFRESH_MS);
  expect(await world.metrics.text()).not.toContain("vigil_policy_out_of_service_nodes{");
});
