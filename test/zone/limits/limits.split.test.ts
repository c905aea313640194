/** The limits of nodes on a bus that is split: each side reaches the API server and has an owner of the limits. */
import { expect, test } from "vitest";
import { LIMITS_LEASE } from "../../../protocols/names.ts";
import type { Transport, Wire } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import type { Call } from "../../../services/sandbox/apiserver/routes.ts";
import { ApiPath } from "../../sim/api-path.ts";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../../support/eviction-world.ts";
import { HandPolicies, type PolicyFields } from "../../support/hand-policies.ts";
import type { VirtualProcess } from "../../support/virtual-cluster.ts";

const S = 1000;
const MINUTE = 60 * S;
const { "pod-writer": _podWriter, ...WITHOUT_POD_WRITER } = EVICTING;

const isLease = ({ name, resource }: Call): boolean => resource.plural === "leases" && name === LIMITS_LEASE.name;
const isHolder = ({ metrics }: VirtualProcess): boolean => metrics.gaugeValue("vigil_limits_lease") === 1;

/** Four nodes of zone a under these limits, and one of zone c without a policy. */
function worldUnder(fields: PolicyFields, profile: Partial<Profile> = {}) {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, ...profile });
  const policies = new HandPolicies({ unhealthyZoneThreshold: 1, ...fields });
  world.addZone("a", 4);
  world.addZone("c", 1);
  const tainted = () => world.tainted.map(({ name }) => name);
  const holds = () => {
    const announced = world.published("judged.limits").at(-1)?.body.holds ?? [];
    return announced.map(({ field, nodes, detail }) => `${field} ${nodes}: ${detail}`);
  };
  return { world, policies, tainted, holds };
}

/** Two whole processes that do not hear each other. */
function splitUnder(fields: PolicyFields) {
  const under = worldUnder(fields);
  const { world, policies } = under;
  const sides = ["left", "right"].map((member) => {
    const path = new ApiPath({ clock: world.clock, random: world.random(member), count: () => {} });
    const apart = { transport: memoryTransport(world.clock), wireOver: (wire: Wire) => path.over(wire) };
    return { path, process: world.start(EVICTING, { member, policies, ...apart }) };
  });
  world.advance(2 * MINUTE);
  const holder = sides.find(({ process }) => isHolder(process));
  const other = sides.find((side) => side !== holder);
  if (holder === undefined || other === undefined) throw new Error("one side holds the Lease");
  expect(isHolder(other.process)).toBe(false);
  return { ...under, holder, other };
}

test.each([{ budgets: [{ nodes: 1 }] }, { circuitBreaker: { maxNodes: 1, duration: "30m", resetAfter: "30m" } }])(
  "%j holds over both sides",
  (fields) => {
    const { world, tainted } = splitUnder(fields);
    world.silence(["a-0", "a-1"]);
    world.advance(5 * MINUTE);
    expect(tainted()).toHaveLength(1);
  },
);

test("two sides that see different nodes admit one together", () => {
  const { world, tainted, other } = splitUnder({ budgets: [{ nodes: 1 }] });
  world.advance(1000 - (world.clock.wallMs() % 1000) + 100);
  world.kubelet("a-1").report("Ready", "False");
  world.advance(20);
  other.path.watchLagMs = 4 * S;
  world.advance(20);
  world.kubelet("a-0").report("Ready", "False");
  world.advance(MINUTE);
  expect(tainted()).toHaveLength(1);
});

test("the other side goes on when the side that permits dies", () => {
  const { world, tainted, holder } = splitUnder({ budgets: [{ nodes: 2 }] });
  holder.process.kill();
  world.silence(["a-0", "a-1", "a-2"]);
  world.advance(5 * MINUTE);
  expect(tainted()).toHaveLength(2);
});

test("the side without the Lease evicts the nodes that have no limit", () => {
  const { world, tainted, holder } = splitUnder({ budgets: [{ nodes: 2 }] });
  world.api.faults.add({ fault: { kind: "status", code: 503 }, when: isLease });
  world.silence(["a-0", "c-0"]);
  world.advance(5 * MINUTE);
  expect(tainted()).toEqual(["c-0"]);
  expect(isHolder(holder.process)).toBe(false);
});

test("nobody is permitted while the Lease cannot be renewed, and healing goes on", () => {
  const { world, policies, tainted, holds } = worldUnder({ budgets: [{ nodes: 1 }] });
  world.start(EVICTING, { member: "vigil", policies });
  world.silence(["a-0"]);
  world.advance(2 * MINUTE);
  expect(tainted()).toEqual(["a-0"]);
  const mend = world.api.faults.add({ fault: { kind: "status", code: 503 }, when: isLease });
  world.advance(MINUTE);
  world.revive(["a-0"]);
  world.silence(["a-1"]);
  world.advance(3 * MINUTE);
  expect(world.healed.map(({ name }) => name)).toEqual(["a-0"]);
  expect(tainted()).toEqual(["a-0"]);
  expect(holds()).toEqual([expect.stringMatching(/^the Lease vigil-limits 1: /)]);
  mend();
  world.advance(MINUTE);
  expect(tainted()).toEqual(["a-0", "a-1"]);
});

test("a fleet without a pod-writer admits no node under a limit, and says why", () => {
  const { world, policies, tainted, holds } = worldUnder({ budgets: [{ nodes: 1 }] });
  world.start(WITHOUT_POD_WRITER, { member: "vigil", policies });
  world.silence(["a-0", "c-0"]);
  world.advance(5 * MINUTE);
  expect(tainted()).toEqual(["c-0"]);
  expect(holds()).toEqual(["the Lease vigil-limits 1: no process is known to hold the Lease kube-system/vigil-limits"]);
  expect(world.taints("a-0")).toEqual([`${UNREACHABLE}:NoSchedule`]);
});

test("a side that does not see the cluster keeps the Lease from no other", () => {
  const { world, policies, tainted } = worldUnder({ budgets: [{ nodes: 1 }] });
  const { observer: _observer, ...unseeing } = EVICTING;
  world.start(unseeing, { member: "unseeing", policies, transport: memoryTransport(world.clock) });
  world.advance(MINUTE);
  const seeing = world.start(EVICTING, { member: "seeing", policies });
  world.silence(["a-0"]);
  world.advance(3 * MINUTE);
  expect(isHolder(seeing)).toBe(true);
  expect(tainted()).toEqual(["a-0"]);
});

test("the Lease stays where it is when a message about limits at rest is lost", () => {
  const { world, policies } = worldUnder({ budgets: [{ nodes: 1 }] }, { pulsePeriodMs: S, pulseTimeoutMs: 4 * S });
  const inner = memoryTransport(world.clock);
  let lost = Number.POSITIVE_INFINITY;
  const publish: Transport["publish"] = (subject, payload) => {
    if (!subject.includes("judged.limits") || lost++ > 0) inner.publish(subject, payload);
  };
  const process = world.start(EVICTING, { member: "vigil", policies, transport: { ...inner, publish } });
  world.advance(2 * MINUTE);
  expect(isHolder(process)).toBe(true);
  lost = 0;
  for (let second = 0; second < 40; second++) {
    world.advance(S);
    expect(isHolder(process)).toBe(true);
  }
  expect(lost).toBeGreaterThan(1);
});
