/** A real API server with hollow nodes and pods, and one controller that can be killed and restarted. */
import type { ConditionStatus } from "../../protocols/objects.ts";
import { type Kube, type ObjectRef, Urgency, type WriteRequest } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { epochMsOf } from "../../services/domain/api-time.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import type { SocketWire } from "../../services/platform/kube/transport/https.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import type { HollowNodeSpec } from "../../services/sandbox/hollow/hollow-stats.ts";
import { recordOf, textOf } from "../../services/structures/json.ts";
import { type KubeApiserver, startKubeApiserver } from "./kube-apiserver.ts";
import { read, write } from "./kube-probe.ts";
import { VigilProcess } from "./vigil-process.ts";

/** A running controller. */
interface Actor {
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>;
  log(): string;
}

/** Starts a controller on the cluster of a kubeconfig; resolves when it is running. */
export type StartActor = (kubeconfig: string) => Promise<Actor>;

/** A pod of the stage. */
export interface StagePod {
  readonly name: string;
  readonly node: string;
  readonly tolerations: readonly object[];
  readonly ownerReferences?: readonly object[];
  readonly terminationGracePeriodSeconds?: number;
}

const IO = { clock: realClock(), random: systemRandom, log: silentLog };
/** Renewed every second, which is often enough for a grace of some seconds. */
const TIMES = { leaseSeconds: 4, statusReportMs: 300_000 };

/** Starts `vigil run` with these flags, by name without dashes, and waits until it logs that it is running. */
export function vigilWith(flags: Readonly<Record<string, string>>): StartActor {
  const argv = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  return async (kubeconfig) => {
    const child = new VigilProcess(["run", "--log-format=json", `--kubeconfig=${kubeconfig}`, ...argv]);
    const kill = async () => {
      child.signal("SIGKILL");
      await child.exited();
    };
    await child.untilLogged("running");
    return { kill, log: () => child.err };
  };
}

/** The API server of a stage. */
export type StageServer = Pick<KubeApiserver, "kubeconfig" | "wire" | "kubectl" | "stop">;

/** One stage; begun with `open`, ended with `close`. */
export class Stage {
  readonly kube: Kube;
  readonly #server: StageServer;
  readonly #start: StartActor;
  readonly #hollow: HollowNodes[] = [];
  #actor: Actor | null = null;

  /** By default on a kube-apiserver of its own. */
  static async open(start: StartActor, server?: StageServer): Promise<Stage> {
    return new Stage(server ?? (await startKubeApiserver()), start);
  }

  private constructor(server: StageServer, start: StartActor) {
    this.#server = server;
    this.#start = start;
    this.kube = createKube({ ...IO, wire: server.wire(), metrics: createMetrics(), profile: STANDARD_PROFILE });
  }

  /** One more wire to the API server. */
  wire(): SocketWire {
    return this.#server.wire();
  }

  /** Path of a kubeconfig for the administrator. */
  get kubeconfig(): string {
    return this.#server.kubeconfig;
  }

  /** What kubectl prints as JSON. */
  async kubectl(...args: string[]): Promise<unknown> {
    const { stdout } = await this.#server.kubectl(...args, "--output=json");
    return JSON.parse(stdout);
  }

  /** The end of the controller's log. */
  log(): string {
    return this.#actor?.log().slice(-3000) ?? "";
  }

  /** Registers nodes, by name with their zone, and sends their heartbeats. */
  register(zones: Readonly<Record<string, string>>): void {
    this.registerAs(Object.entries(zones).map(([name, zone]) => ({ name, zone, region: "r" })));
  }

  /** The same for nodes that are described in full. */
  registerAs(nodes: readonly HollowNodeSpec[]): void {
    this.#hollow.push(new HollowNodes({ ...IO, kube: this.kube, nodes, times: TIMES }));
  }

  /** Kills the controller. */
  async kill(): Promise<void> {
    await this.#actor?.kill();
    this.#actor = null;
  }

  /** Starts the controller and waits until it is running; kills a running one first. */
  async restart(): Promise<void> {
    await this.kill();
    this.#actor = await this.#start(this.#server.kubeconfig);
  }

  /** Creates pods on their nodes. */
  async create(pods: readonly StagePod[]): Promise<void> {
    await Promise.all(pods.map((pod) => this.#create(pod)));
  }

  /** When a Lease was renewed last; null while there is none. */
  async leaseRenewedAt(lease: { readonly namespace: string; readonly name: string }): Promise<number | null> {
    const reply = await read(this.kube, { kind: "Lease", ...lease });
    return reply.outcome === "ok" ? epochMsOf(textOf(recordOf(reply.object.spec).renewTime)) : null;
  }

  /** Changes a node's spec. */
  async specify(name: string, spec: object): Promise<void> {
    const ref: ObjectRef = { kind: "Node", namespace: "", name };
    await this.#write({ ref, urgency: Urgency.status, verb: "patch", patch: "merge", body: { spec } });
  }

  /** Stops nodes as a power failure does. */
  silence(...names: readonly string[]): void {
    for (const hollow of this.#hollow) hollow.stop({ names });
  }

  resume(...names: readonly string[]): void {
    for (const hollow of this.#hollow) hollow.resume({ names });
  }

  /** Lets a node's kubelet report a condition. */
  report(name: string, type: string, status: ConditionStatus): void {
    for (const hollow of this.#hollow) hollow.set({ names: [name] }, type, status);
  }

  /** Removes nodes from the cluster. */
  remove(...names: readonly string[]): void {
    for (const hollow of this.#hollow) hollow.remove({ names });
  }

  async close(): Promise<void> {
    for (const hollow of this.#hollow) hollow.shutdown();
    await this.kill();
    await this.#server.stop();
  }

  #create({ name, node, tolerations, ownerReferences = [], ...others }: StagePod): Promise<void> {
    const spec = { nodeName: node, tolerations, containers: [{ name: "c", image: "none" }], ...others };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", ownerReferences }, spec };
    const ref: ObjectRef = { kind: "Pod", namespace: "default", name };
    return this.#write({ ref, urgency: Urgency.status, verb: "create", body });
  }

  async #write(request: WriteRequest): Promise<void> {
    const reply = await write(this.kube, request);
    if (reply.outcome !== "ok") throw new Error(reply.detail);
  }
}
