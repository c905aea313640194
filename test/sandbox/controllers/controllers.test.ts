/** The controllers of an embedded cluster: what a user of kubectl sees of them. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../../protocols/ports.ts";
import {
  type ApiObject,
  childList,
  type JsonObject,
  textAt,
  textOf,
} from "../../../services/sandbox/apiserver/api-objects.ts";
import { startControllers } from "../../../services/sandbox/controllers/controllers.ts";
import { Embedded, namesIn, node, PODS, pod } from "../apiserver/embedded.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const WEB = `${DEPLOYMENTS}/web`;

/** An embedded cluster with controllers, and kubelets that run what is bound. */
class Played extends Embedded {
  constructor() {
    super();
    startControllers(this.api, this.clock);
  }

  /** Adds a ready node without taints. */
  addNode(name: string, labels: Record<string, string> = {}): void {
    this.ask("POST", "/api/v1/nodes", node(name, labels));
    this.ask("PATCH", `/api/v1/nodes/${name}`, { spec: { taints: [] } }, "merge");
    this.ask("PATCH", `/api/v1/nodes/${name}/status`, ready(), "merge");
  }

  /** Makes every bound pod run. */
  runPods(): void {
    for (const { metadata, spec } of this.pods()) {
      if ((spec as JsonObject).nodeName !== undefined) {
        this.ask("PATCH", `${PODS}/${metadata.name}/status`, ready({ phase: "Running" }), "merge");
      }
    }
  }

  pods(): KubeObject[] {
    return this.ask("GET", PODS).object.items as KubeObject[];
  }

  /** The nodes of the pods; "" for one on none. */
  nodesOfPods(): string[] {
    return this.pods().map((one) => textAt(one as ApiObject, "spec.nodeName"));
  }
}

function ready(more: JsonObject = {}): JsonObject {
  return { status: { ...more, conditions: [{ type: "Ready", status: "True" }] } };
}

function deployment(replicas: number, image = "i:1"): JsonObject {
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image }] } };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec };
}

test("a Deployment's pods are spread over ready nodes", () => {
  const played = new Played();
  played.addNode("n-1");
  played.addNode("n-2");
  played.ask("POST", "/api/v1/nodes", node("n-dead"));
  played.ask("POST", DEPLOYMENTS, deployment(4));
  expect(played.nodesOfPods().sort()).toEqual(["n-1", "n-1", "n-2", "n-2"]);
  played.runPods();
  expect(played.ask("GET", WEB).object.status).toMatchObject({ replicas: 4, readyReplicas: 4, updatedReplicas: 4 });
});

test("a pod that is evicted comes back on another node", () => {
  const played = new Played();
  played.addNode("n-1");
  played.ask("POST", DEPLOYMENTS, deployment(1));
  played.runPods();
  const [first] = played.pods();
  played.addNode("n-2");
  const taints = [{ key: "gone", effect: "NoExecute" }];
  played.ask("PATCH", "/api/v1/nodes/n-1", { spec: { taints } }, "merge");
  const metadata = { name: first?.metadata.name ?? "" };
  expect(played.ask("POST", `${PODS}/${metadata.name}/eviction`, { metadata }).status).toBe(201);
  expect(played.pods()).toHaveLength(2);
  played.ask("DELETE", `${PODS}/${metadata.name}`, { gracePeriodSeconds: 0 });
  expect(played.nodesOfPods()).toEqual(["n-2"]);
});

test("a pod waits for a node that it tolerates and selects", () => {
  const played = new Played();
  played.addNode("n-1", { pool: "a" });
  played.ask("POST", PODS, pod("picky", "", { spec: { nodeSelector: { pool: "b" } } }));
  expect(played.nodesOfPods()).toEqual([""]);
  played.addNode("n-2", { pool: "b" });
  expect(played.nodesOfPods()).toEqual(["n-2"]);
});

test("another template replaces the pods, each after a new one is ready", () => {
  const played = new Played();
  played.addNode("n-1");
  played.ask("POST", DEPLOYMENTS, deployment(2));
  played.runPods();
  expect(played.ask("PUT", WEB, deployment(2, "i:2")).status).toBe(200);

  const images = (): string[] =>
    played.pods().map(({ spec }) => textOf(childList(spec as JsonObject, "containers")[0] ?? {}, "image"));
  expect(images().toSorted()).toEqual(["i:1", "i:1", "i:2", "i:2"]);
  played.runPods();
  for (const { metadata } of played.pods()) {
    if (metadata.deletionTimestamp !== undefined) {
      played.ask("DELETE", `${PODS}/${metadata.name}`, { gracePeriodSeconds: 0 });
    }
  }
  expect(images()).toEqual(["i:2", "i:2"]);
  expect(played.ask("GET", WEB).object).toMatchObject({
    metadata: { generation: 2 },
    status: { observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2, replicas: 2 },
  });
});

