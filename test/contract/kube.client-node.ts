/**
 * The contract's part about a foreign client: `@kubernetes/client-node`, whose authors know nothing of Vigil, finds the
 * same API on every server. It decodes each answer into its models, so a field of another type would fail.
 */
import {
  ApiException,
  CoordinationV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  V1MicroTime,
  type V1Node,
  type V1Pod,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";

/** A server that the client reaches by a kubeconfig, as text. */
export interface ConfiguredServer {
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

const NAMESPACE = "default";
const STRATEGIC = setHeaderOptions("Content-Type", PatchStrategy.StrategicMergePatch);

/** Registers the suite; `start` is called once, before the first test. */
export function clientNodeContract(start: () => Promise<ConfiguredServer>): void {
  const config = new KubeConfig();
  let server: ConfiguredServer;
  beforeAll(async () => {
    server = await start();
    config.loadFromString(server.kubeconfig);
  });
  afterAll(() => server.stop());

  describe("CoreV1Api", () => coreContract(() => config.makeApiClient(CoreV1Api)));
  describe("CoordinationV1Api", () => leaseContract(() => config.makeApiClient(CoordinationV1Api)));
  describe("KubernetesObjectApi", () => objectContract(() => KubernetesObjectApi.makeApiClient(config)));
  describe("an informer", () => informerContract(config));
}

function nodeNamed(name: string, labels: Record<string, string> = {}): V1Node {
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels } };
}

function podNamed(name: string, nodeName: string): V1Pod {
  return { metadata: { name }, spec: { nodeName, containers: [{ name: "c", image: "i" }] } };
}

/** The HTTP status of a refusal. */
async function codeOf(answer: Promise<unknown>): Promise<number> {
  return answer.then(
    () => 200,
    (error: unknown) => (error instanceof ApiException ? error.code : Number.NaN),
  );
}

function coreContract(api: () => CoreV1Api): void {
  test("creates, reads, taints and deletes a node", async () => {
    const created = await api().createNode({ body: nodeNamed("cn-1", { pool: "a" }) });
    expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date);
    const taints = [{ key: "k", effect: "NoExecute" }];
    await api().patchNode({ name: "cn-1", body: { spec: { taints } } }, STRATEGIC);
    const { spec, metadata } = await api().readNode({ name: "cn-1" });
    expect([spec?.taints, metadata?.uid]).toMatchObject([taints, created.metadata?.uid]);
    await api().deleteNode({ name: "cn-1" });
    expect(await codeOf(api().readNode({ name: "cn-1" }))).toBe(404);
  });

  test("replaces a status, with an instant that comes back as it was", async () => {
    const node = await api().createNode({ body: nodeNamed("cn-status") });
    const at = new Date("2026-01-01T00:00:00Z");
    const condition = { type: "Ready", status: "True", lastHeartbeatTime: at, lastTransitionTime: at };
    const { metadata = {} } = node;
    await api().replaceNodeStatus({ name: "cn-status", body: { metadata, status: { conditions: [condition] } } });
    const { status } = await api().readNode({ name: "cn-status" });
    expect(status?.conditions?.[0]).toMatchObject(condition);
    expect(await codeOf(api().replaceNode({ name: "cn-status", body: node }))).toBe(409);
  });

  test("lists by labels and by fields, in pages", async () => {
    for (const name of ["cn-a", "cn-b", "cn-c"]) await api().createNode({ body: nodeNamed(name, { listed: "yes" }) });
    const selected = { labelSelector: "listed=yes", limit: 2 };
    const first = await api().listNode(selected);
    const second = await api().listNode({ ...selected, _continue: first.metadata?._continue ?? "" });
    const names = [...first.items, ...second.items].map(({ metadata }) => metadata?.name);
    expect([first.items.length, names]).toEqual([2, ["cn-a", "cn-b", "cn-c"]]);
    await api().createNamespacedPod({ namespace: NAMESPACE, body: podNamed("cn-bound", "cn-a") });
    const bound = await api().listPodForAllNamespaces({ fieldSelector: "spec.nodeName=cn-a" });
    expect(bound.items.map(({ metadata }) => metadata?.name)).toEqual(["cn-bound"]);
  });

  test("evicts a pod, and deletes none of another uid", async () => {
    const place = { name: "cn-evicted", namespace: NAMESPACE };
    await api().createNamespacedPod({ namespace: NAMESPACE, body: podNamed("cn-evicted", "cn-gone") });
    const preconditions = { uid: "00000000-0000-0000-0000-000000000000" };
    expect(await codeOf(api().deleteNamespacedPod({ ...place, body: { preconditions } }))).toBe(409);
    const eviction = { apiVersion: "policy/v1beta1", kind: "Eviction", metadata: place };
    await api().createNamespacedPodEviction({ ...place, body: eviction });
    const { metadata } = await api().readNamespacedPod(place);
    expect(metadata?.deletionTimestamp).toBeInstanceOf(Date);
  });

  test("records an Event about a node", async () => {
    const at = new Date("2026-01-01T00:00:00Z");
    const involvedObject = { kind: "Node", name: "cn-a", uid: "cn-a" };
    const body = { metadata: { name: "cn-event" }, involvedObject, reason: "NodeNotReady", type: "Normal" };
    await api().createNamespacedEvent({ namespace: NAMESPACE, body: { ...body, firstTimestamp: at, count: 1 } });
    const { items } = await api().listNamespacedEvent({
      namespace: NAMESPACE,
      fieldSelector: "involvedObject.name=cn-a",
    });
    expect(items).toMatchObject([{ reason: "NodeNotReady", firstTimestamp: at, count: 1 }]);
  });
}

