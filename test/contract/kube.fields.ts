/** The contract's part about unknown fields. */
import { expect, test } from "vitest";
import { nodeNamed, nodePath, podNamed, type RawClient } from "./kube.provided.ts";

const NODES = "/api/v1/nodes";
const PODS = "/api/v1/namespaces/default/pods";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Registers the tests. */
export function fieldsContract(client: () => RawClient): void {
  const odd = { vigilOdd: 1 };
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
}