test("fewer replicas delete pods, and a deleted Deployment takes its pods along", () => {
  const played = new Played();
  played.ask("POST", DEPLOYMENTS, deployment(3));
  expect(played.pods()).toHaveLength(3);
  played.ask("PATCH", WEB, { spec: { replicas: 1 } }, "merge");
  expect(played.pods()).toHaveLength(1);
  expect(played.ask("DELETE", WEB).status).toBe(200);
  expect(played.pods()).toEqual([]);
  expect(namesIn(played.ask("GET", "/apis/apps/v1/namespaces/default/replicasets"))).toEqual([]);
});

test("a deleted namespace goes when its last object has gone", () => {
  const played = new Played();
  played.ask("POST", "/api/v1/namespaces", { metadata: { name: "space" } });
  played.ask("POST", "/api/v1/namespaces/space/configmaps", { metadata: { name: "map" }, data: { a: "b" } });
  played.ask("POST", "/api/v1/namespaces/space/pods", pod("held", "n"));
  expect(played.ask("DELETE", "/api/v1/namespaces/space").object.status).toMatchObject({ phase: "Terminating" });
  expect(namesIn(played.ask("GET", "/api/v1/namespaces/space/configmaps"))).toEqual([]);
  expect(played.ask("GET", "/api/v1/namespaces/space").status).toBe(200);
  played.ask("DELETE", "/api/v1/namespaces/space/pods/held", { gracePeriodSeconds: 0 });
  expect(played.ask("GET", "/api/v1/namespaces/space").status).toBe(404);
});

test("an empty namespace is deleted at once", () => {
  const played = new Played();
  played.ask("POST", "/api/v1/namespaces", { metadata: { name: "space" } });
  played.ask("DELETE", "/api/v1/namespaces/space");
  expect(played.ask("GET", "/api/v1/namespaces/space").status).toBe(404);
});

test.each<[string, JsonObject, number]>([
  ["minAvailable: 2", { minAvailable: 2 }, 1],
  ["minAvailable: 50%", { minAvailable: "50%" }, 1],
  ["maxUnavailable: 1", { maxUnavailable: 1 }, 1],
  ["maxUnavailable: 100%", { maxUnavailable: "100%" }, 3],
  ["minAvailable: 4", { minAvailable: 4 }, 0],
])("three ready pods under %s allow so many disruptions", (_what, amount, allowed) => {
  const played = new Played();
  played.addNode("n-1");
  played.ask("POST", DEPLOYMENTS, deployment(3));
  const spec = { ...amount, selector: { matchLabels: { app: "web" } } };
  played.ask("POST", BUDGETS, { metadata: { name: "web" }, spec });
  expect(played.ask("GET", `${BUDGETS}/web`).object.status).toMatchObject({ disruptionsAllowed: 0 });
  played.runPods();
  expect(played.ask("GET", `${BUDGETS}/web`).object.status).toMatchObject({
    currentHealthy: 3,
    expectedPods: 3,
    disruptionsAllowed: allowed,
    observedGeneration: 1,
  });
});

test("evictions stop when the budget is spent, and go on when a pod has come back", () => {
  const played = new Played();
  played.addNode("n-1");
  played.ask("POST", DEPLOYMENTS, deployment(2));
  const spec = { maxUnavailable: 1, selector: { matchLabels: { app: "web" } } };
  played.ask("POST", BUDGETS, { metadata: { name: "web" }, spec });
  played.runPods();
  const [first, second] = played.pods().map(({ metadata }) => ({ name: metadata.name }));
  const evict = (metadata = { name: "" }): number =>
    played.ask("POST", `${PODS}/${metadata.name}/eviction`, { metadata }).status;
  expect([evict(first), evict(second)]).toEqual([201, 429]);
  played.ask("DELETE", `${PODS}/${first?.name}`, { gracePeriodSeconds: 0 });
  played.runPods();
  expect(evict(second)).toBe(201);
});
