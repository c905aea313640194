/**
 * A real API server with test kubelets and one controller, upstream's or Vigil. Its parts lose and regain power one by
 * one. An outage is played by the same script on two of them, one with each controller.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Kube, ObjectRef, WriteRequest } from "../../protocols/ports.ts";
import { Urgency } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { call } from "../../services/platform/kube/transport/call.ts";
import type { SocketWire } from "../../services/platform/kube/transport/https.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { startControllerManager } from "../support/kube-controller-manager.ts";
import { write } from "../support/kube-probe.ts";
import { TestKubelet } from "../support/test-kubelet.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import type { Removals } from "./removal-table.ts";

/** The controllers that play each case. */
export const CONTROLLERS = ["kube-controller-manager", "vigil"] as const;
/** One of them. */
export type ControllerName = (typeof CONTROLLERS)[number];

/** How long a node may be silent, in seconds: longer than a kubelet here takes to post its status after an outage. */
export const GRACE_SECONDS = 12;
/** Everything else is the controller's default; these are upstream's names. */
const FLAGS: Readonly<Record<string, string>> = {
  "node-monitor-period": "1s",
  "node-monitor-grace-period": `${GRACE_SECONDS}s`,
  "node-eviction-rate": "1",
};
const READ_TIMEOUT_MS = 10_000;
const LEASE_PERIOD_MS = 3_000;
const WITHIN = { withinMs: 90_000, everyMs: 250 };
/** The resources whose instants a controller may judge by. */
const LISTS = {
  nodes: "/api/v1/nodes",
  pods: "/api/v1/pods",
  leases: "/apis/coordination.k8s.io/v1/leases",
  configMaps: "/api/v1/configmaps",
} as const;
/** The node whose pod shows at the end of a case that the controller still works. */
const PROBED = "probed";
const PROBE_SECONDS_MAX = 15;
const HEALED_SECONDS_MAX = 5;
const LOG_CHARACTERS_MAX = 5_000;

/** Instants as the API server writes them; those of leases have a fraction, which stays. */
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=(?:\.\d+)?Z)/g;

/** An object as the API server answers it. */
interface AgedObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The nodes of a case and its pods. */
export interface OutageSpec {
  readonly nodes: readonly string[];
  /** The nodes with a pod, and for how long it tolerates the loss of its node. */
  readonly tolerationSeconds: Readonly<Record<string, number>>;
}

interface Controller {
  kill(): Promise<void>;
  log(): string;
}

interface ListedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec?: {
    readonly taints?: readonly { readonly key: string; readonly effect: string; readonly timeAdded?: string }[];
  };
}

/** The answer of a list; its items lack their kind. */
interface ObjectList {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly ListedObject[];
}

/** One controller's cluster; begun with `open`, ended with `close`. */
export class OutageCluster {
  readonly api: KubeApiserver;
  readonly #controllerName: ControllerName;
  readonly #kubelets: ReadonlyMap<string, TestKubelet>;
  readonly #wire: SocketWire;
  readonly #kube: Kube;
  readonly #tolerationSeconds: Readonly<Record<string, number>>;
  #controller: Controller | null = null;
  #readyAt = Number.NaN;

  /** Starts everything and waits until the controller has found all nodes ready. */
  static async open(controller: ControllerName, spec: OutageSpec): Promise<OutageCluster> {
    const cluster = new OutageCluster(await startKubeApiserver(), controller, spec);
    await cluster.#begin();
    return cluster;
  }

