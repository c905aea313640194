/** Evictions by the method of a policy, on the embedded API and its disruption budgets. */
import { describe, expect, test } from "vitest";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import type { Profile } from "../../protocols/profile.ts";
import { storedAs } from "../../services/sandbox/apiserver/resources.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const REFUSAL = "The disruption budget web is still being processed by the server.";

function post(world: EvictionWorld, path: string, body: object): void {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const exchange = { response: () => {}, data: () => {}, end: () => {}, failed: () => {} };
  world.api.wire.send({ method: "POST", path, headers, body: JSON.stringify(body) }, exchange);
  world.advance(0);
}

/** A node under a policy, with one running pod that a budget keeps. */
function guarded(evictions: NodePolicySpec["evictions"], profile: Partial<Profile> = {}): EvictionWorld {
  const world = new EvictionWorld(profile, [{ name: "gpu", spec: { selector: {}, evictions } }]);
  world.addZone("a", 3);
  world.addPod("a-0", "kept", { metadata: { labels: { app: "web" } } });
  post(world, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "web", namespace: "default" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
  });
  world.run();
  world.advance(10 * S);
  return world;
}

/** The same, and a taint that evicts the pod. */
function tainted(evictions: NodePolicySpec["evictions"]): EvictionWorld {
  const world = guarded(evictions);
  world.taint("a-0", [MAINTENANCE]);
  return world;
}

const outcomes = (world: EvictionWorld) =>
  world
    .published("done.write")
    .filter(({ body }) => body.ask === "asked.eviction")
    .map(({ body }) => body);

test("Evict leaves a pod that a budget keeps, and names the budget", () => {
  const world = tainted({ method: "Evict" });
  world.advance(600 * S);
  expect(world.deleted).toEqual([]);
  expect(outcomes(world).every(({ outcome, detail }) => outcome === "throttled" && detail === REFUSAL)).toBe(true);
  expect(outcomes(world).length).toBeGreaterThan(5);
});

test("EvictThenDelete deletes it once deleteAfter has passed since its deadline", () => {
  const world = tainted({ method: "EvictThenDelete", deleteAfter: "2m" });
  world.advance(119 * S);
  expect(world.deleted).toEqual([]);
  world.advance(2 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["kept"]);
  expect(outcomes(world).at(-1)).toMatchObject({ outcome: "ok", change: expect.stringContaining(REFUSAL) });
});

test("EvictThenDelete deletes on time what its owner changes before each write", () => {
  const world = tainted({ method: "EvictThenDelete", deleteAfter: "2m" });
  let changes = 0;
  const change = ({ verb, resource, name }: Call): boolean => {
    if (resource.plural !== "pods" || name !== "kept" || !["create", "delete"].includes(verb)) return false;
    changes += 1;
    const place = { resource: storedAs("pods"), namespace: "default", name };
    world.api.registry.update(place, "main", (pod) => {
      const labels = { app: "web", changes: `${changes}` };
      return { ...pod, metadata: { ...pod.metadata, labels } };
    });
    return false;
  };
  world.api.faults.add({ fault: { kind: "stall" }, when: change });
  world.advance(119 * S);
  expect(world.deleted).toEqual([]);
  world.advance(10 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["kept"]);
  expect(outcomes(world).some(({ outcome }) => outcome === "conflict")).toBe(true);
});

describe("EvictThenDelete of a drained pod", () => {
  /** The pod of a silent node was refused once: its two minutes have begun. */
  function drained(): EvictionWorld {
    const world = guarded({ method: "EvictThenDelete", deleteAfter: "2m" }, { evictionMode: "direct" });
    world.silence(["a-0"]);
    while (outcomes(world).length === 0) world.advance(1 * S);
    return world;
  }

  test("deletes it deleteAfter after the first request", () => {
    const world = drained();
    world.advance(118 * S);
    expect(world.deleted).toEqual([]);
    world.advance(3 * S);
    expect(world.deleted.map(({ name }) => name)).toEqual(["kept"]);
  });

  test("goes on counting while the view is blind", () => {
    const world = drained();
    world.advance(40 * S);
    const publish = world.transport.publish.bind(world.transport);
    world.transport.publish = (subject, payload) => {
      if (!subject.includes(".observed.pulse.")) publish(subject, payload);
    };
    world.advance(40 * S);
    world.transport.publish = publish;
    world.advance(38 * S);
    expect(world.deleted).toEqual([]);
    world.advance(3 * S);
    expect(world.deleted.map(({ name }) => name)).toEqual(["kept"]);
  });
});

test("the requests of a drain by another method name their own instants", () => {
  const world = guarded({ method: "Evict" }, { evictionMode: "direct" });
  world.silence(["a-0"]);
  world.advance(420 * S);
  const requests = world.published("asked.eviction");
  expect(requests.length).toBeGreaterThan(5);
  expect(requests.map(({ body }) => body.deadlineAt)).toEqual(requests.map(({ at }) => at));
});

test("Delete asks no budget, as upstream", () => {
  const world = tainted({ method: "Delete" });
  world.advance(1 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["kept"]);
});

test.each([200, 230, 250, 270, 300])("EvictThenDelete under a rate deletes it %i s after its deadline", (seconds) => {
  const world = guarded({ method: "EvictThenDelete", deleteAfter: `${seconds}s`, maxPerMinute: 10 });
  const toleration = { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 };
  world.patch({ kind: "Pod", namespace: "default", name: "kept" }, { spec: { tolerations: [toleration] } });
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(1 * S + seconds * S - 1);
  expect(world.deleted).toEqual([]);
  world.advance(5 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["kept"]);
});
