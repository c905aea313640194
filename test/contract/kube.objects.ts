/** The contract's part about single objects: create, read, update, names and failures. */
import { expect, test } from "vitest";
import { nodeNamed, nodePath, podNamed, type RawClient } from "./kube.provided.ts";

const PODS = "/api/v1/namespaces/default/pods";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const EVENTS = "/api/v1/namespaces/default/events";
const FOREIGN_UID = "00000000-0000-4000-8000-000000000000";

/** Registers the tests; `client` gives the client of the server under contract. */
export function objectsContract(client: () => RawClient): void {
  test("a created object has uid, resourceVersion and creation time, and reads the same", async () => {
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

  test("generateName gives a name with five more characters", async () => {
    const pod = { ...podNamed("unused"), metadata: { generateName: "o-generated-", namespace: "default" } };
    const { status, object } = await client().post(PODS, pod);
    expect(status).toBe(201);
    expect(object.metadata.name).toMatch(/^o-generated-[a-z0-9]{5}$/);
    expect(object.metadata).toMatchObject({ generateName: "o-generated-" });
  });

  test("a missing object is 404 NotFound with its name in the details", async () => {
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

  test("a pod of a missing namespace is 404 for the namespace", async () => {
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

  test("an update with an old resourceVersion is 409 Conflict, with the present one ok", async () => {
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

  test.each([
    ["leases", LEASES, "coordination.k8s.io/v1", "Lease"],
    ["events", EVENTS, "v1", "Event"],
    ["nodes", "/api/v1/nodes", "v1", "Node"],
    ["pods", PODS, "v1", "Pod"],
  ])("an update with a uid never creates a deleted object again: %s", async (_, path, apiVersion, kind) => {
    const gone = { apiVersion, kind, metadata: { name: "o-gone", uid: FOREIGN_UID, resourceVersion: "1" } };
    const { status, object } = await client().put(`${path}/o-gone`, gone);
    expect(status).toBe(409);
    expect(object).toMatchObject({
      reason: "Conflict",
      message: expect.stringContaining(`UID in precondition: ${FOREIGN_UID}, UID in object meta: `),
    });
    expect((await client().get(`${path}/o-gone`)).status).toBe(404);
  });

  test.each([
    ["its resourceVersion", (version: string | undefined) => version],
    ["an old resourceVersion", () => "1"],
    ["none", () => undefined],
  ])("an update that names another uid and %s is 409 Conflict about the uid", async (_, versionFrom) => {
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec: { leaseDurationSeconds: 40 } };
    const { object } = await client().post(LEASES, { ...body, metadata: { generateName: "o-other-" } });
    const { name, uid, resourceVersion } = object.metadata;
    const other = { name, uid: FOREIGN_UID, resourceVersion: versionFrom(resourceVersion) };
    const { status, object: refusal } = await client().put(`${LEASES}/${name}`, { ...body, metadata: other });
    expect(status).toBe(409);
    expect(refusal).toMatchObject({
      reason: "Conflict",
      message: expect.stringContaining(`UID in precondition: ${FOREIGN_UID}, UID in object meta: ${uid}`),
    });
  });

  test("an apply with a uid never creates a deleted object again", async () => {
    const gone = { apiVersion: "v1", kind: "Node", metadata: { name: "o-applied", uid: FOREIGN_UID } };
    const { status, object } = await client().apply(nodePath("o-applied"), gone);
    expect(status).toBe(409);
    expect(object.message).toContain(FOREIGN_UID);
    expect((await client().get(nodePath("o-applied"))).status).toBe(404);
  });

  test("a node is in no namespace, whatever its creator or a patch sets", async () => {
    const namespace = "default";
    const created = await client().post(
      "/api/v1/nodes",
      nodeNamed("o-placed", { metadata: { name: "o-placed", namespace } }),
    );
    expect(created.status).toBe(201);
    expect(created.object.metadata).not.toHaveProperty("namespace");
    const labels = { moved: "no" };
    await client().patch(nodePath("o-placed"), "merge-patch", { metadata: { namespace, labels } });
    const { items } = (await client().get("/api/v1/nodes?fieldSelector=metadata.name%3Do-placed")).object;
    expect(items).toMatchObject([{ metadata: { name: "o-placed", labels } }]);
  });

  test("an update without a uid creates a missing lease, but no node", async () => {
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "o-made" } };
    expect((await client().put(`${LEASES}/o-made`, lease)).status).toBe(201);
    expect((await client().put(nodePath("o-made"), nodeNamed("o-made"))).status).toBe(404);
  });

  test("an update that changes nothing keeps the resourceVersion", async () => {
    const { object } = await client().post("/api/v1/nodes", nodeNamed("o-same"));
    const again = await client().put(nodePath("o-same"), object);
    expect(again.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test("the status subresource writes only status, the main resource all the rest", async () => {
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

  test("a node's quantities are written in their shortest form; an invalid one is 400", async () => {
    const capacity = { cpu: "4000m", memory: "1024Mi", pods: "1000", a: "0.5", b: "0.5Ki", c: "1e3", d: "1500Mi" };
    const { object } = await client().post("/api/v1/nodes", nodeNamed("o-quantities", { status: { capacity } }));
    const shortest = { cpu: "4", memory: "1Gi", pods: "1k", a: "500m", b: "512", c: "1e3", d: "1500Mi" };
    expect(object.status).toMatchObject({ capacity: shortest, allocatable: shortest });
    const bad = await client().post("/api/v1/nodes", nodeNamed("o-none", { status: { capacity: { cpu: "many" } } }));
    expect(bad.status).toBe(400);
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