  private constructor(api: KubeApiserver, controller: ControllerName, spec: OutageSpec) {
    this.api = api;
    this.#controllerName = controller;
    this.#tolerationSeconds = { ...spec.tolerationSeconds, [PROBED]: 600 };
    const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
    this.#wire = api.wire();
    this.#kube = createKube({ ...io, wire: this.#wire, profile: STANDARD_PROFILE });
    const options = {
      leasePeriodMs: LEASE_PERIOD_MS,
      statusPeriodMs: null,
      labels: { "topology.kubernetes.io/zone": "z" },
    };
    const kubelet = (name: string) => new TestKubelet(this.#kube, io.clock, { name, ...options });
    this.#kubelets = new Map([...spec.nodes, PROBED].map((name) => [name, kubelet(name)]));
  }

  /** The names of all nodes. */
  get nodes(): string[] {
    return [...this.#kubelets.keys()];
  }

  /** Stops kubelets, as a power failure or a cut cable does. */
  silence(...names: readonly string[]): void {
    for (const name of names) this.#kubelet(name).stop();
  }

  /** Lets kubelets renew their leases now, and periodically from then on. They post no status. */
  renew(...names: readonly string[]): void {
    for (const name of names) this.#kubelet(name).resume();
  }

  /** Lets kubelets post their status once. */
  post(...names: readonly string[]): void {
    for (const name of names) this.#kubelet(name).post();
  }

  /** Creates the pod on a node; it tolerates the loss of the node for so many seconds. */
  async createPod(nodeName: string, tolerationSeconds: number): Promise<void> {
    const tolerations = ["not-ready", "unreachable"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds,
    }));
    const ref: ObjectRef = { kind: "Pod", namespace: "default", name: podOn(nodeName) };
    const spec = { nodeName, tolerations, containers: [{ name: "c", image: "none" }] };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name: ref.name, namespace: ref.namespace }, spec };
    await this.#write({ ref, urgency: Urgency.status, verb: "create", body });
  }

  /**
   * Waits until nodes carry unreachable:NoExecute. Resolves with when the pod of each is due, in epoch milliseconds.
   */
  async untilTainted(...names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const due = new Map<string, number>();
    const areTainted = async () => {
      for (const { metadata, spec } of (await this.#list("nodes")).items) {
        const taint = spec?.taints?.find(({ key, effect }) => key.endsWith("/unreachable") && effect === "NoExecute");
        const toleratedMs = (this.#tolerationSeconds[metadata.name] ?? 0) * 1000;
        if (taint?.timeAdded !== undefined) due.set(metadata.name, Date.parse(taint.timeAdded) + toleratedMs);
      }
      return names.every((name) => due.has(name));
    };
    await this.#until(`${names.join()} are tainted`, areTainted);
    return due;
  }

  /** Waits until nodes carry no taint. */
  untilWell(...names: readonly string[]): Promise<void> {
    return this.#until(`${names.join()} are well`, () => this.#areWell(names));
  }

  /** The resourceVersion of the whole cluster. */
  async resourceVersion(): Promise<number> {
    return Number((await this.#list("nodes")).metadata.resourceVersion);
  }

  /** Lets all kubelets renew their leases again and again, until the cluster has a resourceVersion. */
  renewUntilVersion(version: number): Promise<void> {
    return this.#until(`resourceVersion ${version}`, async () => {
      this.renew(...this.nodes);
      return (await this.resourceVersion()) >= version;
    });
  }

  /**
   * Reads everything that carries an instant. The result writes it back into etcd while the API server is away, as if
   * it had been read so many seconds earlier.
   */
  async aged(): Promise<(seconds: number) => Promise<void>> {
    const lists = await Promise.all(Object.keys(LISTS).map((resource) => this.#list(resource as keyof typeof LISTS)));
    const objects = lists.flatMap(({ apiVersion, kind, items }) =>
      items.map((item) => ({ apiVersion, kind: kind.replace(/List$/, ""), ...item })),
    );
    return (seconds) => this.api.preload(objects.map((object) => agedEntry(object, seconds)));
  }

  /** Starts the API server, and with it a controller that is not running; resolves when the API server is ready. */
  async returnPower(): Promise<void> {
    const isStarting = this.#controller === null;
    if (isStarting && this.#controllerName === "vigil") await this.#startController();
    await this.api.start();
    this.#readyAt = Date.now();
    // Upstream's ends when it finds no API server within 10 s, and is started again by its kubelet.
    if (this.#controller === null) await this.#startController();
  }

  /** Kills the controller. */
  async killController(): Promise<void> {
    await this.#controller?.kill();
    this.#controller = null;
  }

  /** Waits until so many seconds after the API server was ready. */
  async untilAfterReady(seconds: number): Promise<void> {
    await pause(Math.max(0, this.#readyAt + seconds * 1000 - Date.now()));
  }

  /** The deletions of the pods on these nodes, of which none may be deleted unless they are due. */
  async deletions(what: string, nodes: readonly string[], due: Removals["due"] = null): Promise<Removals> {
    const deletedAt = await this.#deletedAt();
    const deleted = nodes.flatMap((node) => deletedAt(node) ?? []);
    return {
      what,
      count: nodes.length,
      seconds: deleted.map((at) => wholeSeconds(this.#readyAt, at)),
      since: "/readyz",
      due,
    };
  }

  /** Waits for the deletion of the pod on a node, but not longer than until this second after `/readyz`. */
  async untilDeleted(node: string, toSeconds: number): Promise<void> {
    await this.#untilOr(this.#readyAt + toSeconds * 1000, async () => (await this.#deletedAt())(node) !== null);
  }

  /** Lets a node that carries taints post its status, and reports when the controller has removed them. */
  async heal(what: string, node: string): Promise<Removals> {
    const postedAt = Date.now();
    this.post(node);
    const isWell = await this.#untilOr(postedAt + HEALED_SECONDS_MAX * 1000, () => this.#areWell([node]));
    const seconds = isWell ? [wholeSeconds(postedAt, Date.now())] : [];
    return { what, count: 1, seconds, since: "its post", due: { fromSeconds: 0, toSeconds: HEALED_SECONDS_MAX } };
  }

  /** Taints a ready node NoExecute, as a user does. Reports when its pod is deleted, which does not tolerate that. */
  async probe(): Promise<Removals> {
    const taintedAt = Date.now();
    const taints = [{ key: "maintenance", effect: "NoExecute" }];
    const ref: ObjectRef = { kind: "Node", namespace: "", name: PROBED };
    await this.#write({ ref, urgency: Urgency.status, verb: "patch", patch: "merge", body: { spec: { taints } } });
    const deletedAt = async () => (await this.#deletedAt())(PROBED);
    await this.#untilOr(taintedAt + PROBE_SECONDS_MAX * 1000, async () => (await deletedAt()) !== null);
    const at = await deletedAt();
    return {
      what: "pod of a node with a new taint",
      count: 1,
      seconds: at === null ? [] : [wholeSeconds(taintedAt, at)],
      since: "the taint",
      due: { fromSeconds: 0, toSeconds: PROBE_SECONDS_MAX },
    };
  }

  /** The end of the controller's log. */
  log(): string {
    return this.#controller?.log().slice(-LOG_CHARACTERS_MAX) ?? "";
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.silence(...this.nodes);
    await this.killController();
    await this.api.stop();
  }

  async #begin(): Promise<void> {
    for (const kubelet of this.#kubelets.values()) kubelet.register();
    await this.#startController();
    await this.untilWell(...this.nodes);
    await Promise.all(Object.entries(this.#tolerationSeconds).map(([node, seconds]) => this.createPod(node, seconds)));
  }

  async #startController(): Promise<void> {
    const { kubeconfig } = this.api;
    if (this.#controllerName === "kube-controller-manager") {
      const manager = await startControllerManager({ kubeconfig, controllers: ["nodelifecycle"], flags: FLAGS });
      this.#controller = { kill: () => manager.stop(), log: () => manager.log() };
      return;
    }
    const flags = Object.entries(FLAGS).map(([name, value]) => `--${name}=${value}`);
    const vigil = new VigilProcess(["run", "--log-format=json", `--kubeconfig=${kubeconfig}`, ...flags]);
    const kill = async () => {
      vigil.signal("SIGKILL");
      await vigil.exited();
    };
    this.#controller = { kill, log: () => vigil.err };
  }

  /** When the pod of a node was deleted, in epoch milliseconds; null while it runs. A missing one counts as now. */
  async #deletedAt(): Promise<(node: string) => number | null> {
    const pods = new Map((await this.#list("pods")).items.map(({ metadata }) => [metadata.name, metadata]));
    return (node) => {
      const pod = pods.get(podOn(node));
      if (pod === undefined) return Date.now();
      const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod;
      return deletionTimestamp === undefined ? null : Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
    };
  }

  #list(resource: keyof typeof LISTS): Promise<ObjectList> {
    const request = { method: "GET", path: LISTS[resource], headers: { accept: "application/json" }, body: null };
    return new Promise((resolve, reject) => {
      call({ wire: this.#wire, clock: realClock() }, request, READ_TIMEOUT_MS, (answer) => {
        if (answer.kind === "answer" && answer.status === 200) resolve(JSON.parse(answer.text) as ObjectList);
        else reject(new Error(`list of ${resource}: ${JSON.stringify(answer)}`));
      });
    });
  }

  async #write(request: WriteRequest): Promise<void> {
    const reply = await write(this.#kube, request);
    if (reply.outcome !== "ok") throw new Error(reply.detail);
  }

  async #areWell(names: readonly string[]): Promise<boolean> {
    const well = (await this.#list("nodes")).items.filter(({ spec }) => (spec?.taints ?? []).length === 0);
    return names.every((name) => well.some(({ metadata }) => metadata.name === name));
  }

  #until(what: string, holds: () => Promise<boolean>): Promise<void> {
    return until(() => `${this.#controllerName}: ${what}\n${this.log()}`, holds, WITHIN);
  }

  /** Waits until something holds or an instant has passed; resolves with whether it holds. */
  async #untilOr(endAt: number, holds: () => Promise<boolean>): Promise<boolean> {
    let isHeld = false;
    await this.#until("the wait ends", async () => {
      isHeld = await holds();
      return isHeld || Date.now() > endAt;
    });
    return isHeld;
  }

  #kubelet(name: string): TestKubelet {
    const kubelet = this.#kubelets.get(name);
    if (kubelet === undefined) throw new Error(`no node ${name}`);
    return kubelet;
  }
}

const podOn = (node: string): string => `on-${node}`;

/** Seconds between two instants in epoch milliseconds. Stamps of the API are cut to whole seconds, so both are. */
function wholeSeconds(fromAt: number, toAt: number): number {
  return Math.floor(toAt / 1000) - Math.floor(fromAt / 1000);
}

/** The key of an object in etcd, below its root, and its JSON with all instants so many seconds earlier. */
function agedEntry(object: AgedObject, seconds: number): readonly [key: string, json: string] {
  const earlier = (instant: string) =>
    new Date(Date.parse(`${instant}Z`) - seconds * 1000).toISOString().slice(0, instant.length);
  return [storageKey(object), JSON.stringify(object).replaceAll(INSTANT, earlier)];
}

function storageKey({ kind, metadata: { namespace = "", name } }: AgedObject): string {
  return kind === "Node" ? `minions/${name}` : `${kind.toLowerCase()}s/${namespace}/${name}`;
}
