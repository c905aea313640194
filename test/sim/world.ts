/** The simulated cluster: API, nodes with kubelets, pods, and people who change them. It does not contain Vigil. */

import { HEARTBEATS_LEASE, LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { Random, Stop } from "../../protocols/ports.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import {
  type ApiObject,
  childList,
  childObject,
  type JsonObject,
} from "../../services/sandbox/apiserver/api-objects.ts";
import { type StorageName, storedAs } from "../../services/sandbox/apiserver/resources.ts";
import type { DeleteOptions } from "../../services/sandbox/apiserver/store/deletion.ts";
import type { StoreSnapshot } from "../../services/sandbox/apiserver/store/store.ts";
import { Change, type Stored } from "../../services/sandbox/apiserver/store/stored.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { FaultyApiServer } from "../support/faulty-apiserver.ts";
import { ApartServer } from "./apart-server.ts";
import { between, chanceOf, oneOf } from "./chance.ts";
import { silentMaxMs } from "./fault-bounds.ts";
import { FOREIGN_TAINT } from "./faults/people.ts";
import { WRITER_HEADER } from "./faulty-wire.ts";
import { Heard } from "./heard.ts";
import { type HeartbeatBackup, HeartbeatHistory, type HeartbeatKind } from "./heartbeat-history.ts";
import type { CheckedToleration } from "./invariants.ts";
import { type KubeletStart, SimulatedKubelet } from "./kubelet.ts";
import { KubeletAccess } from "./kubelet-access.ts";
import { definePolicies } from "./policies/definition.ts";
import { poolLabels } from "./policies/pools.ts";
import { defineRemediations } from "./policies/remediators.ts";
import type { FailedRequest } from "./quiet/failed-request.ts";
import type { LastingFault } from "./quiet/lasting-fault.ts";
import { RecreatedPods } from "./recreated-pods.ts";
import { requestProblem } from "./requests.ts";
import type { Swarm, ZonePlan } from "./swarm.ts";

const NODES = storedAs("nodes");
const PODS = storedAs("pods");
const LEASES = storedAs("leases");
const NAMESPACE = "default";
/** The versions between a backup and its return: far more than the objects of a simulated cluster use in a run. */
const FOREIGN_WRITES = 100_000;
const AT_ONCE: DeleteOptions = { uid: null, resourceVersion: null, gracePeriodSeconds: 0 };

