/**
 * The kubelet of a simulated node: it registers, renews, posts and removes its terminated pods while it is alive. Of
 * the API's faults it meets only those that keep every kubelet from the server; then it tries again.
 */
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { Clock, Timer } from "../../protocols/ports.ts";
import { apiMicroTime, apiTime } from "../../services/domain/api-time.ts";
import {
  type ApiObject,
  childList,
  childObject,
  isObject,
  type Json,
  type JsonObject,
} from "../../services/sandbox/apiserver/api-objects.ts";
import type { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { storedAs } from "../../services/sandbox/apiserver/resources.ts";
import type { HeartbeatKind } from "./heartbeat-history.ts";
import type { KubeletAccess } from "./kubelet-access.ts";
import { NO_WALL_ERROR, type WallError, wallErrorAt } from "./wall-error.ts";

const RENEWAL_MS = 10_000;
const STATUS_MS = 60_000;
const BURIAL_MS = 3_000;
/** How soon a kubelet repeats a request that the API server did not accept. */
const RETRY_MS = 10_000;

const NODES = storedAs("nodes");
const PODS = storedAs("pods");
const LEASES = storedAs("leases");

/** The Ready status that a kubelet reports; null when it has lost the condition. */
export type ReadyStatus = "True" | "False" | null;

/** The heartbeats of a kubelet. */
export interface ShownHeartbeat {
  readonly given: (node: string, kind: HeartbeatKind, stampedAt: number) => void;
  readonly erased: (node: string) => void;
}

/** What a kubelet needs. */
export interface KubeletWorld {
  readonly clock: Clock;
  readonly api: ApiServer;
  readonly access: KubeletAccess;
  /** Called for each heartbeat that reached the API, and for each post that removed the last one from it. */
  readonly signs: ShownHeartbeat;
  /** Called for each pod that was made ready again. */
  readonly resent: () => void;
  /** Lets one of the API servers create an object. */
  readonly create: (act: () => void) => void;
  /** Runs an action of the kubelet as a client other than Vigil. */
  readonly asWorld: (act: () => void) => void;
}

/** How a kubelet begins, where its node has not existed for long. */
export interface KubeletStart {
  readonly ready: ReadyStatus;
  /** Whether it restores the status of its pods with each renewal, whatever the last writer set. */
  readonly resendsPods: boolean;
}

/** One node's kubelet. */
export class SimulatedKubelet {
  readonly name: string;
  labels: Readonly<Record<string, string>>;
  /** How late its renewals are. */
  lagMs = 0;
  /** Whether its statuses do not reach the API server. */
  isStatusLost = false;
  /** What a hostile kubelet reports beside its own conditions. */
  absurdConditions: readonly JsonObject[] = [];
  /** What agents on its node report. */
  agentConditions: readonly JsonObject[] = [];
  /** The error of its machine's wall clock. */
  wallError: WallError = NO_WALL_ERROR;
  readonly #world: KubeletWorld;
  readonly #resendsPods: boolean;
  readonly #timers: Timer[] = [];
  #alive = false;
  #ready: ReadyStatus;
  #readySince = 0;

  constructor(
    name: string,
    labels: Readonly<Record<string, string>>,
    world: KubeletWorld,
    { ready, resendsPods }: KubeletStart = { ready: "True", resendsPods: false },
  ) {
    this.name = name;
    this.labels = labels;
    this.#world = world;
    this.#ready = ready;
    this.#resendsPods = resendsPods;
  }

  get alive(): boolean {
    return this.#alive;
  }

  get ready(): ReadyStatus {
    return this.#ready;
  }

  /** Starts: registers when its node is missing, and continues from there. */
  start(): void {
    if (this.#alive) return;
    this.#alive = true;
    if (this.#world.access.accepts()) this.#register();
    this.#every("renew", RENEWAL_MS, () => this.#renew());
    this.#every("post", STATUS_MS, () => this.#post());
    this.#every("bury", BURIAL_MS, () => this.#bury());
    if (this.#resendsPods) this.#every("resend", RENEWAL_MS, () => this.#resend());
  }

  /** Falls silent at once. */
  stop(): void {
    this.#alive = false;
    for (const timer of this.#timers.splice(0)) timer.cancel();
  }

  /** Reports another status of its node from now on. */
  say(ready: ReadyStatus): void {
    if (ready === this.#ready) return;
    this.#ready = ready;
    this.#readySince = this.#wallMs();
    this.#postSoon();
  }

  #wallMs(): number {
    const { clock } = this.#world;
    return clock.wallMs() + wallErrorAt(this.wallError, clock);
  }

  /** Whether its node exists in the API. */
  get registered(): boolean {
    return this.#world.api.store.collection("nodes").get("", this.name) !== undefined;
  }

  #every(what: string, periodMs: number, act: () => void): void {
    if (!this.#alive) return;
    const isAccepted = this.#isAccepted(what === "renew" ? "lease" : what === "post" ? "status" : undefined);
    if (isAccepted) this.#world.asWorld(act);
    const pauseMs = isAccepted ? periodMs : Math.min(periodMs, RETRY_MS);
    this.#after(pauseMs + (what === "renew" ? this.lagMs : 0), () => this.#every(what, periodMs, act));
  }

  #isAccepted(kind?: HeartbeatKind): boolean {
    return this.#world.access.accepts(kind) && !(kind === "status" && this.isStatusLost);
  }

  #after(ms: number, act: () => void): void {
    if (this.#timers.length > 12) this.#timers.splice(0, 6);
    this.#timers.push(this.#world.clock.after(ms, act));
  }

  /** Posts a change at once, or as soon as the API server accepts it. */
  #postSoon(): void {
    if (!this.#alive) return;
    if (this.#isAccepted("status")) this.#world.asWorld(() => this.#post());
    else this.#after(RETRY_MS, () => this.#postSoon());
  }

  #register(): void {
    if (this.registered) return;
    this.#readySince = this.#wallMs();
    const object: ApiObject = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: this.name, labels: { ...this.labels } },
      spec: {},
      status: { conditions: this.#conditions([]) },
    };
    this.#world.create(() => this.#world.api.registry.create(NODES, "", object));
    this.#world.signs.given(this.name, "status", this.#wallMs());
  }

  #renew(): void {
    const { api, signs } = this.#world;
    if (!this.registered) this.#register();
    const place = { resource: LEASES, namespace: LEASE_NAMESPACE, name: this.name };
    const spec = { holderIdentity: this.name, leaseDurationSeconds: 40, renewTime: apiMicroTime(this.#wallMs()) };
    if (api.store.collection("leases").get(LEASE_NAMESPACE, this.name) === undefined) {
      const metadata = { name: this.name, namespace: LEASE_NAMESPACE };
      const lease: ApiObject = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
      api.registry.create(LEASES, LEASE_NAMESPACE, lease);
    } else api.registry.update(place, "main", (lease) => ({ ...lease, spec }));
    signs.given(this.name, "lease", this.#wallMs());
  }

  #post(): void {
    if (!this.registered) return;
    this.#world.api.registry.update({ resource: NODES, namespace: "", name: this.name }, "status", (node) => {
      const status = isObject(node.status) ? node.status : {};
      const present = Array.isArray(status.conditions) ? status.conditions : [];
      return { ...node, status: { ...status, conditions: this.#conditions(present) } };
    });
    // A status without Ready is no heartbeat (R2.36).
    if (this.#ready === null) this.#world.signs.erased(this.name);
    else this.#world.signs.given(this.name, "status", this.#wallMs());
  }

  #conditions(present: readonly Json[]): JsonObject[] {
    const now = apiTime(this.#wallMs());
    const others = ["MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => ({
      type,
      status: "False",
      reason: "KubeletHasSufficient",
      lastHeartbeatTime: now,
      lastTransitionTime: apiTime(this.#readySince),
    }));
    if (this.#ready === null) return [...others, ...this.agentConditions, ...this.absurdConditions];
    const was = present.find((condition) => isObject(condition) && condition.type === "Ready");
    const changed = !isObject(was) || was.status !== this.#ready;
    const ready = {
      type: "Ready",
      status: this.#ready,
      reason: this.#ready === "True" ? "KubeletReady" : "KubeletNotReady",
      lastHeartbeatTime: now,
      lastTransitionTime: changed ? now : (was.lastTransitionTime ?? now),
    };
    return [...others, ready, ...this.agentConditions, ...this.absurdConditions];
  }

  /** Reports its pods as ready where the API shows something else: they run, whatever its node's state. */
  #resend(): void {
    const { api } = this.#world;
    for (const { namespace, name, json, terminating } of api.store.collection("pods").onNode(this.name)) {
      const shown = childList(childObject(JSON.parse(json), "status"), "conditions");
      const isReady = shown.some(({ type, status }) => type === "Ready" && status === "True");
      if (terminating || isReady) continue;
      const lastTransitionTime = apiTime(this.#wallMs());
      const conditions = [
        ...shown.filter(({ type }) => type !== "Ready"),
        { type: "Ready", status: "True", lastTransitionTime },
      ];
      api.registry.update({ resource: PODS, namespace, name }, "status", (pod) => {
        return { ...pod, status: { ...childObject(pod, "status"), conditions } };
      });
      this.#world.resent();
    }
  }

  /** Removes its terminating pods, as a kubelet does once their containers have ended. */
  #bury(): void {
    const { api } = this.#world;
    for (const pod of api.store.collection("pods").onNode(this.name)) {
      if (!pod.terminating) continue;
      const place = { resource: PODS, namespace: pod.namespace, name: pod.name };
      api.registry.delete(place, { uid: pod.uid, resourceVersion: null, gracePeriodSeconds: 0 });
    }
  }
}
