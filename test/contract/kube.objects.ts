/** The contract's part about single objects: create, read, update, names and failures. */
import { expect, test } from "vitest";
import { nodeNamed, nodePath, podNamed, type RawClient } from "./kube.provided.ts";

const PODS = "/api/v1/namespaces/default/pods";

/** Registers the tests; `client` gives the client of the server under contract. */
export function objectsContract(client: () => RawClient): void {
  test("a created object comes back with uid, resourceVersion and creation time, and reads the same", async () => {
    const created = await client().post(
      "/api/v1/nodes",
      nodeNamed("o-create", { metadata: { name: "o-create", labels: { a: "b" } } }),
    );
    expect(created.status).toBe(201);
    expect(created.headers["content-type"]).toBe("application/json");
    expect(created.object).toMatchObject({
      kind: "Node",
      apiVersion: "v1",
      metadata: {
        name: "o-create",
        labels: { a: "b" },
        uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        resourceVersion: expect.stringMatching(/^[1-9]\d*$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    });
    const read = await client().get(nodePath("o-create"));
    expect(read.status).toBe(200);
    expect(read.object).toEqual(created.object);
  });

  test("a new node carries the not-ready taint of its admission (R4.22)", async () => {
    const { object } = await client().post("/api/v1/nodes", nodeNamed("o-taint"));
    expect(object.spec).toEqual({ taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] });
  });

  test("a new pod tolerates not-ready and unreachable for 300 s by its admission (8.10)", async () => {
    const { status, object } = await client().post(PODS, podNamed("o-tolerations", "o-nowhere"));
    expect(status).toBe(201);
    expect(object).toMatchObject({
      spec: {
        nodeName: "o-nowhere",
        restartPolicy: "Always",
        terminationGracePeriodSeconds: 30,
        tolerations: [
          { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
          { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
        ],
      },
      status: { phase: "Pending", qosClass: "BestEffort" },
    });
  });

  test("generateName gives a name with five characters more", async () => {
    const pod = { ...podNamed("unused"), metadata: { generateName: "o-generated-", namespace: "default" } };
    const { status, object } = await client().post(PODS, pod);
    expect(status).toBe(201);
    expect(object.metadata.name).toMatch(/^o-generated-[a-z0-9]{5}$/);
    expect(object.metadata).toMatchObject({ generateName: "o-generated-" });
  });

  test("what is not there is 404 NotFound with the name in its details", async () => {
    const { status, object } = await client().get(nodePath("o-missing"));
    expect(status).toBe(404);
    expect(object).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'nodes "o-missing" not found',
      reason: "NotFound",
      details: { name: "o-missing", kind: "nodes" },
      code: 404,
    });
    expect((await client().delete(nodePath("o-missing"))).status).toBe(404);
    expect((await client().patch(nodePath("o-missing"), "merge-patch", {})).status).toBe(404);
  });

  test("a pod of a namespace that is not there is 404 for the namespace", async () => {
    const pod = { ...podNamed("p"), metadata: { name: "p", namespace: "o-nowhere" } };
    const { status, object } = await client().post("/api/v1/namespaces/o-nowhere/pods", pod);
    expect(status).toBe(404);
    expect(object).toMatchObject({ reason: "NotFound", message: 'namespaces "o-nowhere" not found' });
  });

  test("a second object of a name is 409 AlreadyExists", async () => {
    await client().post("/api/v1/nodes", nodeNamed("o-twice"));
    const { status, object } = await client().post("/api/v1/nodes", nodeNamed("o-twice"));
    expect(status).toBe(409);
    expect(object).toMatchObject({
      reason: "AlreadyExists",
      message: 'nodes "o-twice" already exists',
      details: { name: "o-twice", kind: "nodes" },
      code: 409,
    });
  });

  test("an update with an old resourceVersion is 409 Conflict, with the present one it is done", async () => {
    const { object: first } = await client().post("/api/v1/nodes", nodeNamed("o-update"));
    const labelled = { ...first, metadata: { ...first.metadata, labels: { step: "one" } } };
    const second = await client().put(nodePath("o-update"), labelled);
    expect(second.status).toBe(200);
    expect(second.object.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
    const stale = await client().put(nodePath("o-update"), labelled);
    expect(stale.status).toBe(409);
    expect(stale.object).toMatchObject({
      reason: "Conflict",
      message:
        'Operation cannot be fulfilled on nodes "o-update": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: "o-update", kind: "nodes" },
    });
  });

  test("an update that changes nothing keeps the resourceVersion", async () => {
    const { object } = await client().post("/api/v1/nodes", nodeNamed("o-same"));
    const again = await client().put(nodePath("o-same"), object);
    expect(again.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test("the status subresource writes only status, the main resource all but status", async () => {
    const { object } = await client().post("/api/v1/nodes", nodeNamed("o-status"));
    const status = {
      ...object,
      metadata: { ...object.metadata, labels: { kept: "yes" } },
      status: { phase: "Running" },
    };
    const unschedulable = { ...status, spec: { unschedulable: true } };
    const viaStatus = await client().put(nodePath("o-status", "/status"), unschedulable);
    expect(viaStatus.status).toBe(200);
    expect(viaStatus.object).toMatchObject({ status: { phase: "Running" } });
    expect(viaStatus.object.spec).not.toHaveProperty("unschedulable");
    const { resourceVersion } = viaStatus.object.metadata;
    const main = {
      ...unschedulable,
      metadata: { ...status.metadata, resourceVersion },
      status: { phase: "Terminated" },
    };
    const viaMain = await client().put(nodePath("o-status"), main);
    expect(viaMain.object).toMatchObject({ spec: { unschedulable: true }, status: { phase: "Running" } });
  });

  test("an object without a name, or with a bad one, is 422 Invalid", async () => {
    const bad = await client().post("/api/v1/nodes", nodeNamed("Not_A_Name"));
    expect(bad.status).toBe(422);
    expect(bad.object).toMatchObject({ reason: "Invalid", details: { name: "Not_A_Name", kind: "Node" } });
    const nameless = await client().post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: {} });
    expect(nameless.status).toBe(422);
  });

  test("a body that is not JSON of this kind is 400", async () => {
    const wrong = await client().post("/api/v1/nodes", { apiVersion: "v1", kind: "Pod", metadata: { name: "x" } });
    expect(wrong.status).toBe(400);
    expect(wrong.object).toMatchObject({ reason: "BadRequest" });
  });
}