function leaseContract(api: () => CoordinationV1Api): void {
  test("renews a Lease, in microseconds", async () => {
    const renewTime = new V1MicroTime("2026-01-01T00:00:00.123Z");
    const place = { name: "cn-lease", namespace: NAMESPACE };
    const body = { metadata: { name: "cn-lease" }, spec: { holderIdentity: "a", renewTime } };
    const created = await api().createNamespacedLease({ namespace: NAMESPACE, body });
    // The client leaves an instant of microseconds as text.
    expect(String(created.spec?.renewTime)).toBe("2026-01-01T00:00:00.123000Z");
    const { metadata = {} } = created;
    const replace = () =>
      api().replaceNamespacedLease({ ...place, body: { metadata, spec: { holderIdentity: "b", renewTime } } });
    await replace();
    expect((await api().readNamespacedLease(place)).spec).toMatchObject({
      holderIdentity: "b",
      renewTime: created.spec?.renewTime,
    });
    expect(await codeOf(replace())).toBe(409);
  });
}

function objectContract(api: () => KubernetesObjectApi): void {
  const map = (data: Record<string, string>): V1ConfigMap & { metadata: { name: string; namespace: string } } => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "cn-map", namespace: NAMESPACE },
    data,
  });
  const patch = (data: Record<string, string>, how: PatchStrategy) =>
    api().patch(map(data), undefined, undefined, "contract", undefined, how);

  test("finds the path of a kind, and creates, patches, lists and deletes by it", async () => {
    await api().create(map({ a: "1" }));
    await patch({ b: "2" }, PatchStrategy.MergePatch);
    expect((await api().read<V1ConfigMap>(map({}))).data).toEqual({ a: "1", b: "2" });
    const { items } = await api().list<V1ConfigMap>("v1", "ConfigMap", NAMESPACE);
    expect(items.map(({ metadata }) => metadata?.name)).toContain("cn-map");
    await api().delete(map({}));
    expect(await codeOf(api().read(map({})))).toBe(404);
  });

  test("creates by server-side apply", async () => {
    const applied: V1ConfigMap = await patch({ c: "3" }, PatchStrategy.ServerSideApply);
    expect(applied.data).toEqual({ c: "3" });
  });
}

function informerContract(config: KubeConfig): void {
  test("shows what is there, what changes and what goes", async () => {
    const api = config.makeApiClient(CoreV1Api);
    await api.createNode({ body: nodeNamed("cn-before", { informed: "yes" }) });
    const selected = { labelSelector: "informed=yes" };
    const informer = makeInformer(config, "/api/v1/nodes", () => api.listNode(selected), selected.labelSelector);
    const seen: string[] = [];
    for (const verb of ["add", "update", "delete"] as const) {
      informer.on(verb, ({ metadata, spec }) => seen.push(`${verb} ${metadata?.name} ${spec?.unschedulable ?? false}`));
    }
    informer.on("error", (error: unknown) => seen.push(String(error)));
    await informer.start();
    await api.createNode({ body: nodeNamed("cn-after", { informed: "yes" }) });
    await api.createNode({ body: nodeNamed("cn-other") });
    await api.patchNode({ name: "cn-after", body: { spec: { unschedulable: true } } }, STRATEGIC);
    await api.deleteNode({ name: "cn-before" });
    await until("the informer has seen the deletion", () => seen.length === 4);
    await informer.stop();
    expect(seen).toEqual([
      "add cn-before false",
      "add cn-after false",
      "update cn-after true",
      "delete cn-before false",
    ]);
  });
}
