/** The contract's part about deletes: preconditions, grace periods and what remains. */
import { expect, test } from "vitest";
import { nodeNamed, nodePath, podNamed, podPath, type RawClient } from "./kube.provided.ts";

const PODS = "/api/v1/namespaces/default/pods";

/** Registers the tests. */
export function deletesContract(client: () => RawClient): void {
  test("a deleted node is gone, and the answer is a Status that names it", async () => {
    const { object } = await client().post("/api/v1/nodes", nodeNamed("d-node"));
    const deleted = await client().delete(nodePath("d-node"));
    expect(deleted.status).toBe(200);
    expect(deleted.object).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "d-node", kind: "nodes", uid: object.metadata.uid },
    });
    expect((await client().get(nodePath("d-node"))).status).toBe(404);
  });

  test("a pod on a node is only marked for deletion, after its own grace period", async () => {
    const { object } = await client().post(PODS, podNamed("d-grace", "d-somewhere"));
    const deleted = await client().delete(podPath("d-grace"));
    expect(deleted.status).toBe(200);
    expect(deleted.object).toMatchObject({
      kind: "Pod",
      metadata: {
        uid: object.metadata.uid,
        deletionGracePeriodSeconds: 30,
        deletionTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    });
    const { creationTimestamp } = object.metadata;
    const graceMs =
      Date.parse(String(deleted.object.metadata.deletionTimestamp)) - Date.parse(String(creationTimestamp));
    expect(graceMs).toBeGreaterThanOrEqual(30_000);
    expect(graceMs).toBeLessThan(40_000);
    const left = await client().get(podPath("d-grace"));
    expect(left.status).toBe(200);
    expect(left.object.metadata.deletionTimestamp).toBe(deleted.object.metadata.deletionTimestamp);
  });

  test("a second delete keeps the earlier deletion time; grace 0 removes the pod", async () => {
    await client().post(PODS, podNamed("d-twice", "d-somewhere"));
    const first = await client().delete(podPath("d-twice"));
    const second = await client().delete(podPath("d-twice"));
    expect(second.object.metadata.deletionTimestamp).toBe(first.object.metadata.deletionTimestamp);
    const last = await client().delete(podPath("d-twice"), { gracePeriodSeconds: 0 });
    expect(last.status).toBe(200);
    expect((await client().get(podPath("d-twice"))).status).toBe(404);
  });

  test("a pod that is on no node is gone at once", async () => {
    await client().post(PODS, podNamed("d-unbound"));
    expect((await client().delete(podPath("d-unbound"))).status).toBe(200);
    expect((await client().get(podPath("d-unbound"))).status).toBe(404);
  });

  test("a delete for another uid or resourceVersion is 409 Conflict", async () => {
    const { object } = await client().post(PODS, podNamed("d-other", "d-somewhere"));
    const uid = await client().delete(podPath("d-other"), {
      preconditions: { uid: "00000000-0000-4000-8000-000000000000" },
    });
    expect(uid.status).toBe(409);
    expect(uid.object).toMatchObject({ reason: "Conflict" });
    const version = await client().delete(podPath("d-other"), { preconditions: { resourceVersion: "1" } });
    expect(version.status).toBe(409);
    const { uid: own, resourceVersion } = object.metadata;
    const right = await client().delete(podPath("d-other"), { preconditions: { uid: own, resourceVersion } });
    expect(right.status).toBe(200);
  });

  test("a delete may name the version after a status patch; an older one is 409", async () => {
    const { object } = await client().post(PODS, podNamed("d-marked", "d-somewhere"));
    const status = { conditions: [{ type: "DisruptionTarget", status: "True" }] };
    const marked = await client().patch(`${podPath("d-marked")}/status`, "strategic-merge-patch", { status });
    const { uid, resourceVersion } = marked.object.metadata;
    const before = { uid, resourceVersion: object.metadata.resourceVersion };
    const refused = await client().delete(podPath("d-marked"), { preconditions: before });
    expect(refused.status).toBe(409);
    expect(refused.object).toMatchObject({ reason: "Conflict" });
    const right = await client().delete(podPath("d-marked"), { preconditions: { uid, resourceVersion } });
    expect(right.status).toBe(200);
    const again = await client().delete(podPath("d-marked"), { preconditions: { uid, resourceVersion } });
    expect(again.status).toBe(409);
  });

  test("an object of the same name made after a delete has another uid", async () => {
    const first = await client().post("/api/v1/nodes", nodeNamed("d-again"));
    await client().delete(nodePath("d-again"));
    const second = await client().post("/api/v1/nodes", nodeNamed("d-again"));
    expect(second.object.metadata.uid).not.toBe(first.object.metadata.uid);
  });

  test("a finalizer keeps a deleted object until it is removed", async () => {
    await client().post(
      "/api/v1/nodes",
      nodeNamed("d-held", { metadata: { name: "d-held", finalizers: ["vigil.test/hold"] } }),
    );
    const marked = await client().delete(nodePath("d-held"));
    expect(marked.object.metadata).toMatchObject({ deletionTimestamp: expect.any(String) });
    expect((await client().get(nodePath("d-held"))).status).toBe(200);
    await client().patch(nodePath("d-held"), "merge-patch", { metadata: { finalizers: null } });
    expect((await client().get(nodePath("d-held"))).status).toBe(404);
  });
}
