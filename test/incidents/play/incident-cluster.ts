/**
 * A real API server with one controller, upstream's or Vigil, whose parts fail one by one. The same incident is played
 * on two of them, one with each controller.
 */
import type { Kube } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { call } from "../../../services/platform/kube/transport/call.ts";
import type { SocketWire } from "../../../services/platform/kube/transport/https.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { CONTROLLER_GROUP, type KubeApiserver, startKubeApiserver } from "../../support/kube-apiserver.ts";
import { writeKubeconfig } from "../../support/kubectl.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";
import type { Part, PathState, Refusable } from "../incident.ts";
import { type ControllerName, type Periods, type RunningController, startController } from "./controller.ts";
import type { Outage } from "./judge.ts";
import { type AgedObject, agedEntry } from "./stored-object.ts";

const READ_TIMEOUT_MS = 10_000;
const READY = { withinMs: 60_000, everyMs: 100 };
/** The resources whose instants a controller may judge by. */
const LISTS = {
  nodes: "/api/v1/nodes",
  pods: "/api/v1/pods",
  leases: "/apis/coordination.k8s.io/v1/leases",
  configMaps: "/api/v1/configmaps",
} as const;
const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/** What a webhook is asked about; nothing answers there. */
const UNSERVED_URL = "https://127.0.0.1:1/";
const REFUSED: Readonly<Record<Refusable, object>> = {
  leases: { apiGroups: ["coordination.k8s.io"], resources: ["leases"], operations: ["CREATE", "UPDATE"] },
  "deletions of pods": { apiGroups: [""], resources: ["pods"], operations: ["DELETE"] },
};
/** More changes than nodes make again until the end of an incident. */
const LOST_CHANGES = 1_200;

/** A node or pod as a list shows it. */
export interface ListedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: {
    readonly taints?: readonly { readonly key: string; readonly effect: string; readonly timeAdded?: string }[];
    readonly tolerations?: readonly { readonly key?: string; readonly tolerationSeconds?: number }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** The answer of a list; its items lack their kind. */
interface ObjectList {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly ListedObject[];
}

/** A backup of etcd. */
interface Backup {
  readonly objects: readonly AgedObject[];
  readonly restore: () => Promise<void>;
}

/** How the controller of a cluster runs. */
export interface ClusterSetup {
  readonly periods: Periods;
  /** Its flags beside the usual ones. */
  readonly flags: Readonly<Record<string, string>>;
  /** Whether its way to the API server can stall or break. */
  readonly hasControllerPath: boolean;
  /** Whether nodes join without the taint of an unready node, which a controller removes at its request rate. */
  readonly untaintedNodes: boolean;
}

/** One controller's cluster; begun with `open`, ended with `close`. */
export class IncidentCluster {
  readonly api: KubeApiserver;
  readonly controllerName: ControllerName;
  /** A client for people and for kubelets that have no load balancer before the API server. */
  readonly kube: Kube;
  /** A client for those that have one. */
  readonly balancedKube: Kube;
  /** The times in which no node could be heard. */
  readonly outages: Outage[] = [];
  /** The times in which no pod could be deleted. */
  readonly refusals: Outage[] = [];
  readonly #wire: SocketWire;
  readonly #setup: ClusterSetup;
  readonly #paths: Readonly<Record<"controller" | "loadBalancer", TcpProxy>>;
  #controller: RunningController | null = null;
  /** Whether the controller has to run as soon as there is an API server. */
  #isDue = false;
  #awayAt: number | null = null;
  #refusedAt: number | null = null;
  #backup: Backup | null = null;

  /** Starts the servers and the controller. */
  static async open(controller: ControllerName, setup: ClusterSetup): Promise<IncidentCluster> {
    const { untaintedNodes } = setup;
    const api = await startKubeApiserver({ audit: { group: CONTROLLER_GROUP, onlyWrites: true }, untaintedNodes });
    const port = Number(new URL(api.url).port);
    const paths = { controller: await startTcpProxy(port), loadBalancer: await startTcpProxy(port) };
    const cluster = new IncidentCluster({ api, controller, setup, paths });
    await cluster.start("controller");
    return cluster;
  }

  private constructor(parts: {
    readonly api: KubeApiserver;
    readonly controller: ControllerName;
    readonly setup: ClusterSetup;
    readonly paths: Readonly<Record<"controller" | "loadBalancer", TcpProxy>>;
  }) {
    this.api = parts.api;
    this.controllerName = parts.controller;
    this.#wire = parts.api.wire();
    this.#setup = parts.setup;
    this.#paths = parts.paths;
    const io = { clock: realClock(), random: systemRandom, log: silentLog, profile: STANDARD_PROFILE };
    const kubeOver = (port?: number) => createKube({ ...io, metrics: createMetrics(), wire: this.api.wire({ port }) });
    this.kube = kubeOver();
    this.balancedKube = kubeOver(parts.paths.loadBalancer.port);
  }

  /** The periods of its controller and its kubelets. */
  get periods(): Periods {
    return this.#setup.periods;
  }

  /** Ends a part at once. */
  async kill(part: Part): Promise<void> {
    if (part === "controller") {
      await this.#controller?.kill();
      this.#controller = null;
      this.#isDue = false;
      return;
    }
    this.#awayAt ??= Date.now();
    await (part === "etcd" ? this.api.cutPower() : this.api.kill());
  }

