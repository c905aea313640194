/** The contract's part about patches: strategic merge, merge and JSON patch, with their preconditions. */
import { expect, test } from "vitest";
import { nodeNamed, nodePath, podNamed, podPath, type RawAnswer, type RawClient } from "./kube.provided.ts";

const SMP = "strategic-merge-patch";
const NODES = "/api/v1/nodes";

/** Registers the tests. */
export function patchesContract(client: () => RawClient): void {
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: "R",
    message: "M",
    lastHeartbeatTime: "2026-01-01T00:00:00Z",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
  const nodeWithConditions = async (name: string): Promise<RawAnswer> => {
    const { object } = await client().post(NODES, nodeNamed(name));
    const status = {
      conditions: [
        condition("MemoryPressure", "False"),
        condition("DiskPressure", "False"),
        condition("Ready", "True"),
      ],
    };
    return client().put(nodePath(name, "/status"), { ...object, status });
  };

  test("conditions merge by type: the named one changes in place, the others stay", async () => {
    await nodeWithConditions("p-conditions");
    const patched = await client().patch(nodePath("p-conditions", "/status"), SMP, {
      status: { conditions: [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }] },
    });
    expect(patched.status).toBe(200);
    expect(patched.object.status).toMatchObject({
      conditions: [
        condition("MemoryPressure", "False"),
        condition("DiskPressure", "False"),
        { ...condition("Ready", "Unknown"), reason: "NodeStatusUnknown" },
      ],
    });
  });

  test("$setElementOrder/conditions orders them and places a new condition", async () => {
    await nodeWithConditions("p-order");
    const order = ["Ready", "PIDPressure", "MemoryPressure", "DiskPressure"].map((type) => ({ type }));
    const patched = await client().patch(nodePath("p-order", "/status"), SMP, {
      status: { "$setElementOrder/conditions": order, conditions: [condition("PIDPressure", "False")] },
    });
    expect(patched.object.status).toMatchObject({ conditions: order });
  });

  test("$patch delete removes one condition", async () => {
    await nodeWithConditions("p-delete");
    const patched = await client().patch(nodePath("p-delete", "/status"), SMP, {
      status: { conditions: [{ $patch: "delete", type: "DiskPressure" }] },
    });
    expect(patched.object.status).toMatchObject({ conditions: [{ type: "MemoryPressure" }, { type: "Ready" }] });
  });

  test("taints are replaced as a whole, and null removes them all (R4.13)", async () => {
    const { object } = await client().post(NODES, nodeNamed("p-taints"));
    const { resourceVersion } = object.metadata;
    const taints = [
      { effect: "NoExecute", key: "node.kubernetes.io/unreachable", timeAdded: "2026-01-01T00:00:00Z" },
      { effect: "NoSchedule", key: "foreign", value: "kept" },
    ];
    const added = await client().patch(nodePath("p-taints"), SMP, { metadata: { resourceVersion }, spec: { taints } });
    expect(added.status).toBe(200);
    expect(added.object.spec).toEqual({ taints });
    const emptied = await client().patch(nodePath("p-taints"), SMP, {
      metadata: { resourceVersion: added.object.metadata.resourceVersion },
      spec: { taints: null },
    });
    expect(emptied.object.spec).toEqual({});
  });

  test("a JSON patch may test the version of its object and the whole list of taints", async () => {
    const { object } = await client().post(NODES, nodeNamed("p-tested"));
    const path = nodePath("p-tested");
    const version = (tested: RawAnswer["object"]) => tested.metadata.resourceVersion;
    const taints = [{ effect: "NoSchedule", key: "foreign", value: "kept" }];
    const patch = (resourceVersion: unknown, before: unknown, after: unknown) =>
      client().patch(path, "json-patch", [
        { op: "test", path: "/metadata/uid", value: object.metadata.uid },
        { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
        { op: "test", path: "/spec/taints", value: before },
        { op: "add", path: "/spec/taints", value: after },
      ]);
    const standing = object.spec as { taints?: unknown };
    const added = await patch(version(object), standing.taints ?? null, taints);
    expect([added.status, (added.object.spec as { taints?: unknown }).taints]).toEqual([200, taints]);
    const forged = [{ effect: "NoExecute", key: "forged" }];
    for (const answer of [
      await patch(version(object), taints, forged),
      await patch(version(added.object), forged, forged),
    ]) {
      expect(answer.status).toBe(422);
    }
    expect((await patch(version(added.object), taints, [])).status).toBe(200);
  });

  test("a patch with an old resourceVersion is 409 Conflict and changes nothing", async () => {
    const { object } = await client().post(NODES, nodeNamed("p-stale"));
    await client().patch(nodePath("p-stale"), "merge-patch", { metadata: { labels: { moved: "on" } } });
    const { resourceVersion } = object.metadata;
    for (const kind of [SMP, "merge-patch"] as const) {
      const stale = await client().patch(nodePath("p-stale"), kind, {
        metadata: { resourceVersion },
        spec: { unschedulable: true },
      });
      expect(stale.status).toBe(409);
      expect(stale.object).toMatchObject({ reason: "Conflict", details: { name: "p-stale", kind: "nodes" } });
    }
    expect((await client().get(nodePath("p-stale"))).object.spec).not.toHaveProperty("unschedulable");
  });

  test("a patch with another object's uid is refused, with its own accepted (R8.29)", async () => {
    const { object } = await client().post("/api/v1/namespaces/default/pods", podNamed("p-uid", "p-node"));
    const target = { type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager" };
    const status = { conditions: [target] };
    const other = await client().patch(podPath("p-uid", "/status"), SMP, {
      metadata: { uid: "00000000-0000-4000-8000-000000000000" },
      status,
    });
    // Some versions call it a conflict, some an invalid change of an immutable field.
    expect([409, 422]).toContain(other.status);
    expect(JSON.stringify(other.object)).toMatch(/uid/i);
    const own = await client().patch(podPath("p-uid", "/status"), SMP, {
      metadata: { uid: object.metadata.uid },
      status,
    });
    expect(own.status).toBe(200);
    expect(own.object.status).toMatchObject({ conditions: [target] });
  });

  test("a patch that changes nothing keeps the resourceVersion", async () => {
    const { object } = await client().post(
      NODES,
      nodeNamed("p-same", { metadata: { name: "p-same", labels: { a: "b" } } }),
    );
    const patched = await client().patch(nodePath("p-same"), SMP, { metadata: { labels: { a: "b" } } });
    expect(patched.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test("a merge patch merges maps, removes nulls and replaces lists", async () => {
    await client().post(NODES, nodeNamed("p-merge", { metadata: { name: "p-merge", labels: { a: "1", b: "2" } } }));
    const patched = await client().patch(nodePath("p-merge"), "merge-patch", {
      metadata: { labels: { a: null, c: "3" } },
      spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
    });
    expect(patched.object.metadata).toMatchObject({ labels: { b: "2", c: "3" } });
    expect(patched.object.metadata.labels).not.toHaveProperty("a");
    expect(patched.object.spec).toEqual({ taints: [{ key: "k", effect: "NoSchedule" }] });
  });

  test("a JSON patch tests, adds, replaces and removes; a failed test is 422", async () => {
    await client().post(NODES, nodeNamed("p-json", { metadata: { name: "p-json", labels: { a: "1" } } }));
    const patched = await client().patch(nodePath("p-json"), "json-patch", [
      { op: "test", path: "/metadata/labels/a", value: "1" },
      { op: "add", path: "/metadata/labels/b~1c", value: "2" },
      { op: "replace", path: "/spec/taints/0/key", value: "k" },
      { op: "remove", path: "/metadata/labels/a" },
    ]);
    expect(patched.status).toBe(200);
    expect(patched.object).toMatchObject({ metadata: { labels: { "b/c": "2" } }, spec: { taints: [{ key: "k" }] } });
    const failed = await client().patch(nodePath("p-json"), "json-patch", [
      { op: "test", path: "/metadata/labels/a", value: "1" },
    ]);
    expect(failed.status).toBe(422);
  });

  test("a JSON patch test for null matches a missing field, at any resourceVersion", async () => {
    await nodeWithConditions("p-guarded");
    const path = nodePath("p-guarded", "/status");
    const { object } = await client().get(nodePath("p-guarded"));
    const { conditions } = object.status as { conditions: unknown[] };
    const guards = [
      { op: "test", path: "/metadata/uid", value: object.metadata.uid },
      { op: "test", path: "/metadata/annotations", value: null },
      { op: "test", path: "/status/conditions/2", value: conditions[2] },
    ];
    const change = { op: "replace", path: "/status/conditions/2", value: condition("Ready", "Unknown") };
    await client().patch(nodePath("p-guarded"), SMP, { metadata: { labels: { moved: "on" } } });
    const patched = await client().patch(path, "json-patch", [...guards, change]);
    expect(patched.status).toBe(200);
    expect(patched.object.status).toMatchObject({ conditions: [{}, {}, condition("Ready", "Unknown")] });
    expect((await client().patch(path, "json-patch", [...guards, change])).status).toBe(422);
    const added = { op: "add", path: "/metadata/annotations", value: { a: "b" } };
    const annotated = await client().patch(nodePath("p-guarded"), "json-patch", [...guards.slice(0, 2), added]);
    expect(annotated.status).toBe(200);
    expect((await client().patch(nodePath("p-guarded"), "json-patch", [...guards.slice(0, 2), added])).status).toBe(
      422,
    );
    const absent = (name: string) => [{ op: "test", path: `/metadata/annotations/${name}`, value: null }];
    expect((await client().patch(nodePath("p-guarded"), "json-patch", absent("vigil.v1~1b"))).status).toBe(200);
    expect((await client().patch(nodePath("p-guarded"), "json-patch", absent("a"))).status).toBe(422);
  });

  test("node addresses are replaced with a trailing $patch replace (R9.26)", async () => {
    await client().post(NODES, nodeNamed("p-addresses"));
    const addresses = (hostname: string) => [
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "Hostname", address: hostname },
    ];
    const path = nodePath("p-addresses", "/status");
    await client().patch(path, SMP, { status: { addresses: addresses("one") } });
    const patched = await client().patch(path, SMP, {
      status: { addresses: [...addresses("two"), { $patch: "replace" }] },
    });
    expect(patched.object.status).toMatchObject({ addresses: addresses("two") });
  });

  test("an unknown kind of patch is 415", async () => {
    await client().post(NODES, nodeNamed("p-kind"));
    const { status, object } = await client().patch(nodePath("p-kind"), "odd-patch" as typeof SMP, {});
    expect(status).toBe(415);
    expect(object).toMatchObject({ reason: "UnsupportedMediaType" });
  });

  test("a status patch leaves spec and labels alone but applies metadata it names", async () => {
    await client().post(NODES, nodeNamed("p-spec"));
    const patched = await client().patch(nodePath("p-spec", "/status"), SMP, {
      metadata: { labels: { set: "yes" } },
      spec: { unschedulable: true },
      status: { phase: "Running" },
    });
    expect(patched.object.spec).not.toHaveProperty("unschedulable");
    expect(patched.object).toMatchObject({ status: { phase: "Running" } });
  });
}
