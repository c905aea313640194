/** The first start ever of a fleet whose policy limits the rate of evictions, and what only looks like one. */
import { expect, test } from "vitest";
import { FREEZE_CONFIG_MAP, LIMITS_LEASE } from "../../../protocols/names.ts";
import { Urgency } from "../../../protocols/ports.ts";
import { policyService } from "../../../services/policy/policy.service.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { mostInAMinute } from "./evictions-per-minute.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const RATE = { evictions: { maxPerMinute: 1 } } as const;
const LEASE = { kind: "Lease", ...LIMITS_LEASE } as const;

interface Installed {
  /** The spec of the Lease; null for no Lease. */
  readonly lease?: object | null;
  /** The data of the ConfigMap; null for no ConfigMap. */
  readonly memory?: Readonly<Record<string, string>> | null;
}

/** Three pods of zone a, and what the manifests install. */
function installed({ lease = {}, memory = {} }: Installed) {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  for (const index of [0, 1, 2]) world.addTolerantPod(`a-${index}`, `pod-${index}`);
  const create = (ref: typeof LEASE | typeof FREEZE_CONFIG_MAP, more: object): void => {
    const { kind, namespace, name } = ref;
    const apiVersion = kind === "Lease" ? "coordination.k8s.io/v1" : "v1";
    world.write({
      verb: "create",
      ref,
      urgency: Urgency.status,
      body: { apiVersion, kind, metadata: { namespace, name }, ...more },
    });
  };
  if (lease !== null) create(LEASE, { spec: lease });
  if (memory !== null) create(FREEZE_CONFIG_MAP, { data: memory });
  world.advance(0);
  const drain = () => {
    for (const index of [0, 1, 2]) world.taint(`a-${index}`, [MAINTENANCE]);
  };
  return { world, drain };
}

function start(world: EvictionWorld, policies: HandPolicies) {
  return world.start({ ...EVICTING, policy: policyService([]) }, { member: "vigil", policies });
}

test.each<[string, Installed]>([
  ["of the manifests", {}],
  ["without a Lease", { lease: null }],
])("the first start %s waits for nothing", (_what, given) => {
  const { world, drain } = installed(given);
  start(world, new HandPolicies(RATE));
  drain();
  world.advance(10 * S);
  expect(world.deleted).toHaveLength(1);
  world.advance(200 * S);
  expect(world.deleted).toHaveLength(3);
  expect(mostInAMinute(world.deleted)).toBe(1);
});

test.each<[string, Installed]>([
  ["a Lease that a process has held", { lease: { leaseTransitions: 1, holderIdentity: "" } }],
  ["a memory of limits, and no Lease", { lease: null, memory: { limits: "{}" } }],
  ["neither Lease nor ConfigMap", { lease: null, memory: null }],
])("a start with %s waits for unknown evictions", (_what, given) => {
  const { world, drain } = installed(given);
  start(world, new HandPolicies(RATE));
  drain();
  world.advance(85 * S);
  expect(world.deleted).toHaveLength(0);
  world.advance(20 * S);
  expect(world.deleted).toHaveLength(1);
});

test("a Lease that is deleted makes no start the first one", () => {
  const { world, drain } = installed({});
  const first = start(world, new HandPolicies(RATE));
  drain();
  world.advance(5 * S);
  expect(world.deleted).toHaveLength(1);
  first.kill();
  world.write({ verb: "delete", ref: LEASE, urgency: Urgency.status });
  start(world, new HandPolicies(RATE));
  world.advance(85 * S);
  expect(world.deleted).toHaveLength(1);
});

test("a policy that gets its first rate later waits for evictions before it", () => {
  const { world, drain } = installed({});
  const policies = new HandPolicies({});
  start(world, policies);
  world.advance(10 * S);
  policies.put(RATE);
  drain();
  world.advance(85 * S);
  expect(world.deleted).toHaveLength(0);
});
