/**
 * Journeys of real kubelets and upstream's controllers on one cluster with one process of Vigil. The journeys follow
 * each other: each begins with the cluster that the one before has left.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { BoundPod } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { KubeletCluster } from "../support/kubelet-cluster.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { KubeletRecord } from "./kubelet-record.ts";

// Longer than everything that a test waits for one after the other.
vi.setConfig({ testTimeout: 400_000 });

/** A kubelet renews its lease every 10 s. */
const GRACE_SECONDS = 20;
const TOLERATION_SECONDS = 3;
const NODES = ["hollow-1", "hollow-2", "hollow-3"];
const DEAD = "hollow-1";
const RESTARTED = "hollow-2";
const LATE = "hollow-4";
const WEB_PODS = 6;
const LOAD_PODS = 60;
/** How long after its deletion was due a pod has to be there still. */
const STAYS_MS = 3_000;
const WITHIN = { withinMs: 120_000, everyMs: 100 };
const UNREACHABLE = "node.kubernetes.io/unreachable";
const NOT_READY = "node.kubernetes.io/not-ready";

const tolerations = ["not-ready", "unreachable"].map((name) => ({
  key: `node.kubernetes.io/${name}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: TOLERATION_SECONDS,
}));

/** A workload with this many pods; those of a StatefulSet run on nodes of their own. */
function workload(kind: "Deployment" | "StatefulSet", name: string, replicas: number): object {
  const labels = { app: name };
  const spread = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: labels } };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [spread] } };
  const spec = {
    tolerations,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "none" }],
    ...(kind === "StatefulSet" ? { affinity } : {}),
  };
  const stateful = { serviceName: name, podManagementPolicy: "Parallel" };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name },
    spec: {
      ...(kind === "StatefulSet" ? stateful : {}),
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  };
}

const uidsOf = (pods: readonly BoundPod[]): string[] => pods.map(({ pod }) => pod.uid).toSorted();

describeWithKube("a cluster of real kubelets", () => {
  let cluster: KubeletCluster;
  let vigil: VigilProcess;
  let record: KubeletRecord;
  let oldPods: readonly BoundPod[];

  const on = (node: string, pods: readonly BoundPod[]) => pods.filter((bound) => bound.node === node);
  const becomes = (what: string, holds: () => boolean) =>
    until(() => `${what}; seen were\n${record.summary()}\n${cluster.log()}\n${vigil.err.slice(-3000)}`, holds, WITHIN);

  beforeAll(async () => {
    cluster = await KubeletCluster.open(NODES);
    const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
    record = new KubeletRecord(createKube({ ...io, wire: cluster.api.wire(), profile: STANDARD_PROFILE }));
    const flags = [`--node-monitor-grace-period=${GRACE_SECONDS}s`, "--node-eviction-rate=1"];
    vigil = new VigilProcess(["run", "--log-format=json", `--kubeconfig=${cluster.api.kubeconfig}`, ...flags]);
    await becomes("all nodes are well", () => NODES.every((node) => record.isWell(node)));
    await cluster.apply(workload("Deployment", "web", WEB_PODS), workload("StatefulSet", "db", NODES.length));
    await becomes("the Deployment is whole", () => record.readyPodsOf("web").length === WEB_PODS);
    await becomes("the StatefulSet is whole", () => record.readyPodsOf("db").length === NODES.length);
    oldPods = on(DEAD, [...record.pods.values()]);
  }, 300_000);

  afterAll(async () => {
    record?.stop();
    vigil?.signal("SIGKILL");
    await cluster?.close();
  });

  test("every node runs a pod of the Deployment and of the StatefulSet; none had to go", () => {
    const workloads = NODES.map((node) => on(node, [...record.pods.values()]).map(({ pod }) => pod.owner));
    for (const owners of workloads) expect(new Set(owners)).toEqual(new Set(["ReplicaSet", "StatefulSet"]));
    expect([...record.deleted]).toEqual([]);
  });

  test("a kubelet is killed, and the pods of its Deployment run elsewhere", async () => {
    await cluster.killKubelet(DEAD);
    const elsewhere = () => record.readyPodsOf("web").filter(({ node }) => node !== DEAD);
    await becomes("the Deployment is whole on other nodes", () => elsewhere().length === WEB_PODS);
    expect(record.troubles).toContain(`${DEAD} ${UNREACHABLE}:NoExecute`);
    await becomes("its own pods are terminating", () => uidsOf(oldPods).every((uid) => record.deleted.has(uid)));
  });

  test("the pod of its StatefulSet stays Terminating, as long as its kubelet is away", async () => {
    const terminating = () => on(DEAD, record.podsOf("db")).filter(({ pod }) => pod.deletionAt !== null);
    const dueMs = Math.max(...terminating().map(({ pod }) => pod.deletionAt ?? Number.NaN));
    await becomes("its deletion is overdue", () => Date.now() > dueMs + STAYS_MS);
    expect(uidsOf(terminating())).toEqual(uidsOf(oldPods.filter(({ pod }) => pod.owner === "StatefulSet")));
    expect(record.podsOf("db")).toHaveLength(NODES.length);
  });

  test("the kubelet returns: node and StatefulSet are whole again, the old pods go", async () => {
    await cluster.startKubelet(DEAD);
    await becomes("the node is well", () => record.isWell(DEAD));
    const old = new Set(uidsOf(oldPods));
    const remaining = () => [...record.pods.values()].filter(({ pod }) => old.has(pod.uid));
    await becomes("its old pods are gone", () => remaining().length === 0);
    await becomes("the StatefulSet is whole", () => record.readyPodsOf("db").length === NODES.length);
  });

  test("a kubelet that restarts within the grace changes nothing", async () => {
    const before = [...record.pods.values()];
    record.troubles.length = 0;
    await cluster.killKubelet(RESTARTED);
    await cluster.startKubelet(RESTARTED);
    await pause((GRACE_SECONDS + TOLERATION_SECONDS + 2) * 1000);
    // On a busy machine a kubelet that starts may report itself not ready at first, which Vigil has to believe.
    const reported = [`${RESTARTED} Ready=False`, `${RESTARTED} ${NOT_READY}:NoExecute`];
    expect(record.troubles.filter((trouble) => !reported.includes(trouble))).toEqual([]);
    const mayGo = (node: string): boolean => node === RESTARTED && record.troubles.length > 0;
    const staying = new Set([...record.pods.values()].flatMap(({ pod }) => (pod.deletionAt === null ? [pod.uid] : [])));
    expect(before.filter(({ node, pod }) => !staying.has(pod.uid) && !mayGo(node))).toEqual([]);
  });

  test("a node that joins under load takes pods, and nothing is evicted", async () => {
    const deleted = record.deleted.size;
    record.troubles.length = 0;
    await cluster.apply(workload("Deployment", "load", LOAD_PODS));
    await cluster.startKubelet(LATE);
    await becomes("the node is well", () => record.isWell(LATE));
    await cluster.apply(workload("Deployment", "load", LOAD_PODS + 10));
    await becomes("the load is ready", () => record.readyPodsOf("load").length === LOAD_PODS + 10);
    expect(on(LATE, record.readyPodsOf("load"))).not.toEqual([]);
    expect(record.troubles.filter((trouble) => !trouble.startsWith(LATE))).toEqual([]);
    expect(record.deleted.size).toBe(deleted);
  });

  test("Vigil logged no error, and saw none of upstream's controllers do its work", () => {
    const isWrong = (level: string, message: string) => level === "error" || message.startsWith("upstream");
    expect(vigil.logged.filter(({ level, message }) => isWrong(level, message))).toEqual([]);
  });
}, ["kube-controller-manager", "kube-scheduler", "kubemark", "kubectl"]);
