/**
 * A large cluster inside the process of the embedded API. It is filled and renewed through the registry, because a
 * hundred thousand kubelets over HTTP would need more cores than the controller under test.
 */

import { renewPeriodMs } from "../../services/agent/lease.policy.ts";
import { asNode } from "../../services/agent/node-object.ts";
import { apiMicroTime } from "../../services/domain/api-time.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import type { ApiObject } from "../../services/sandbox/apiserver/api-objects.ts";
import type { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { storedAs } from "../../services/sandbox/apiserver/resources.ts";
import { hollowPod } from "../../services/sandbox/hollow/hollow-pods.ts";
import { hollowNode, hollowStatus } from "../../services/sandbox/hollow/hollow-status.ts";
import { type HollowSelector, select } from "../../services/sandbox/hollow/node-selection.ts";
import { type LoadOptions, specsOf } from "./load.ts";
import { podsOf } from "./pod-template.ts";

const LEASES = "kube-node-lease";
const STATUS_PERIOD_MS = 300_000;
/** Each node has a slot of its period, so heartbeats are spread evenly over it. */
const SLOT_MS = 50;
const NOT_READY = /"type":"Ready","status":"(?:Unknown|False)"/;
const NO_ORDERS = new Map<string, never>();

const NODE = storedAs("nodes");
const LEASE = storedAs("leases");
const POD = storedAs("pods");

interface Kubelet {
  readonly spec: ReturnType<typeof specsOf>[number];
  silent: boolean;
  /** It was silent and has not posted since. */
  isBack: boolean;
  /** Its next status is due in this slot at the latest. */
  statusSlot: number;
}

/** All kubelets of a cluster, on one timer. */
export class ApiserverKubelets {
  readonly #api: ApiServer;
  readonly #options: LoadOptions;
  readonly #kubelets: readonly Kubelet[];
  readonly #byName: ReadonlyMap<string, Kubelet>;
  readonly #slots: number;
  #startedMs = 0;
  #slot = 0;

  constructor(api: ApiServer, options: LoadOptions) {
    this.#api = api;
    this.#options = options;
    const statusSlots = STATUS_PERIOD_MS / SLOT_MS;
    this.#kubelets = specsOf(options).map((spec) => ({
      spec,
      silent: false,
      isBack: false,
      statusSlot: Math.floor(systemRandom() * statusSlots),
    }));
    this.#byName = new Map(this.#kubelets.map((kubelet) => [kubelet.spec.name, kubelet]));
    this.#slots = renewPeriodMs(options.leaseSeconds) / SLOT_MS;
  }

  /** Creates every node, lease and pod, all of them ready. Returns the CPU time per object by kind, in microseconds. */
  fill(): Record<string, number> {
    const { store } = this.#api;
    const perKind = (create: (kubelet: Kubelet) => void): number => {
      const before = process.cpuUsage();
      for (const kubelet of this.#kubelets) create(kubelet);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / this.#kubelets.length;
    };
    const createMicros = {
      node: perKind((kubelet) => this.#createNode(kubelet)),
      lease: perKind((kubelet) => this.#createLease(kubelet)),
    };
    for (const pod of podsOf(this.#options, () => store.nextRevision())) store.put("pods", pod);
    return createMicros;
  }

  /** Starts the heartbeats: each node renews its lease in its own slot of the period. */
  start(): void {
    // As a kubelet does, a node whose conditions another client changed posts its own with its next heartbeat.
    this.#api.store.collection("nodes").listen(({ now }) => {
      const kubelet = this.#byName.get(now.name);
      if (kubelet !== undefined && NOT_READY.test(now.json)) kubelet.statusSlot = 0;
    });
    this.#startedMs = performance.now();
    setInterval(() => this.#catchUp(), SLOT_MS);
  }

  /**
   * Silences nodes, or lets each return in its next slot with a heartbeat, a status and its pods. Returns their number.
   * All returns at once would block the API for a second, and renewals would no longer be spread evenly.
   */
  order(order: "silence" | "resume", selector: HollowSelector): number {
    const selected = select(this.#kubelets, selector, systemRandom);
    for (const kubelet of selected) {
      kubelet.isBack ||= kubelet.silent && order === "resume";
      kubelet.silent = order === "silence";
    }
    return selected.length;
  }

  /**
   * Reports the pods that were marked while their node was silent as ready again, as a kubelet does when it is back.
   */
  #showPodsReady({ spec: { name: node } }: Kubelet): void {
    for (let index = 0; index < this.#options.podsPerNode; index++) {
      const { namespace, name } = hollowPod(node, index).ref;
      this.#api.registry.update({ resource: POD, namespace, name }, "status", (pod) => {
        const { conditions = [], ...status } = pod.status as { conditions?: { type: string }[] };
        const shown = conditions.map((each) => (each.type === "Ready" ? { ...each, status: "True" } : each));
        return { ...pod, status: { ...status, conditions: shown } };
      });
    }
  }

  #catchUp(): void {
    const reached = Math.floor((performance.now() - this.#startedMs) / SLOT_MS);
    for (; this.#slot < reached; this.#slot++) {
      for (let index = this.#slot % this.#slots; index < this.#kubelets.length; index += this.#slots) {
        const kubelet = this.#kubelets[index];
        if (kubelet !== undefined && !kubelet.silent) this.#beat(kubelet);
      }
    }
  }

  #beat(kubelet: Kubelet): void {
    const { name } = kubelet.spec;
    const now = Date.now();
    const place = { resource: LEASE, namespace: LEASES, name };
    this.#api.registry.update(place, "main", (lease) => {
      lease.spec = this.#leaseSpec(name, now);
      return lease;
    });
    if (this.#slot < kubelet.statusSlot && !kubelet.isBack) return;
    kubelet.statusSlot = this.#slot + STATUS_PERIOD_MS / SLOT_MS;
    this.#api.registry.update({ resource: NODE, namespace: "", name }, "status", (node) => {
      const { status } = hollowStatus(asNode(node), kubelet.spec, NO_ORDERS, now);
      return { ...node, status: JSON.parse(JSON.stringify(status)) };
    });
    // The pods come after their node: a ready pod on a node that still looks silent is marked again, and this kubelet
    // reports it only once.
    if (kubelet.isBack) this.#showPodsReady(kubelet);
    kubelet.isBack = false;
  }

  #leaseSpec(name: string, now: number): Record<string, string | number> {
    return { holderIdentity: name, leaseDurationSeconds: this.#options.leaseSeconds, renewTime: apiMicroTime(now) };
  }

  #createNode({ spec }: Kubelet): void {
    const node = hollowNode(spec, NO_ORDERS, Date.now());
    this.#api.registry.create(NODE, "", JSON.parse(JSON.stringify(node)));
    const place = { resource: NODE, namespace: "", name: spec.name };
    // The nodes of a steady cluster do not have the taint that new ones get.
    this.#api.registry.update(place, "main", ({ spec: _tainted, ...rest }) => ({ ...rest, spec: {} }));
  }

  #createLease({ spec: { name } }: Kubelet): void {
    const metadata = { name };
    const spec = this.#leaseSpec(name, Date.now());
    const head = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
    this.#api.registry.create(LEASE, LEASES, { ...head, metadata, spec } as ApiObject);
  }
}
