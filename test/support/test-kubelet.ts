/** A test kubelet on any clock: registers its node, renews the lease, posts its status, by command or when due. */

import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { ConditionStatus, Taint } from "../../protocols/objects.ts";
import {
  type Clock,
  type Kube,
  type ObjectRef,
  type Timer,
  Urgency,
  type WriteRequest,
} from "../../protocols/ports.ts";
import { apiMicroTime, apiTime } from "../../services/domain/api-time.ts";

/** How a kubelet behaves. The defaults are kubelet's, shortened for tests. */
export interface KubeletOptions {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** Time between two renewals of the lease; null for a kubelet without one. */
  readonly leasePeriodMs?: number | null;
  /** Time between two posts of the status; null to post only changes. */
  readonly statusPeriodMs?: number | null;
  /** Whether the node is created with its conditions; without them it has not posted its status yet. */
  readonly posts?: boolean;
}

const urgency = Urgency.status;
const LEASE_PERIOD_MS = 10_000;
const STATUS_PERIOD_MS = 300_000;
/** Annotations that every kubelet sets. Nearly every node of a real cluster has some. */
const ANNOTATIONS = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };
const CONDITION_TYPES = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];

/** One node's kubelet. Its writes go to the API at once; failures that matter to a test are kept in `refusals`. */
export class TestKubelet {
  readonly name: string;
  /** Details of writes that did not succeed. */
  readonly refusals: string[] = [];
  readonly #kube: Pick<Kube, "write">;
  readonly #clock: Clock;
  readonly #options: KubeletOptions;
  readonly #statuses = new Map<string, ConditionStatus>();
  readonly #transitions = new Map<string, number>();
  readonly #timers = new Map<string, Timer>();
  #posts: boolean;
  #hasLease = false;

  constructor(kube: Pick<Kube, "write">, clock: Clock, options: KubeletOptions) {
    this.name = options.name;
    this.#kube = kube;
    this.#clock = clock;
    this.#options = options;
    this.#posts = options.posts ?? true;
    for (const type of CONDITION_TYPES) this.#note(type, type === "Ready" ? "True" : "False");
  }

  /** Creates the node and begins to send heartbeats. */
  register(): void {
    const { labels = {}, taints = [] } = this.#options;
    const spec = taints.length === 0 ? {} : { taints };
    const status = this.#posts ? { conditions: this.#conditions() } : {};
    const metadata = { name: this.name, labels, annotations: ANNOTATIONS };
    const body = { apiVersion: "v1", kind: "Node", metadata, spec, status };
    this.#write({ verb: "create", ref: this.#nodeRef, urgency, body });
    this.resume();
  }

  /** Falls silent: no lease and no status until it resumes. */
  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Sends heartbeats now, and then periodically. */
  resume(): void {
    const { leasePeriodMs = LEASE_PERIOD_MS, statusPeriodMs = STATUS_PERIOD_MS } = this.#options;
    this.stop();
    if (leasePeriodMs !== null) this.#repeat("lease", leasePeriodMs, () => this.renew());
    if (statusPeriodMs !== null && this.#posts) this.#repeat("status", statusPeriodMs, () => this.post());
  }

  /** Renews the lease once. */
  renew(): void {
    const spec = { holderIdentity: this.name, leaseDurationSeconds: 40, renewTime: apiMicroTime(this.#clock.wallMs()) };
    const ref: ObjectRef = { kind: "Lease", namespace: LEASE_NAMESPACE, name: this.name };
    const metadata = { name: this.name, namespace: LEASE_NAMESPACE };
    const create = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
    if (this.#hasLease) this.#write({ verb: "patch", patch: "merge", ref, urgency, body: { spec } });
    else this.#write({ verb: "create", ref, urgency, body: create });
    this.#hasLease = true;
  }

  /** Posts the status once, and periodically from then on. */
  post(): void {
    this.#posts = true;
    const body = { status: { conditions: this.#conditions() } };
    const ref = this.#nodeRef;
    this.#write({ verb: "patch", patch: "strategic", subresource: "status", ref, urgency, body });
  }

  /** Posts a condition with this status from now on. */
  report(type: string, status: ConditionStatus): void {
    this.#note(type, status);
    this.post();
  }

  /** Removes a condition from the node. It is not posted any more. */
  withdraw(type: string): void {
    this.#statuses.delete(type);
    const body = { status: { conditions: [{ $patch: "delete", type }] } };
    const ref = this.#nodeRef;
    this.#write({ verb: "patch", patch: "strategic", subresource: "status", ref, urgency, body });
  }

  get #nodeRef(): ObjectRef {
    return { kind: "Node", namespace: "", name: this.name };
  }

  #note(type: string, status: ConditionStatus): void {
    if (this.#statuses.get(type) === status) return;
    this.#statuses.set(type, status);
    this.#transitions.set(type, this.#clock.wallMs());
  }

  #conditions(): unknown[] {
    return [...this.#statuses].map(([type, status]) => ({
      type,
      status,
      reason: `Kubelet${type}${status}`,
      message: "",
      lastHeartbeatTime: apiTime(this.#clock.wallMs()),
      lastTransitionTime: apiTime(this.#transitions.get(type) ?? 0),
    }));
  }

  #repeat(what: string, periodMs: number, act: () => void): void {
    act();
    this.#timers.set(
      what,
      this.#clock.after(periodMs, () => this.#repeat(what, periodMs, act)),
    );
  }

  #write(request: WriteRequest): void {
    this.#kube.write(request, (reply) => {
      if (reply.outcome !== "ok") this.refusals.push(reply.detail);
    });
  }
}
