/** The contract's part about the Kubernetes port: what the product's own client sees of the server. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import {
  type Kube,
  type LeaseRenewal,
  type ObjectRef,
  type ReadReply,
  type ShownReply,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { scanLease } from "../../services/platform/kube/watch/lease-scan.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { isAtLeast } from "../../services/structures/resource-version.ts";
import { read, type Seen, seeLeases, seeNodes, seePods, write } from "../support/kube-probe.ts";
import { until } from "../support/until.ts";
import { nodeNamed, type ProvidedServer, podNamed } from "./kube.provided.ts";

const urgency = Urgency.status;
const node = (name: string): ObjectRef => ({ kind: "Node", namespace: "", name });
const pod = (name: string): ObjectRef => ({ kind: "Pod", namespace: "default", name });
const lease = (name: string): ObjectRef => ({ kind: "Lease", namespace: LEASE_NAMESPACE, name });

/** Registers the tests. */
export function portContract(server: () => ProvidedServer): void {
  let kube: Kube;
  let nodes: Seen<"nodes">;
  let leases: Seen<"leases">;
  let pods: Seen<"pods">;
  beforeAll(() => {
    kube = createKube({
      wire: server().wire,
      clock: realClock(),
      random: systemRandom,
      log: silentLog,
      metrics: createMetrics(),
      profile: STANDARD_PROFILE,
    });
    nodes = seeNodes(kube);
    leases = seeLeases(kube);
    pods = seePods(kube);
  });
  afterAll(() => {
    for (const { watch } of [nodes, leases, pods]) watch.stop();
  });

  const create = (ref: ObjectRef, body: unknown): Promise<WriteReply> =>
    write(kube, { ref, urgency, verb: "create", body });
  const created = async (ref: ObjectRef, body: unknown) => {
    const reply = await create(ref, body);
    if (reply.outcome !== "ok") throw new Error(`${ref.name}: ${reply.outcome} ${reply.detail}`);
    return reply.object;
  };

  test("a watch lists every object, becomes synced, and continues with every change", async () => {
    await until("the watches are synced", () => [nodes, leases, pods].every(({ watch }) => watch.state().synced));
    expect(nodes.story.slice(0, -1).every((line) => line.startsWith("changed "))).toBe(true);
    expect(nodes.story.at(-1)).toBe("synced");
    const body = nodeNamed("k-watched", {
      spec: { unschedulable: true, taints: [{ key: "k", value: "v", effect: "NoExecute" }] },
    });
    const { metadata } = await created(node("k-watched"), body);
    await until("the node appears", () => nodes.present.has("k-watched"));
    expect(nodes.present.get("k-watched")).toMatchObject({
      node: "k-watched",
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      createdAt: Date.parse(String(metadata.creationTimestamp)),
      unschedulable: true,
      taints: expect.arrayContaining([{ key: "k", value: "v", effect: "NoExecute" }]),
      conditions: [],
    });
    expect((await write(kube, { ref: node("k-watched"), urgency, verb: "delete" })).outcome).toBe("ok");
    await until("the node is gone", () => nodes.story.includes("gone k-watched"));
  });

  test("a creation that is a dry run is checked, and stores nothing", async () => {
    const dry = (name: string, body: unknown) =>
      write(kube, { ref: node(name), urgency, verb: "create", body, isDryRun: true });
    expect(await dry("k-dry", nodeNamed("k-dry"))).toMatchObject({
      outcome: "ok",
      object: { metadata: { name: "k-dry" } },
    });
    expect(await dry("k-dry", nodeNamed("Wrong Name"))).toMatchObject({ outcome: "denied" });
    expect(await read(kube, node("k-dry"))).toMatchObject({ outcome: "gone" });
    await created(node("k-dry"), nodeNamed("k-dry"));
    expect(await dry("k-dry", nodeNamed("k-dry"))).toMatchObject({ outcome: "exists" });
  });

  test("a read past every cache is ok or gone", async () => {
    await created(node("k-read"), nodeNamed("k-read"));
    expect(await read(kube, node("k-read"))).toMatchObject({ outcome: "ok", object: { metadata: { name: "k-read" } } });
    expect(await read(kube, node("k-nobody"))).toMatchObject({ outcome: "gone" });
  });

  test("every outcome of a write is distinguished", async () => {
    const { metadata } = await created(node("k-write"), nodeNamed("k-write"));
    const patch = (body: unknown) =>
      write(kube, { ref: node("k-write"), urgency, verb: "patch", patch: "strategic", body });
    const moved = await patch({
      metadata: { resourceVersion: metadata.resourceVersion, uid: metadata.uid, labels: { a: "b" } },
    });
    expect(moved.outcome).toBe("ok");
    const outcomes = {
      second: await create(node("k-write"), nodeNamed("k-write")),
      stale: await patch({ metadata: { resourceVersion: metadata.resourceVersion, labels: { a: "c" } } }),
      otherUid: await patch({ metadata: { uid: "00000000-0000-4000-8000-000000000000" } }),
      invalid: await patch({ spec: { taints: [{ key: "k", effect: "Nonsense" }] } }),
      otherThanTested: await write(kube, {
        ref: node("k-write"),
        urgency,
        verb: "patch",
        patch: "json",
        body: [{ op: "test", path: "/metadata/labels/a", value: "c" }],
      }),
      invalidByJson: await write(kube, {
        ref: node("k-write"),
        urgency,
        verb: "patch",
        patch: "json",
        body: [{ op: "add", path: "/spec/taints", value: [{ key: "k", effect: "Nonsense" }] }],
      }),
      otherDelete: await write(kube, { ref: node("k-write"), urgency, verb: "delete", uid: "not-this-one" }),
      rightDelete: await write(kube, { ref: node("k-write"), urgency, verb: "delete", uid: String(metadata.uid) }),
      lateDelete: await write(kube, { ref: node("k-write"), urgency, verb: "delete" }),
      latePatch: await patch({ spec: { unschedulable: true } }),
    };
    expect(Object.fromEntries(Object.entries(outcomes).map(([name, { outcome }]) => [name, outcome]))).toEqual({
      second: "exists",
      stale: "conflict",
      otherUid: "conflict",
      invalid: "denied",
      otherThanTested: "conflict",
      invalidByJson: "denied",
      otherDelete: "conflict",
      rightDelete: "ok",
      lateDelete: "gone",
      latePatch: "gone",
    });
  });

  test("an eviction deletes exactly its pod, in the API version that the server has", async () => {
    const { metadata } = await created(pod("k-evicted"), podNamed("k-evicted", "k-node"));
    const evict = (uid: string) => write(kube, { ref: pod("k-evicted"), urgency, verb: "evict", uid });
    expect(await evict("00000000-0000-4000-8000-000000000000")).toMatchObject({ outcome: "conflict" });
    expect(await evict(String(metadata.uid))).toMatchObject({ outcome: "ok" });
    expect(await read(kube, pod("k-evicted"))).toMatchObject({
      object: { metadata: { deletionTimestamp: expect.any(String) } },
    });
    await write(kube, { ref: pod("k-evicted"), urgency, verb: "delete", gracePeriodSeconds: 0 });
    expect(await evict(String(metadata.uid))).toMatchObject({ outcome: "gone" });
  });

  test("a pod appears once it is bound, and is marked when its deletion is requested", async () => {
    await created(pod("k-unbound"), podNamed("k-unbound"));
    const { metadata } = await created(pod("k-bound"), podNamed("k-bound", "k-node"));
    await until("the pod appears", () => pods.present.has("default/k-bound"));
    expect(pods.present.has("default/k-unbound")).toBe(false);
    const seen = pods.present.get("default/k-bound");
    expect(seen).toMatchObject({ node: "k-node", pod: { uid: metadata.uid, phase: "Pending", deletionAt: null } });
    expect(seen?.pod.tolerations.map(({ tolerationSeconds }) => tolerationSeconds)).toEqual([300, 300]);
    await write(kube, { ref: pod("k-bound"), urgency, verb: "delete", uid: String(metadata.uid) });
    await until("the pod terminates", () => (pods.present.get("default/k-bound")?.pod.deletionAt ?? null) !== null);
    await write(kube, { ref: pod("k-bound"), urgency, verb: "delete", gracePeriodSeconds: 0 });
    await until("the pod is gone", () => !pods.present.has("default/k-bound"));
  });

  test("a lease renewal is read to the microsecond, and its line takes the fast path", async () => {
    const renewed = (at: string, metadata: Record<string, unknown> = {}) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "k-lease", namespace: LEASE_NAMESPACE, ...metadata },
      spec: { holderIdentity: "k-lease", leaseDurationSeconds: 40, renewTime: at },
    });
    const { metadata } = await created(lease("k-lease"), renewed("2026-01-01T00:00:00.000001Z"));
    const lines: Buffer[] = [];
    const path = `/apis/coordination.k8s.io/v1/namespaces/${LEASE_NAMESPACE}/leases?watch=true&resourceVersion=${metadata.resourceVersion}`;
    const raw = server().wire.send(
      { method: "GET", path, headers: { accept: "application/json" }, body: null },
      { response: () => {}, data: (chunk) => lines.push(Buffer.from(chunk)), end: () => {}, failed: () => {} },
    );
    const body = renewed("2026-01-01T00:00:10.123456Z", metadata);
    await write(kube, { ref: lease("k-lease"), urgency, verb: "update", body });
    const renewedAt = Date.parse("2026-01-01T00:00:10.123Z") + 0.456;
    await until("the renewal appears", () => leases.present.get("k-lease")?.renewedAt === renewedAt);
    const text = () => Buffer.concat(lines).toString();
    await until("the whole line has arrived", () => text().includes("\n"));
    raw.abort();
    const [line = ""] = text().split("\n");
    expect(scanLease(Buffer.from(line))?.object).toEqual({ node: "k-lease", renewedAt });
  });

  test("one small read proves that the watch shows what live reads would", async () => {
    await created(node("k-proven"), nodeNamed("k-proven"));
    await until("the node appears", () => nodes.present.has("k-proven"));
    const clock = realClock();
    const writes: { readonly doneMs: number; readonly version: string }[] = [];
    const shown: { readonly sentAtMs: number; readonly version: string }[] = [];
    await until("the watch is proven", async () => {
      const request = { ref: node("k-proven"), urgency, verb: "patch", patch: "merge" } as const;
      const labels = { step: String(writes.length) };
      const reply = await write(kube, { ...request, body: { metadata: { labels } } });
      if (reply.outcome !== "ok") throw new Error(reply.detail);
      writes.push({ doneMs: clock.monotonicMs(), version: reply.object.metadata.resourceVersion ?? "" });
      const onReply = (answer: ReadReply | ShownReply<ObservedNode>): void => {
        if (answer.outcome !== "shown") return;
        shown.push({ sentAtMs: answer.view.sentAtMs, version: answer.object.resourceVersion });
      };
      const need = { place: { urgency, stepsBefore: 1 } } as const;
      for (let time = 0; time < 3; time++) kube.readShown("nodes", node("k-proven"), onReply, need);
      return shown.length > 20;
    });
    for (const { sentAtMs, version } of shown) {
      const before = writes.findLast(({ doneMs }) => doneMs <= sentAtMs)?.version ?? "1";
      expect(isAtLeast(version, before)).toBe(true);
    }
  });

  test("the history of leases has past renewals; those of kube-system are listed", async () => {
    const renewed = (namespace: string, at: string, metadata: Record<string, unknown> = {}) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "k-heard", namespace, ...metadata },
      spec: { holderIdentity: "k-heard", leaseDurationSeconds: 40, renewTime: at },
    });
    const times = ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:10.250000Z", "2026-01-01T00:00:20.500000Z"];
    const [first = "", ...later] = times;
    let { metadata } = await created(lease("k-heard"), renewed(LEASE_NAMESPACE, first));
    const fromVersion = String(metadata.resourceVersion);
    for (const at of later) {
      const body = renewed(LEASE_NAMESPACE, at, metadata);
      const reply = await write(kube, { ref: lease("k-heard"), urgency, verb: "update", body });
      if (reply.outcome === "ok") metadata = reply.object.metadata;
    }
    // Past the time for which any server might hold changes back.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const history = await new Promise<readonly LeaseRenewal[] | null>((done) => kube.leaseHistory(fromVersion, done));
    expect(history?.filter(({ node }) => node === "k-heard")).toEqual(
      later.map((at) => ({ node: "k-heard", renewTime: Date.parse(at) })),
    );
    const component: ObjectRef = { kind: "Lease", namespace: "kube-system", name: "k-heard" };
    await created(component, renewed("kube-system", first));
    const listed = await new Promise<readonly number[] | null>((done) => kube.componentLeases(done));
    expect(listed).toContain(Date.parse(first));
  });

  test("the history of leases from a forgotten version is unknown", async () => {
    const { metadata } = await created(lease("k-forgotten"), {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "k-forgotten", namespace: LEASE_NAMESPACE },
      spec: { holderIdentity: "k-forgotten", renewTime: "2026-01-01T00:00:00.000000Z" },
    });
    await created(node("k-meanwhile"), nodeNamed("k-meanwhile"));
    await server().compact();
    const history = await new Promise((done) => kube.leaseHistory(String(metadata.resourceVersion), done));
    expect(history).toBeNull();
    await created(node("k-later"), nodeNamed("k-later"));
  });

  test("a watch survives forgotten history: it lists again and sees later changes", async () => {
    await server().compact();
    await until("the watch of nodes is synced again", () => nodes.watch.state().synced);
    await created(node("k-after"), nodeNamed("k-after"));
    await until("the node appears", () => nodes.present.has("k-after"));
  });
}
