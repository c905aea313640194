/**
 * Vigil alone in a cluster of real kubelets: its own pods and those of its NATS, placed as the manifests say, are lost
 * with their nodes and come back. The kubelets' runtime is a fake, so each pod's program runs on this machine. The
 * journeys follow each other: each begins with the cluster that the one before has left.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { BoundPod } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { readyConditionOf } from "../../services/domain/node-conditions.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { objectsOf } from "../deploy/chart.ts";
import { render, renderWithRescue } from "../deploy/manifests.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { KubeletCluster } from "../support/kubelet-cluster.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsCluster } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { HostedPods, type PodProcess } from "./hosted-pods.ts";
import { KubeletRecord } from "./kubelet-record.ts";

// Longer than everything that a test waits for one after the other.
vi.setConfig({ testTimeout: 400_000 });

/** A kubelet renews its lease every 10 s. */
const GRACE_SECONDS = 20;
/** How much later than its grace a busy machine may show that a node is lost. */
const LATE_MS = 10_000;
const TOLERATION_MS = 30_000;
/** The API stamps in whole seconds, and a busy machine is late. */
const TOLERATED_MS = { least: TOLERATION_MS - 1_000, most: TOLERATION_MS + 15_000 };
const VIGIL = "vigil-controller";
const RESCUE = "vigil-rescue";
/** Longer than the period in which a kubelet renews its lease, and short enough to wait for. */
const RESCUE_FLAGS = ["--silent-for=25s", "--observe=20s"];
const NATS = "nats";
const COPIES = 3;
/** NATS is installed while there are no more nodes than it has servers, so the other has a process of Vigil alone. */
const FIRST_NODES = ["hollow-1", "hollow-2", "hollow-3"];
const NODES = [...FIRST_NODES, "hollow-4"];
const NAMESPACE = "vigil-system";
const WITHIN = { withinMs: 150_000, everyMs: 100 };
const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";

interface PodTemplate {
  readonly spec: {
    readonly containers: readonly (Record<"name" | "image" | "resources", unknown> & { readonly args: string[] })[];
  };
}

interface Workload {
  readonly spec: { readonly template: PodTemplate };
}

interface CronJob {
  readonly spec: { readonly jobTemplate: Workload };
}

/**
 * A rendered pod without what a container reads, mounts and answers, because there is none. Where it may run and how
 * long it stays is as rendered.
 */
function withoutContents(template: PodTemplate): object {
  const containers = template.spec.containers.map(({ name, image, resources }) => ({ name, image, resources }));
  return { ...template, spec: { ...template.spec, initContainers: [], containers, volumes: [] } };
}

function copiesOf(workload: object): object {
  const { spec } = workload as Workload;
  return { ...workload, spec: { ...spec, replicas: COPIES, template: withoutContents(spec.template) } };
}

/** The objects of the overlays: the namespace with its quota, the workloads, and the job that rescues. */
async function rendered() {
  const fleet = objectsOf(await renderWithRescue("full"));
  const single = objectsOf(await render("full-without-nats"));
  const named = (key: string): object => ({ ...fleet, ...single })[key] as object;
  const accounts = [VIGIL, RESCUE].map((account) => named(`ServiceAccount ${NAMESPACE}/${account}`));
  const cronJob = named(`CronJob ${NAMESPACE}/${RESCUE}`) as CronJob;
  return {
    common: [named(`Namespace /${NAMESPACE}`), named(`ResourceQuota ${NAMESPACE}/critical-pods`), ...accounts],
    nats: copiesOf(named(`StatefulSet ${NAMESPACE}/${NATS}`)),
    vigil: copiesOf(named(`Deployment ${NAMESPACE}/${VIGIL}`)),
    rescue: cronJob.spec.jobTemplate.spec,
  };
}

const nodesOf = (pods: readonly BoundPod[]): Set<string> => new Set(pods.map(({ node }) => node));
const uidsOf = (pods: readonly BoundPod[]): string[] => pods.map(({ pod }) => pod.uid).toSorted();
const namesOf = (pods: readonly BoundPod[]): string[] => pods.map(({ pod }) => pod.name).toSorted();

