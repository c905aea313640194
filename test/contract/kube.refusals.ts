/** The contract's part about writes that must change nothing: dry runs, forbidden ones and invalid ones. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../protocols/ports.ts";
import { podNamed, podPath, type RawClient } from "./kube.provided.ts";

const NODES = "/api/v1/nodes";
const PODS = "/api/v1/namespaces/default/pods";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Registers the tests. */
export function refusalsContract(client: () => RawClient): void {
  const marked = async (name: string): Promise<unknown> =>
    (await client().get(podPath(name))).object.metadata.deletionTimestamp;
  const causes = ({ details }: KubeObject): unknown =>
    (details as { causes: { field: string; message: string }[] }).causes.map(({ field, message }) => [field, message]);

  test("a delete whose options contain dryRun deletes nothing", async () => {
    await client().post(PODS, podNamed("r-dry", "r-node"));
    const tried = await client().delete(podPath("r-dry"), { dryRun: ["All"] });
    expect(tried.status).toBe(200);
    expect(tried.object.metadata).toMatchObject({ deletionTimestamp: expect.any(String) });
    expect(await marked("r-dry")).toBeUndefined();
  });

  test("an eviction whose options contain dryRun evicts no pod", async () => {
    await client().post(PODS, podNamed("r-evicted", "r-node"));
    const { status } = await client().post(podPath("r-evicted", "/eviction"), {
      apiVersion: "policy/v1beta1",
      kind: "Eviction",
      metadata: { name: "r-evicted", namespace: "default" },
      deleteOptions: { dryRun: ["All"] },
    });
    expect(status).toBe(201);
    expect(await marked("r-evicted")).toBeUndefined();
  });

  test("a status, the pods of all namespaces and the namespaces cannot be deleted: 405", async () => {
    await client().post(PODS, podNamed("r-status", "r-node"));
    for (const path of [podPath("r-status", "/status"), "/api/v1/pods", "/api/v1/namespaces?labelSelector=r%3Dno"]) {
      const { status, object } = await client().delete(path);
      expect({ path, status, reason: object.reason }).toEqual({ path, status: 405, reason: "MethodNotAllowed" });
    }
    expect(await marked("r-status")).toBeUndefined();
  });

  test("tolerations that could never match, or never with a time, are 422 Invalid", async () => {
    const pod = podNamed("r-tolerations") as { spec: Record<string, unknown> };
    const tolerations = [
      { key: "a", operator: "Odd" },
      { operator: "Equal" },
      { key: "a", operator: "Exists", value: "b" },
      { key: "a", effect: "NoSchedule", tolerationSeconds: 3 },
      { key: "a", effect: "Odd" },
      { key: "a b", value: "c d" },
    ];
    const { status, object } = await client().post(PODS, { ...pod, spec: { ...pod.spec, tolerations } });
    expect(status).toBe(422);
    expect(causes(object)).toEqual([
      ["spec.tolerations[0].operator", 'Unsupported value: "Odd": supported values: "Equal", "Exists"'],
      [
        "spec.tolerations[1].operator",
        'Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values ' +
          'and all keys"',
      ],
      ["spec.tolerations[2].operator", expect.stringContaining("value must be empty when `operator` is 'Exists'")],
      [
        "spec.tolerations[3].effect",
        `Invalid value: "NoSchedule": effect must be 'NoExecute' when \`tolerationSeconds\` is set`,
      ],
      [
        "spec.tolerations[4].effect",
        'Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
      ["spec.tolerations[5].key", expect.stringContaining('Invalid value: "a b": name part must consist of')],
      ["spec.tolerations[5].operator", expect.stringContaining('Invalid value: "c d": a valid label must be')],
    ]);
  });

  test("a pod with an invalid nodeName or two containers of one name is 422 Invalid", async () => {
    const { status, object } = await client().post(PODS, {
      ...podNamed("r-pod"),
      spec: { nodeName: "Bad_Node", containers: [1, 2].map(() => ({ name: "c", image: "i" })) },
    });
    expect(status).toBe(422);
    expect(causes(object)).toEqual([
      ["spec.containers[1].name", 'Duplicate value: "c"'],
      ["spec.nodeName", expect.stringContaining('Invalid value: "Bad_Node": a lowercase RFC 1123 subdomain')],
    ]);
  });

  test("an owner without a uid and an annotation with a bad key are 422 Invalid", async () => {
    const metadata = {
      name: "r-owned",
      annotations: { "a b": "c", "Upper.Case/Is-Fine": "d" },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "" }],
    };
    const event = { involvedObject: { kind: "Node", name: "n" }, reason: "R", message: "m", type: "Normal" };
    for (const { status, object } of [
      await client().post(LEASES, { metadata, spec: {} }),
      await client().post("/api/v1/namespaces/default/events", { ...event, metadata }),
    ]) {
      expect(status).toBe(422);
      expect(causes(object)).toEqual([
        ["metadata.annotations", expect.stringContaining('Invalid value: "a b": name part must consist of')],
        ["metadata.ownerReferences.uid", 'Invalid value: "": uid must not be empty'],
      ]);
    }
  });

  test("seconds that are text, or that no int32 holds, are 400", async () => {
    const pod = podNamed("r-text") as { spec: Record<string, unknown> };
    const tolerations = [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: "300" }];
    expect((await client().post(PODS, { ...pod, spec: { ...pod.spec, tolerations } })).status).toBe(400);
    const spec = { leaseDurationSeconds: 3_000_000_000 };
    const { status, object } = await client().post(LEASES, { metadata: { name: "r-long" }, spec });
    expect(status).toBe(400);
    expect(object).toMatchObject({ reason: "BadRequest" });
  });

  test("a watch or a list whose timeoutSeconds or limit is no number is 400", async () => {
    for (const query of ["watch=true&resourceVersion=0&timeoutSeconds=1m", "timeoutSeconds=1m", "limit=many"]) {
      expect({ query, status: (await client().get(`${NODES}?${query}`)).status }).toEqual({ query, status: 400 });
    }
  });

  test("an update without the object's name, or to another namespace, is 400", async () => {
    const nameless = await client().put(`${LEASES}/r-nameless`, { metadata: {}, spec: {} });
    expect(nameless.object).toMatchObject({
      code: 400,
      message: "the name of the object (r-nameless based on URL) was undeterminable: name must be provided",
    });
    const metadata = { name: "r-else", namespace: "x" };
    const elsewhere = await client().put(`${LEASES}/r-else`, { metadata, spec: {} });
    expect(elsewhere.object).toMatchObject({
      code: 400,
      message: "the namespace of the object (x) does not match the namespace on the request (kube-node-lease)",
    });
  });
}