  /** Starts a part; resolves when it serves. Upstream's controller does not start before there is an API server. */
  async start(part: Part): Promise<void> {
    if (part === "controller") {
      this.#isDue = true;
      if (this.controllerName === "kube-controller-manager" && this.#awayAt !== null) return;
    } else {
      await this.api.start();
      this.#endOutage();
    }
    if (!this.#isDue || this.#controller !== null) return;
    const { hasControllerPath } = this.#setup;
    // Clients retry in another way after a refused connection than after one that a proxy accepts and breaks.
    const port = hasControllerPath ? this.#paths.controller.port : Number(new URL(this.api.url).port);
    this.#controller = await startController(this.controllerName, this.#kubeconfig(port), this.#setup);
  }

  /** Stops a part with its connections open. */
  freeze(part: "API server" | "controller"): void {
    if (part === "API server") this.#awayAt ??= Date.now();
    if (part === "API server") this.api.pause();
    else this.#controller?.pause();
  }

  /** Lets it go on. */
  thaw(part: "API server" | "controller"): void {
    if (part === "controller") {
      this.#controller?.resume();
      return;
    }
    this.api.resume();
    this.#endOutage();
  }

  /** What becomes of the bytes on a way to the API server. */
  path(which: "controller" | "loadBalancer", state: PathState): void {
    const proxy = this.#paths[which];
    if (state === "heals") {
      proxy.mend();
      proxy.flow();
    } else if (state === "breaks") {
      proxy.cut();
    } else {
      proxy.stall("server");
      proxy.stall("client");
    }
  }

  /** Lets a webhook refuse writes, because nothing answers at its address. */
  async refuse(what: Refusable): Promise<void> {
    const name = webhookOf(what);
    const rule = { apiVersions: ["v1"], ...REFUSED[what] };
    const [admissionReviewVersions, clientConfig] = [["v1"], { url: UNSERVED_URL }];
    const hook = {
      name: `${name}.example.com`,
      rules: [rule],
      clientConfig,
      sideEffects: "None",
      failurePolicy: "Fail",
    };
    const head = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };
    const body = { ...head, metadata: { name }, webhooks: [{ ...hook, admissionReviewVersions, timeoutSeconds: 2 }] };
    await this.request("POST", WEBHOOKS, body);
    if (what === "deletions of pods") this.#refusedAt = Date.now();
  }

  /** Removes that webhook. */
  async allow(what: Refusable): Promise<void> {
    await this.request("DELETE", `${WEBHOOKS}/${webhookOf(what)}`);
    if (this.#refusedAt !== null) this.refusals.push({ from: this.#refusedAt, to: Date.now() });
    this.#refusedAt = null;
  }

  /** Ends the API server, and makes everything in etcd so many seconds older. */
  async age(seconds: number): Promise<void> {
    const objects = await this.#datedObjects();
    await this.kill("API server");
    await this.#writeAged(objects, seconds);
  }

  /** Makes a backup of etcd. */
  async backUp(): Promise<void> {
    this.#backup = { objects: await this.#datedObjects(), restore: this.api.backUp() };
  }

  /** Ends the API server, and restores the backup as one that was made so many seconds ago. */
  async restore(seconds: number): Promise<void> {
    const backup = this.#backup;
    if (backup === null) throw new Error("there is no backup");
    await this.kill("API server");
    await backup.restore();
    await this.#writeAged(backup.objects, seconds);
  }

  /** Writes with a function until the cluster has many more versions. */
  async writeOn(writeOnce: () => void): Promise<void> {
    const versionNow = async () => Number((await this.list("nodes")).metadata.resourceVersion);
    const last = (await versionNow()) + LOST_CHANGES;
    const isReached = async () => {
      writeOnce();
      return (await versionNow()) >= last;
    };
    await until(`resourceVersion ${last}`, isReached, READY);
  }

  /** The objects of a resource. */
  list(resource: keyof typeof LISTS): Promise<ObjectList> {
    return this.request("GET", LISTS[resource]) as Promise<ObjectList>;
  }

  /** One request of an administrator; resolves with the answer's object, and rejects with a refusal. */
  request(method: string, path: string, body: object | null = null): Promise<unknown> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers = { accept: "application/json", ...(body !== null && { "content-type": type }) };
    const request = { method, path, headers, body: body === null ? null : JSON.stringify(body) };
    return new Promise((resolve, reject) => {
      call({ wire: this.#wire, clock: realClock() }, request, READ_TIMEOUT_MS, (answer) => {
        if (answer.kind === "answer" && answer.status < 300) resolve(JSON.parse(answer.text));
        else reject(new Error(`${method} ${path}: ${JSON.stringify(answer)}`));
      });
    });
  }

  /** The controller's log. */
  log(): string {
    return this.#controller?.log() ?? "";
  }

  /** Ends everything. */
  async close(): Promise<void> {
    await this.kill("controller");
    await this.api.stop();
    await Promise.all(Object.values(this.#paths).map((path) => path.close()));
  }

  #endOutage(): void {
    if (this.#awayAt !== null) this.outages.push({ from: this.#awayAt, to: Date.now() });
    this.#awayAt = null;
  }

  #kubeconfig(port: number): string {
    const { controllerToken: token, caFile } = this.api;
    const file = this.api.kubeconfig.replace(/\.json$/, "-controller.json");
    return writeKubeconfig(file, { server: `https://127.0.0.1:${port}`, token, caFile });
  }

  async #datedObjects(): Promise<AgedObject[]> {
    const lists = await Promise.all(Object.keys(LISTS).map((resource) => this.list(resource as keyof typeof LISTS)));
    return lists.flatMap(({ apiVersion, kind, items }) =>
      items.map((item) => ({ apiVersion, kind: kind.replace(/List$/, ""), ...item })),
    );
  }

  #writeAged(objects: readonly AgedObject[], seconds: number): Promise<void> {
    return this.api.preload(objects.map((object) => agedEntry(object, seconds)));
  }
}

const webhookOf = (what: Refusable): string => `refuses-${what.replaceAll(" ", "-")}`;