describeWithNats("Vigil", () => {
  describeWithKube("alone in a cluster of real kubelets", () => {
    let cluster: KubeletCluster;
    let record: KubeletRecord;
    let hosted: HostedPods;
    let rescueJob: Workload["spec"];
    /** The processes of the jobs that rescue. */
    const rescues: VigilProcess[] = [];
    let servers: NatsServer[] = [];
    /** Nodes that are lost: with a process of Vigil alone, with a server of NATS too, and a later one. */
    let lost: string;
    let returning: string;
    let third: string;

    const becomes = (what: string, holds: () => boolean) =>
      until(
        () => `${what}; seen were\n${record.summary()}\n${cluster.log()}\n${hosted.log()}`,
        async () => {
          await hosted.reconcile();
          return holds();
        },
        WITHIN,
      );
    const isWhole = (workload: string) => hosted.of(workload).length === COPIES;
    const taintOf = (node: string) =>
      record.nodes.get(node)?.taints.find(({ key, effect }) => key === UNREACHABLE && effect === "NoExecute");
    const on = (nodes: readonly string[]) => [...record.pods.values()].filter(({ node }) => nodes.includes(node));

    function start({ pod: { name } }: BoundPod): Promise<PodProcess> | null {
      if (name.startsWith(`${NATS}-`)) return startServer(servers[Number(name.slice(NATS.length + 1))]);
      if (name.startsWith(`${RESCUE}-`)) return Promise.resolve(startRescue());
      if (!name.startsWith(`${VIGIL}-`)) return null;
      const places = [`--kubeconfig=${cluster.api.kubeconfig}`, `--nats=${servers.map(({ url }) => url).join()}`];
      // Three of four nodes may be lost before evictions stop.
      const rates = ["--node-eviction-rate=1", "--unhealthy-zone-threshold=0.8"];
      const flags = [`--node-monitor-grace-period=${GRACE_SECONDS}s`, ...rates];
      return Promise.resolve(podProcess(new VigilProcess(["run", `--member=${name}`, ...places, ...flags])));
    }

    function startRescue(): PodProcess {
      const args = rescueJob.template.spec.containers.flatMap((container) => container.args);
      const process = new VigilProcess([...args, ...RESCUE_FLAGS, `--kubeconfig=${cluster.api.kubeconfig}`]);
      rescues.push(process);
      return podProcess(process);
    }

    /** Runs a job of the CronJob: the scheduler places its pod. Returns its node and what it printed. */
    async function runRescue(): Promise<{ readonly node: string; readonly out: string }> {
      const runs = rescues.length;
      const name = `${RESCUE}-${runs}`;
      const metadata = { name, namespace: NAMESPACE };
      const spec = { ...rescueJob, template: withoutContents(rescueJob.template) };
      await cluster.apply({ apiVersion: "batch/v1", kind: "Job", metadata, spec });
      await becomes("the job has a process", () => rescues.length > runs);
      const [node = ""] = nodesOf(hosted.of(name));
      const process = rescues.at(-1);
      expect(await process?.exited(), process?.err).toBe(0);
      // No container ends by itself here, and one that has ended would not count for the scheduler.
      await kubectl("delete", "job", name, `--namespace=${NAMESPACE}`);
      await becomes("its pod is gone", () => record.podsOf(name).length === 0);
      return { node, out: process?.out ?? "" };
    }

    async function kubectl(...args: string[]): Promise<void> {
      expect(await cluster.api.kubectl(...args)).toMatchObject({ code: 0 });
    }

    async function lose(...nodes: string[]): Promise<void> {
      await Promise.all([hosted.lose(nodes), ...nodes.map((node) => cluster.killKubelet(node))]);
    }

    async function restore(node: string): Promise<void> {
      hosted.restore(node);
      await cluster.startKubelet(node);
    }

    /** The members of the fleet as one server of NATS knows them. */
    async function membersBy(server: NatsServer | undefined): Promise<string[]> {
      const get = new VigilProcess(["get", "fleet", `--nats=${server?.url}`, "--output=json"]);
      expect(await get.exited(), get.err).toBe(0);
      return JSON.parse(get.out)
        .items.map(({ member }: { member: string }) => member)
        .toSorted();
    }

    /** Waits until a server of NATS, which may just have started, knows every process. */
    async function isOneFleetBy(server: NatsServer | undefined): Promise<void> {
      let known: string[] = [];
      const areKnown = async () => {
        known = await membersBy(server);
        return known.join() === namesOf(hosted.of(VIGIL)).join();
      };
      await until(() => `all processes are members; known are ${known.join()}\n${hosted.log()}`, areKnown, WITHIN);
    }

    beforeAll(async () => {
      servers = await startNatsCluster(COPIES);
      await Promise.all(servers.map((server) => server.kill()));
      const { common, nats, vigil, rescue } = await rendered();
      rescueJob = rescue;
      cluster = await KubeletCluster.open(FIRST_NODES);
      const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
      record = new KubeletRecord(createKube({ ...io, wire: cluster.api.wire(), profile: STANDARD_PROFILE }));
      hosted = new HostedPods(record, start);
      await cluster.apply(...common, nats);
      await becomes("NATS is whole", () => isWhole(NATS));
      for (const node of NODES.slice(FIRST_NODES.length)) await cluster.startKubelet(node);
      const reports = (node: string) =>
        readyConditionOf(record.nodes.get(node) ?? { conditions: [] })?.status === "True";
      await becomes("all kubelets report that they are ready", () => NODES.every(reports));
      const taints = NODES.flatMap((node) => record.nodes.get(node)?.taints.map(({ key }) => key));
      expect(taints, "nothing has taken the taints of new nodes off").toEqual(NODES.map(() => NOT_READY));
      await cluster.apply(vigil);
    }, 300_000);

    afterAll(async () => {
      record?.stop();
      await hosted?.close();
      await Promise.all(servers.map((server) => server.stop()));
      await cluster?.close();
    });

    test("starts where all nodes are new, and takes their taints off", async () => {
      await becomes("Vigil is whole", () => isWhole(VIGIL));
      await becomes("all nodes are well", () => NODES.every((node) => record.isWell(node)));
    });

    test("runs its processes on different nodes, and so does NATS", () => {
      expect(nodesOf(hosted.of(VIGIL)).size).toBe(COPIES);
      expect(nodesOf(hosted.of(NATS)).size).toBe(COPIES);
    });

    test("two processes and a NATS server are lost: the third moves them", async () => {
      const [own, bus] = [nodesOf(hosted.of(VIGIL)), nodesOf(hosted.of(NATS))];
      [lost = ""] = [...own].filter((node) => !bus.has(node));
      [returning = ""] = [...own].filter((node) => bus.has(node));
      const old = on([lost, returning]);
      const ownedBy = (kind: string) => old.filter(({ pod }) => pod.owner === kind).length;
      expect([old.length, ownedBy("ReplicaSet"), ownedBy("StatefulSet")]).toEqual([3, 2, 1]);
      await lose(lost, returning);
      await becomes("both nodes are tainted", () => [lost, returning].every((node) => taintOf(node) !== undefined));
      await becomes("their pods are terminating", () => uidsOf(old).every((uid) => record.deleted.has(uid)));
      await becomes("Vigil and NATS are whole", () => isWhole(VIGIL) && isWhole(NATS));
      expect(nodesOf(hosted.of(VIGIL))).toEqual(new Set(NODES.filter((node) => node !== lost && node !== returning)));
      // A pod that was bound to a lost node would still be there.
      expect(uidsOf(on([lost, returning]))).toEqual(uidsOf(old.filter(({ pod }) => pod.owner === "ReplicaSet")));
    });

    test("its pods stay on a lost node for 30 s", () => {
      const stays = on([lost, returning])
        .filter(({ pod }) => pod.owner === "ReplicaSet")
        .map(({ node, pod }) => (pod.deletionAt ?? 0) - 15_000 - Date.parse(taintOf(node)?.timeAdded ?? ""));
      expect(stays).toHaveLength(2);
      for (const stay of stays) {
        expect(stay).toBeGreaterThanOrEqual(TOLERATED_MS.least);
        expect(stay).toBeLessThanOrEqual(TOLERATED_MS.most);
      }
    });

    test("the NATS server runs on another node, though its own stays lost", async () => {
      expect(taintOf(returning)).toBeDefined();
      expect(nodesOf(hosted.of(NATS))).not.toContain(returning);
      for (const server of servers) await isOneFleetBy(server);
      await restore(returning);
      await becomes("the node is well", () => record.isWell(returning));
    });

    test("a third node is lost: it is found in time", async () => {
      await restore(lost);
      await becomes("the node is well", () => record.isWell(lost));
      const bus = nodesOf(hosted.of(NATS));
      [third = ""] = [...nodesOf(hosted.of(VIGIL))].filter((node) => bus.has(node));
      const lostAt = performance.now();
      await lose(third);
      await becomes("the node is tainted", () => taintOf(third) !== undefined);
      expect(performance.now() - lostAt).toBeLessThan(GRACE_SECONDS * 1000 + LATE_MS);
    });

    test("a rescue does nothing while processes run", async () => {
      await becomes("Vigil has left the node", () => isWhole(VIGIL) && !nodesOf(hosted.of(VIGIL)).has(third));
      const others = NODES.filter((node) => node !== third);
      // So that a server of NATS runs there, and the fleet has one on the node that is left below.
      await kubectl("cordon", ...others);
      await restore(third);
      await becomes("NATS is whole and the node is well", () => isWhole(NATS) && record.isWell(third));
      await kubectl("delete", "pod", hosted.of(NATS)[0]?.pod.name ?? "", `--namespace=${NAMESPACE}`);
      await becomes("a server runs there", () => isWhole(NATS) && nodesOf(hosted.of(NATS)).has(third));
      await kubectl("uncordon", ...others);
      await becomes("all nodes are well", () => NODES.every((node) => record.isWell(node)));
      expect(nodesOf(hosted.of(NATS))).toContain(third);
      const running = uidsOf(hosted.of(VIGIL));
      const { node, out } = await runRescue();
      expect(nodesOf(hosted.of(VIGIL)), "the job runs away from Vigil").not.toContain(node);
      expect(out).toMatch(/^Deployment vigil-controller may be alive: pod [^\n]+ renewed its lease [^\n]+ ago\n$/);
      expect(uidsOf(hosted.of(VIGIL))).toEqual(running);
    });

    test("all are lost on nodes that stay: a rescue brings them back", async () => {
      const old = hosted.of(VIGIL);
      const gone = [...nodesOf(old)];
      await lose(...gone);
      const outs: string[] = [];
      while (!outs.at(-1)?.includes("deleted: ")) {
        const { node, out } = await runRescue();
        expect(gone).not.toContain(node);
        outs.push(out);
      }
      const deleted = (outs.at(-1) ?? "").match(/(?<=^deleted: pod vigil-system\/)\S+$/gm) ?? [];
      expect([...deleted].toSorted()).toEqual(namesOf(old));
      const isElsewhere = () => hosted.of(VIGIL).every(({ node }) => !gone.includes(node));
      await becomes("Vigil is whole on the nodes that are left", () => isWhole(VIGIL) && isElsewhere());
      await becomes("the lost nodes are tainted", () => gone.every((node) => taintOf(node) !== undefined));
      // Deleted without force, the old pods stay until their nodes return.
      expect(uidsOf(on(gone))).toEqual(expect.arrayContaining(uidsOf(old)));
      const [server] = hosted.of(NATS).filter(({ node }) => node === third);
      await isOneFleetBy(servers[Number(server?.pod.name.slice(NATS.length + 1))]);
    });

    test("all processes are lost: they return once the Node objects are deleted", async () => {
      for (const node of NODES.filter((name) => taintOf(name) !== undefined)) await restore(node);
      await becomes("all nodes are well", () => NODES.every((node) => record.isWell(node)));
      const own = [...nodesOf(hosted.of(VIGIL))];
      await lose(...own);
      expect(hosted.of(VIGIL)).toEqual([]);
      // As a cloud's controller does once the machines are gone.
      await kubectl("delete", "node", ...own);
      await becomes("Vigil and NATS are whole elsewhere", () => isWhole(VIGIL) && isWhole(NATS));
      await isOneFleetBy(servers[0]);
    });
  }, ["kube-controller-manager", "kube-scheduler", "kubemark", "kubectl"]);
});

async function startServer(server: NatsServer | undefined): Promise<PodProcess> {
  if (server === undefined) throw new Error("there is no such server of NATS");
  await server.start();
  return server;
}

function podProcess(vigil: VigilProcess): PodProcess {
  return {
    kill: () => {
      vigil.signal("SIGKILL");
      return vigil.exited();
    },
    log: () => vigil.err,
  };
}