/** The tolerations of new pods, from none to everything. */
const TOLERATIONS: Readonly<Record<Swarm["toleration"], readonly (readonly CheckedToleration[])[]>> = {
  any: [
    [],
    [{ operator: "Exists" }],
    [{ key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 20 }],
    [
      { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
      { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
    ],
    [
      { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 90 },
      { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 90 },
    ],
    [{ key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" }],
    [{ key: "example.com/maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 15 }],
  ],
  maintenance: [15, 30, 60, 90].map((tolerationSeconds) => [
    { key: FOREIGN_TAINT, operator: "Exists", effect: "NoExecute", tolerationSeconds },
  ]),
  short: [bearing(5, 5), bearing(20, 20), bearing(30, 45), bearing(90, 90)],
  unequal: [bearing(null, 20), bearing(200, 20), bearing(40, null), bearing(60, 150), bearing(100, 100)],
};

/** How many seconds a pod tolerates that its node is not ready and that it is unreachable; null for ever. */
function bearing(notReady: number | null, unreachable: number | null): CheckedToleration[] {
  return [["not-ready", notReady] as const, ["unreachable", unreachable] as const].map(([illness, seconds]) => ({
    key: `node.kubernetes.io/${illness}`,
    operator: "Exists",
    effect: "NoExecute",
    ...(seconds === null ? {} : { tolerationSeconds: seconds }),
  }));
}

/** The labels of a node in a zone. */
export function labelsOf({ name, labels }: ZonePlan): Record<string, string> {
  if (labels === "none") return {};
  const prefix = labels === "beta" ? "failure-domain.beta" : "topology";
  return { [`${prefix}.kubernetes.io/region`]: "here", [`${prefix}.kubernetes.io/zone`]: name };
}

/** What a pod has in place of what would be drawn. */
interface GivenPod {
  readonly metadata?: JsonObject;
  readonly tolerations?: readonly CheckedToleration[];
}

/** The API's store as it was once. */
export interface Backup {
  /** When it was made, on the wall clock. */
  readonly atMs: number;
  readonly objects: StoreSnapshot;
  readonly signs: HeartbeatBackup;
}

/** How the objects of a collection differ between two states. */
function changesBetween(before: readonly Stored[], after: readonly Stored[]): Change[] {
  const keyOf = ({ namespace, name }: Stored): string => `${namespace}/${name}`;
  const [was, is] = [new Map(before.map((each) => [keyOf(each), each])), new Set(after.map(keyOf))];
  const gone = before.filter((each) => !is.has(keyOf(each))).map((each) => new Change("DELETED", each, each));
  const changed = after.flatMap((each) => {
    const old = was.get(keyOf(each)) ?? null;
    return old?.json === each.json ? [] : [new Change(old === null ? "ADDED" : "MODIFIED", each, old)];
  });
  return [...gone, ...changed];
}

/** The cluster of one run. */
export class World {
  readonly clock = new VirtualClock();
  readonly api: FaultyApiServer;
  readonly swarm: Swarm;
  readonly kubelets = new Map<string, SimulatedKubelet>();
  readonly signs: HeartbeatHistory;
  /** The heartbeats that the API server accepted. */
  readonly heard: Heard;
  /** The API server with a clock that differs from the others'. */
  readonly apart: ApartServer;
  readonly access = new KubeletAccess();
  readonly recreatedPods: RecreatedPods;
  /** Requests of Vigil that must not be sent, as text. */
  readonly wrongRequests: string[] = [];
  /** Called for each pod that its kubelet made ready again. */
  podResent: () => void = () => {};
  /** Called for each object that a restored backup has changed. */
  restored: (kind: "node" | "pod", change: Change) => void = () => {};
  /** The request that failed in a quiet run; null before, and in any other run. */
  failedRequest: FailedRequest | null = null;
  /** The fault that stays in the calm of a quiet run; null before, and in any other run. */
  lastingFault: LastingFault | null = null;
  /** The process with the request that the API carries out now; "" for the world's own. */
  writer = "";
  #pods = 0;
  /** When a backup was restored last, on the wall clock. */
  #restoredMs = Number.NEGATIVE_INFINITY;

  constructor(swarm: Swarm) {
    this.swarm = swarm;
    this.signs = new HeartbeatHistory(silentMaxMs(swarm) || swarm.profile.watchBlindMs);
    this.heard = new Heard(swarm);
    this.apart = new ApartServer(this.clock);
    this.api = new FaultyApiServer({ clock: this.apart.clock, random: chanceOf(swarm.seed, "api") });
    // A plan that never matches, but sees each request at the moment it is carried out.
    this.api.faults.add({
      fault: { kind: "stall" },
      when: (call) => {
        this.writer = call.headers[WRITER_HEADER] ?? "";
        const problem = this.writer === "" ? null : requestProblem(call);
        if (problem !== null) this.wrongRequests.push(problem);
        return false;
      },
    });
    this.recreatedPods = new RecreatedPods(this);
    if (swarm.policies !== undefined) definePolicies(this);
    if (swarm.policies?.isRemediating === true) defineRemediations(this);
    for (const zone of swarm.zones) for (let index = 1; index <= zone.nodes; index++) this.#addNode(zone, index);
  }

  /** Runs an action of the world, not of a process of Vigil. */
  asWorld<T>(act: () => T): T {
    this.writer = "";
    return act();
  }

  /** The objects of a collection, parsed. */
  objects<T>(storage: StorageName): T[] {
    return this.api.store
      .collection(storage)
      .sorted("")
      .map((stored) => JSON.parse(stored.json) as T);
  }

  /** A random node's kubelet. */
  anyKubelet(random: Random): SimulatedKubelet {
    return oneOf(random, [...this.kubelets.values()]);
  }

  /** A random pod; null when there is none. */
  anyPod(random: Random): Stored | null {
    const pods = this.api.store.collection("pods").sorted("");
    return pods.length === 0 ? null : oneOf(random, pods);
  }

  /** Creates a pod bound to a node; one that is drawn by its name, where nothing else is given. */
  addPod(node: string, name: string, given: GivenPod = {}): void {
    if (this.api.store.collection("pods").get(NAMESPACE, name) !== undefined) return;
    const now = apiTime(this.clock.wallMs());
    const random = chanceOf(this.swarm.seed, `pod/${name}/${now}`);
    const owners =
      random() < 0.15 ? [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "d", controller: true }] : [];
    const pod: ApiObject = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace: NAMESPACE,
        ...(owners.length > 0 ? { ownerReferences: owners } : {}),
        ...given.metadata,
      },
      spec: {
        nodeName: node,
        containers: [{ name: "main", image: "none" }],
        tolerations: (given.tolerations ?? oneOf(random, TOLERATIONS[this.swarm.toleration])).map((toleration) => ({
          ...toleration,
        })),
      },
    };
    this.asWorld(() => {
      const { uid, boundAt } = this.apart.create((aheadMs) => ({
        uid: this.api.registry.create(PODS, NAMESPACE, pod).uid,
        boundAt: apiTime(this.clock.wallMs() + aheadMs),
      }));
      this.apart.created(uid);
      const status = {
        phase: "Running",
        startTime: now,
        conditions: [
          { type: "PodScheduled", status: "True", lastTransitionTime: boundAt },
          { type: "Ready", status: "True", lastTransitionTime: now },
        ],
      };
      // A pod is created without a status; its kubelet posts it.
      this.api.registry.update({ resource: PODS, namespace: NAMESPACE, name }, "status", (made) => ({
        ...made,
        status,
      }));
    });
  }

  /** Changes an object as the world. */
  edit(kind: "nodes" | "pods", name: string, change: (object: ApiObject) => ApiObject): void {
    const resource = kind === "nodes" ? NODES : PODS;
    const namespace = kind === "nodes" ? "" : NAMESPACE;
    if (this.api.store.collection(kind).get(namespace, name) === undefined) return;
    this.asWorld(() => this.api.registry.update({ resource, namespace, name }, "main", change));
  }

  /** Changes a node's conditions as its kubelet does, or a client with its credential. */
  editStatus(name: string, change: (conditions: readonly JsonObject[]) => readonly JsonObject[]): void {
    if (this.api.store.collection("nodes").get("", name) === undefined) return;
    this.asWorld(() =>
      this.api.registry.update({ resource: NODES, namespace: "", name }, "status", (node) => {
        const status = childObject(node, "status");
        return { ...node, status: { ...status, conditions: [...change(childList(status, "conditions"))] } };
      }),
    );
  }

  /** Gives a node and its kubelet other labels. */
  move(kubelet: SimulatedKubelet, labels: Record<string, string>): void {
    kubelet.labels = labels;
    this.edit("nodes", kubelet.name, (node) => ({ ...node, metadata: { ...node.metadata, labels: { ...labels } } }));
  }

  /** Lets a new node join that is not ready yet; its first pods are bound at once. */
  join(zone: ZonePlan, number: number, pods: number): SimulatedKubelet {
    const name = `${zone.name}-n${number}`;
    const kubelet = this.#kubelet(name, zone, { ready: "False", resendsPods: true });
    this.asWorld(() => kubelet.start());
    for (let pod = 0; pod < pods; pod++) this.addPod(name, `pod-${name}-${pod}`);
    return kubelet;
  }

  /** Removes a node for good, with its kubelet, its lease and its pods. */
  leave(name: string): void {
    this.kubelets.get(name)?.stop();
    this.kubelets.delete(name);
    this.remove("nodes", name);
    this.signs.forget(name);
    const lease = { resource: LEASES, namespace: LEASE_NAMESPACE, name };
    if (this.api.store.collection("leases").get(LEASE_NAMESPACE, name) !== undefined) {
      this.asWorld(() => this.api.registry.delete(lease, AT_ONCE));
    }
    for (const pod of this.api.store.collection("pods").onNode(name)) this.remove("pods", pod.name);
  }

  /** Removes an object at once, as the world. */
  remove(kind: "nodes" | "pods", name: string): void {
    const resource = kind === "nodes" ? NODES : PODS;
    const namespace = kind === "nodes" ? "" : NAMESPACE;
    if (this.api.store.collection(kind).get(namespace, name) === undefined) return;
    this.asWorld(() => this.api.registry.delete({ resource, namespace, name }, AT_ONCE));
  }

  /** Disconnects the API server from the network, for kubelets and Vigil alike. The returned function reconnects it. */
  apiAway(): Stop {
    const [admit, serve] = [this.access.cut(), this.api.faults.refuse()];
    return () => {
      admit();
      serve();
    };
  }

  /** Until when Vigil has heard nodes, as its own Lease in the API says; 0 without one. */
  get recordedAt(): number {
    const { namespace, name } = HEARTBEATS_LEASE;
    const lease = this.api.store.collection("leases").get(namespace, name);
    const { renewTime } = lease === undefined ? {} : childObject(lease.object(), "spec");
    return typeof renewTime === "string" ? Date.parse(renewTime) : 0;
  }

  /**
   * A backup of the API's store. What others write after it (in a cluster hundreds of objects a second, here none)
   * moves the version so far that a restored store does not reach it again.
   */
  backup(): Backup {
    const objects = this.api.snapshot();
    for (let written = 0; written < FOREIGN_WRITES; written += 1) this.api.store.nextRevision();
    return { atMs: this.clock.wallMs(), objects, signs: this.signs.backup() };
  }

  /** Whether the API's store was ever taken back to a backup. */
  get isRestored(): boolean {
    return Number.isFinite(this.#restoredMs);
  }

  /**
   * Restores the API's store from a backup, unless that is of a time that another restore has undone. `isSleptThrough`
   * is whether an observer is suspended now, and its clock with it.
   */
  restore({ atMs, objects, signs }: Backup, watches: "cut" | "silent", isSleptThrough = false): void {
    if (atMs < this.#restoredMs) return;
    this.#restoredMs = this.clock.wallMs();
    const before = (["nodes", "pods"] as const).map((storage) => this.api.store.collection(storage).sorted(""));
    this.asWorld(() => this.api.restore(objects, { watches }));
    this.heard.restored(atMs, isSleptThrough);
    this.signs.restored(signs);
    for (const [index, kind] of (["node", "pod"] as const).entries()) {
      const after = this.api.store.collection(`${kind}s`).sorted("");
      for (const change of changesBetween(before[index] ?? [], after)) this.restored(kind, change);
    }
  }

  #kubelet(name: string, zone: ZonePlan, start?: KubeletStart): SimulatedKubelet {
    const signs = {
      given: (node: string, kind: HeartbeatKind, stampedAt: number) => {
        this.signs.note(node, kind, this.clock.wallMs(), stampedAt);
        this.heard.accepted(node, kind, this.clock.wallMs(), stampedAt);
      },
      erased: (node: string) => this.signs.erase(node, this.clock.wallMs()),
    };
    const asWorld = (act: () => void): void => this.asWorld(act);
    const { clock, api, access } = this;
    const create = (act: () => void): void => this.apart.create(act);
    const world = { clock, api, access, signs, asWorld, create, resent: () => this.podResent() };
    const kubelet = new SimulatedKubelet(name, labelsOf(zone), world, start);
    this.kubelets.set(name, kubelet);
    return kubelet;
  }

  #addNode(zone: ZonePlan, index: number): void {
    const name = `${zone.name}-n${index}`;
    const kubelet = this.#kubelet(name, zone);
    if (this.swarm.policies !== undefined) kubelet.labels = { ...kubelet.labels, ...poolLabels(index) };
    // Spread over one renewal period, as the kubelets of a real cluster are.
    this.clock.after(between(chanceOf(this.swarm.seed, `kubelet/${name}`), 0, 9_999), () =>
      this.asWorld(() => kubelet.start()),
    );
    this.clock.after(10_000, () => {
      for (let pod = 0; pod < this.swarm.podsPerNode; pod++) this.addPod(name, `pod-${++this.#pods}`);
    });
  }
}
