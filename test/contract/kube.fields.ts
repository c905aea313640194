/** The contract's part about unknown fields, invalid quantities and the old paths of watches. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../protocols/ports.ts";
import { nodeNamed, nodePath, podNamed, type RawClient } from "./kube.provided.ts";

const NODES = "/api/v1/nodes";
const PODS = "/api/v1/namespaces/default/pods";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Registers the tests. */
export function fieldsContract(client: () => RawClient): void {
  const odd = { vigilOdd: 1 };
  const limited = (name: string, resources: object): Record<string, unknown> => ({
    ...podNamed(name),
    spec: { containers: [{ name: "c", image: "i", resources }] },
  });

  test("unknown fields are dropped, from a create and from every kind of patch", async () => {
    const created = [
      await client().post(NODES, {
        ...nodeNamed("f-odd"),
        ...odd,
        metadata: { name: "f-odd", ...odd },
        spec: { ...odd, taints: [{ key: "a", effect: "NoSchedule", ...odd }] },
        status: {
          conditions: [{ type: "A", status: "True", ...odd }],
          addresses: [{ type: "InternalIP", address: "10.0.0.1", ...odd }],
          nodeInfo: odd,
        },
      }),
      await client().post(LEASES, { metadata: { name: "f-odd" }, ...odd, spec: { holderIdentity: "x", ...odd } }),
      await client().post(PODS, {
        ...podNamed("f-odd"),
        ...odd,
        spec: {
          containers: [{ name: "c", image: "i" }],
          tolerations: [{ key: "a", operator: "Exists", ...odd }],
        },
      }),
    ];
    const patched = [
      await client().patch(nodePath("f-odd"), "merge-patch", { ...odd, spec: odd }),
      await client().patch(nodePath("f-odd"), "strategic-merge-patch", { ...odd, spec: odd }),
      await client().patch(nodePath("f-odd"), "json-patch", [{ op: "add", path: "/vigilOdd", value: 1 }]),
    ];
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(patched.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const { object } of [...created, ...patched]) {
      const { managedFields: _, ...metadata } = object.metadata;
      expect(JSON.stringify({ ...object, metadata })).not.toContain("vigilOdd");
    }
    expect(patched[0]?.object.metadata.resourceVersion).toBe(created[0]?.object.metadata.resourceVersion);
  });

  test.each([
    [
      { requests: { cpu: "2" }, limits: { cpu: "1500m" } },
      'requests: Invalid value: "2": must be less than or equal to cpu limit',
    ],
    [
      { requests: { memory: "2Gi" }, limits: { memory: "2G" } },
      'requests: Invalid value: "2Gi": must be less than or equal to memory limit',
    ],
    [{ requests: { cpu: "-1" } }, 'requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    [
      { requests: { "example.com/gpu": "1" }, limits: { "example.com/gpu": "2" } },
      'requests: Invalid value: "1": must be equal to example.com/gpu limit',
    ],
    [
      { requests: { "example.com/gpu": "1" } },
      "limits: Required value: Limit must be set for non overcommitable resources",
    ],
  ])("a pod whose resources are %j is 422 Invalid", async (resources, why) => {
    const { status, object } = await client().post(PODS, limited("f-limited", resources));
    expect(status).toBe(422);
    expect(object.message).toBe(`Pod "f-limited" is invalid: spec.containers[0].resources.${why}`);
  });

  test("a request equal to its limit is valid in any notation; amounts are normalized", async () => {
    const resources = { requests: { cpu: 0.1, memory: "1024Mi" }, limits: { cpu: "100m", memory: "1Gi" } };
    const { status, object } = await client().post(PODS, limited("f-equal", resources));
    const amounts = { cpu: "100m", memory: "1Gi" };
    expect(status).toBe(201);
    expect(object).toMatchObject({
      spec: { containers: [{ resources: { requests: amounts, limits: amounts } }] },
      status: { qosClass: "Guaranteed" },
    });
    expect((await client().post(PODS, limited("f-text", { requests: { cpu: "abc" } }))).status).toBe(400);
  });

  test("the old paths of watches report the same events as the new ones", async () => {
    await client().post(NODES, nodeNamed("f-watched"));
    await client().post(NODES, nodeNamed("f-other"));
    for (const path of [`${NODES}/f-watched`, `${NODES}?fieldSelector=metadata.name%3Df-watched`]) {
      const watch = await client().watch(path.replace("/api/v1/", "/api/v1/watch/"));
      expect(await watch.accepted).toBe(200);
      await watch.event(({ type, object }) => type === "ADDED" && object.metadata.name === "f-watched");
      expect(watch.events).toHaveLength(1);
      watch.close();
    }
    const leases = await client().watch(`${LEASES.replace("/v1/", "/v1/watch/")}?timeoutSeconds=1`);
    await leases.ended;
    expect(leases.events.every(({ object }) => (object as KubeObject).kind === "Lease")).toBe(true);
    expect((await client().post("/api/v1/watch/nodes", nodeNamed("f-posted"))).status).toBe(405);
    expect((await client().delete("/api/v1/watch/nodes/f-watched")).status).toBe(405);
    expect((await client().get("/api/v1/watch/nothing")).status).toBe(404);
  });
}
