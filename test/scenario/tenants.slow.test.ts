/**
 * What a tenant can prevent who may create pods, disruption budgets and Events in one namespace: only evictions that
 * the method of a policy leaves to budgets, and the Events about their own pods.
 */
import { describe, expect, test } from "vitest";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
/** Far more than Vigil requests in a second. */
const TENANT_PODS = 300;

/** Posts an object as a tenant does. */
function post(world: EvictionWorld, path: string, body: object): void {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const exchange = { response: () => {}, data: () => {}, end: () => {}, failed: () => {} };
  world.api.wire.send({ method: "POST", path, headers, body: JSON.stringify(body) }, exchange);
  world.advance(0);
}

/** A node with one pod of another tenant, under a policy. */
function shared(evictions: NodePolicySpec["evictions"]): EvictionWorld {
  const world = new EvictionWorld({}, [{ name: "all", spec: { selector: {}, evictions } }]);
  world.addZone("a", 3);
  const toleration = { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 };
  world.addTolerantPod("a-0", "other", [toleration]);
  return world;
}

/** When the pod of the other tenant was evicted, from its node's taint. */
function evictedAfterMs(world: EvictionWorld): number | null {
  const beganMs = world.clock.monotonicMs();
  world.taint("a-0", [MAINTENANCE]);
  world.advance(120 * S);
  const evicted = world.deleted.find(({ name }) => name === "other");
  return evicted === undefined ? null : evicted.atMs - beganMs;
}

describe("a budget that keeps hundreds of pods of a tenant", () => {
  test.each([
    ["Evict", { method: "Evict" }, 0],
    ["EvictThenDelete", { method: "EvictThenDelete", deleteAfter: "90s" }, TENANT_PODS],
    ["Delete", { method: "Delete" }, TENANT_PODS],
  ] as const)("delays no other pod under %s", (_method, evictions, gone) => {
    const world = shared(evictions);
    const labels = { app: "kept" };
    for (let index = 0; index < TENANT_PODS; index++) {
      world.addPod("a-0", `kept-${index}`, { namespace: "kube-system", metadata: { labels } });
    }
    post(world, "/apis/policy/v1/namespaces/kube-system/poddisruptionbudgets", {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "kept", namespace: "kube-system" },
      spec: { minAvailable: "100%", selector: { matchLabels: labels } },
    });
    world.run();
    world.advance(10 * S);
    expect(evictedAfterMs(world)).toBeGreaterThanOrEqual(60 * S);
    const other = world.deleted.find(({ name }) => name === "other");
    expect(other?.atMs).toBeLessThan(10 * S + 63 * S);
    expect(world.deleted.filter(({ name }) => name.startsWith("kept"))).toHaveLength(gone);
  });
});

describe("Events that a namespace does not accept", () => {
  const isEvent = ({ verb, resource }: Call): boolean => resource.plural === "events" && verb !== "list";

  /** The same world with a process that writes Events as well. */
  function reporting(): EvictionWorld {
    const world = shared({});
    world.start({ ...EVICTING, ledger: (io) => startLedger(io).stop }, { member: "vigil" });
    world.advance(10 * S);
    return world;
  }

  test.each([
    ["for a quota", { kind: "status", code: 403 }],
    ["as their names are taken", { kind: "status", code: 409 }],
    ["as there are too many", { kind: "status", code: 429 }],
    ["for ever", { kind: "stall" }],
  ] as const)("%s delay no eviction", (_why, fault) => {
    const usual = evictedAfterMs(reporting());
    const world = reporting();
    let refused = 0;
    world.api.faults.add({
      fault,
      when: (call) => {
        if (isEvent(call)) refused += 1;
        return isEvent(call);
      },
    });
    expect(evictedAfterMs(world)).toBe(usual);
    expect(refused).toBeGreaterThan(0);
  });
});
