/**
 * A pod of a StatefulSet that is stuck on a dead node moves with its volume, once the node is proved down: real
 * kubelets, the real scheduler and kube-controller-manager, and one process of Vigil. The journeys follow each other.
 *
 * The test plays the external attacher of a CSI driver. Both controllers of kube-controller-manager that act on the
 * taint, the pod garbage collector and the attach-detach controller, do so since 1.26. Where they are older,
 * `collectGarbage` plays the first, and the volume is not reported as in use; everything else is real.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type BoundPod, type Kube, Urgency } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { readyConditionOf } from "../../services/domain/node-conditions.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { RawClient } from "../contract/kube.provided.ts";
import { collectsOutOfService, describeWithKube } from "../support/kube-assets.ts";
import { KubeletCluster } from "../support/kubelet-cluster.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { ExternalAttacher } from "./external-attacher.ts";
import { KubeletRecord } from "./kubelet-record.ts";

// Longer than everything that a test waits for one after the other.
vi.setConfig({ testTimeout: 300_000 });

/** A kubelet renews its lease every 10 s. */
const GRACE = "20s";
const NODES = ["hollow-1", "hollow-2", "hollow-3"];
const REPLICAS = 2;
/** How long after its deletion was due a pod has to be there still. */
const STAYS_MS = 3_000;
const WITHIN = { withinMs: 120_000, everyMs: 100 };
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
const POLICIES = `
policies:
  - name: databases
    spec:
      selector: {}
      outOfService: { after: 1s, proof: [Manual] }
`;
const DRIVER = "csi.vigil.test";
const DISK = "disk-0";
/** By this the attach-detach controller looks after a node; hollow kubelets do not set it. */
const ATTACHED_BY_CONTROLLER = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };
const STORAGE = [
  { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: DRIVER }, spec: { attachRequired: true } },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "by-hand" },
    provisioner: "kubernetes.io/no-provisioner",
  },
  ...Array.from({ length: REPLICAS }, (_, index) => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `disk-${index}` },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "by-hand",
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "default", name: `data-db-${index}` },
      csi: { driver: DRIVER, volumeHandle: `disk-${index}` },
    },
  })),
];
const labels = { app: "db" };
const STATEFUL_SET = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "db" },
  spec: {
    serviceName: "db",
    replicas: REPLICAS,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        // Not mounted: the kubelets have no driver.
        containers: [{ name: "main", image: "none" }],
        tolerations: ["not-ready", "unreachable"].map((name) => {
          return { key: `node.kubernetes.io/${name}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 };
        }),
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: labels } },
            ],
          },
        },
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: {
          accessModes: ["ReadWriteOnce"],
          storageClassName: "by-hand",
          resources: { requests: { storage: "1Gi" } },
        },
      },
    ],
  },
};

describeWithKube("a StatefulSet on a node that is proved down", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-out-of-service-"));
  let actsForTaint = false;
  let cluster: KubeletCluster;
  let vigil: VigilProcess;
  let kube: Kube;
  let record: KubeletRecord;
  let client: RawClient;
  let attacher: ExternalAttacher;
  let stuck: BoundPod;

  const becomes = (what: string, holds: () => boolean | Promise<boolean>) =>
    until(
      () => `${what}; seen were\n${record.summary()}\n${cluster.log()}\n${vigil.err.slice(-3000)}`,
      async () => {
        await attacher.review();
        if (!actsForTaint) collectGarbage(kube, record);
        return holds();
      },
      WITHIN,
    );
  const uids = () =>
    record
      .podsOf("db")
      .map(({ pod }) => pod.uid)
      .toSorted();
  const isWhole = () => record.readyPodsOf("db").length === REPLICAS;
  const isOut = () => record.nodes.get(stuck.node)?.taints.some(({ key }) => key === OUT_OF_SERVICE) === true;
  const command = async (...words: string[]) => {
    const host = fakeHost();
    const code = await runCommandLine([...words, `--kubeconfig=${cluster.api.kubeconfig}`], host);
    expect(code, host.err()).toBe(0);
    return { out: host.out() };
  };
  const holds = async () => {
    const rows = JSON.parse((await command("get", "stuck", "--output=json")).out).items as {
      readonly name: string;
      readonly heldBy: readonly { readonly why: string }[];
    }[];
    return rows.map(({ name, heldBy }) => [name, ...heldBy.map(({ why }) => why)]);
  };

  beforeAll(async () => {
    const config = join(folder, "vigil.yaml");
    writeFileSync(config, POLICIES);
    actsForTaint = collectsOutOfService();
    cluster = await KubeletCluster.open(NODES);
    const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
    kube = createKube({ ...io, wire: cluster.api.wire(), profile: STANDARD_PROFILE });
    record = new KubeletRecord(kube);
    client = new RawClient(cluster.api.wire());
    attacher = new ExternalAttacher(client, DRIVER);
    const flags = [`--config=${config}`, `--node-monitor-grace-period=${GRACE}`, "--node-eviction-rate=1"];
    vigil = new VigilProcess(["run", "--log-format=json", `--kubeconfig=${cluster.api.kubeconfig}`, ...flags]);
    await becomes("all nodes are well", () => NODES.every((node) => record.isWell(node)));
    for (const node of NODES) {
      await client.patch(nodePath(node), "merge-patch", { metadata: { annotations: ATTACHED_BY_CONTROLLER } });
    }
    await cluster.apply(...STORAGE, STATEFUL_SET);
    await becomes("the StatefulSet is whole", () => isWhole() && attacher.storyOf(DISK).length === 1);
    stuck = record.pods.get("default/db-0") ?? expect.fail("there is no pod db-0");
  }, 300_000);

  afterAll(async () => {
    record?.stop();
    vigil?.signal("SIGKILL");
    await cluster?.close();
    rmSync(folder, { recursive: true });
  });

  test("its pod is stuck when the kubelet is killed, and gets no successor", async () => {
    await cluster.killKubelet(stuck.node);
    if (actsForTaint) await reportInUse(client, stuck.node);
    const dueMs = () => record.pods.get("default/db-0")?.pod.deletionAt ?? Number.POSITIVE_INFINITY;
    await becomes("its deletion is overdue", () => Date.now() > dueMs() + STAYS_MS);
    expect(await holds()).toEqual([
      [
        "db-0",
        `node ${stuck.node} is silent, and not proved down`,
        `volume ${DISK} of claim data-db-0 is attached to ${stuck.node}`,
      ],
    ]);
    expect(attacher.storyOf(DISK)).toEqual([`attached to ${stuck.node}`]);
    expect([uids().includes(stuck.pod.uid), uids().length, isOut()]).toEqual([true, REPLICAS, false]);
  });

  test("it runs on another node once somebody has proved the node down", async () => {
    const proof = ["--reason=power off", "--by=oncall", `--node-monitor-grace-period=${GRACE}`];
    const { out } = await command("prove-down", stuck.node, ...proof);
    expect(out).toMatch(/^proved down: node \S+ at \S+ by oncall: power off\n$/);
    await becomes("the node is out of service", isOut);
    await becomes("the StatefulSet is whole again", isWhole);
    const successor = record.pods.get("default/db-0");
    expect(successor?.pod.uid).not.toBe(stuck.pod.uid);
    expect(successor?.node).not.toBe(stuck.node);
    await becomes("its volume has followed", () => attacher.storyOf(DISK).length >= 3);
    expect(attacher.storyOf(DISK)).toEqual([
      `attached to ${stuck.node}`,
      `detached from ${stuck.node}`,
      `attached to ${successor?.node}`,
    ]);
    expect(await holds()).toEqual([]);
  });

  test("the kubelet returns: the node is in service, and the pods stay", async () => {
    const before = uids();
    await cluster.startKubelet(stuck.node);
    await becomes("the node is well", () => record.isWell(stuck.node));
    await becomes("no record is left", async () => {
      const { stdout } = await cluster.api.kubectl("get", "node", stuck.node, "--output=json");
      return !/proved-down|out-of-service/.test(stdout);
    });
    expect(uids()).toEqual(before);
    expect(attacher.storyOf(DISK)).toHaveLength(3);
  });

  test("Vigil logged no error", () => {
    expect(vigil.logged.filter(({ level }) => level === "error")).toEqual([]);
  });
}, ["kube-controller-manager", "kube-scheduler", "kubemark", "kubectl"]);

const nodePath = (node: string): string => `/api/v1/nodes/${node}`;

/**
 * Reports the volume as in use, as the kubelet of a machine that has lost its power leaves it. An attach-detach
 * controller that does not know the taint would wait 6 minutes.
 */
async function reportInUse(client: RawClient, node: string): Promise<void> {
  const status = { volumesInUse: [`kubernetes.io/csi/${DRIVER}^${DISK}`] };
  const reply = await client.patch(`${nodePath(node)}/status`, "merge-patch", { status });
  expect(reply).toMatchObject({ status: 200, object: { status } });
}

/** Deletes by force the terminating pods of nodes that are out of service and not Ready. */
function collectGarbage(kube: Kube, { nodes, pods }: KubeletRecord): void {
  for (const { node: name, pod } of pods.values()) {
    const node = nodes.get(name);
    if (node === undefined || pod.deletionAt === null || readyConditionOf(node)?.status === "True") continue;
    if (!node.taints.some(({ key }) => key === OUT_OF_SERVICE)) continue;
    const ref = { kind: "Pod", namespace: pod.namespace, name: pod.name } as const;
    kube.write({ verb: "delete", ref, urgency: Urgency.eviction, uid: pod.uid, gracePeriodSeconds: 0 }, () => {});
  }
}
