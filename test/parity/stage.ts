/** A real API server with hollow nodes in two zones and pods of several tolerations, for one controller to act on. */
import type { ConditionStatus } from "../../protocols/objects.ts";
import { type Kube, type ObjectRef, Urgency } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { type HollowNodes, startHollowNodes } from "../../services/agent/hollow.service.ts";
import { realClock } from "../../services/runtime/clock.real.ts";
import { createKube } from "../../services/runtime/kube.ts";
import { silentLog } from "../../services/runtime/log.ts";
import { createMetrics } from "../../services/runtime/metrics.ts";
import { systemRandom } from "../../services/runtime/random.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { write } from "../support/kube-probe.ts";
import { until } from "../support/until.ts";
import { Timeline } from "./timeline.ts";

/** A controller under comparison. */
export interface Actor {
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>;
  log(): string;
}

/** A pod of the stage. */
export interface StagePod {
  readonly name: string;
  readonly node: string;
  readonly tolerations: readonly object[];
}

const IO = { clock: realClock(), random: systemRandom, log: silentLog };
const LEASE_SECONDS = 4;
const STATUS_REPORT_MS = 300_000;
const WITHIN_MS = 60_000;
/** A step is over when nothing new has been seen for so long. */
const QUIET_MS = 1_500;

/** One stage; begun with `open`, ended with `close`. */
export class Stage {
  readonly timeline: Timeline;
  readonly #server: KubeApiserver;
  readonly #kube: Kube;
  readonly #zones: Readonly<Record<string, string>>;
  #nodes: HollowNodes | null = null;
  readonly #start: (kubeconfig: string) => Promise<Actor>;
  #actor: Actor | null = null;

  static async open(
    zones: Readonly<Record<string, string>>,
    start: (kubeconfig: string) => Promise<Actor>,
  ): Promise<Stage> {
    return new Stage(await startKubeApiserver(), zones, start);
  }

  private constructor(
    server: KubeApiserver,
    zones: Readonly<Record<string, string>>,
    start: (kubeconfig: string) => Promise<Actor>,
  ) {
    this.#server = server;
    this.#start = start;
    this.#zones = zones;
    this.#kube = createKube({ ...IO, wire: server.wire(), metrics: createMetrics(), profile: STANDARD_PROFILE });
    this.timeline = new Timeline(server.wire());
  }

  /** Does something and waits until the API shows what should come of it, and then nothing more. */
  async step(name: string, act: () => unknown, holds: (timeline: Timeline) => boolean) {
    this.timeline.begin(name);
    await act();
    const isOver = () => holds(this.timeline) && this.timeline.quietMs() > QUIET_MS;
    await until(name, isOver, { withinMs: WITHIN_MS, everyMs: 100 }).catch((error: Error) => {
      const told = this.timeline.told("").join("\n");
      throw new Error(`${error.message}; told were\n${told}\n${this.#actor?.log().slice(-3000)}`);
    });
  }

  /** Starts the controller; ends the one that runs first. */
  async restart(): Promise<void> {
    await this.#actor?.kill();
    this.#actor = await this.#start(this.#server.kubeconfig);
  }

  /** Has the nodes register and live. */
  register(): void {
    const nodes = Object.entries(this.#zones).map(([name, zone]) => ({ name, zone, region: "r" }));
    const times = { leaseSeconds: LEASE_SECONDS, statusReportMs: STATUS_REPORT_MS };
    this.#nodes = startHollowNodes({ ...IO, kube: this.#kube, nodes, times });
  }

  /** Takes a node out of the cluster. */
  remove(name: string): void {
    this.#nodes?.remove({ names: [name] });
  }

  async create({ name, node, tolerations }: StagePod): Promise<void> {
    const spec = { nodeName: node, tolerations, containers: [{ name: "c", image: "none" }] };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
    const ref: ObjectRef = { kind: "Pod", namespace: "default", name };
    await this.#write({ ref, urgency: Urgency.status, verb: "create", body });
  }

  async cordon(name: string, unschedulable: true | null): Promise<void> {
    const ref: ObjectRef = { kind: "Node", namespace: "", name };
    await this.#write({
      ref,
      urgency: Urgency.status,
      verb: "patch",
      patch: "merge",
      body: { spec: { unschedulable } },
    });
  }

  /** Takes a node's power away. */
  silence(name: string): void {
    this.#nodes?.stop({ names: [name] });
  }

  resume(name: string): void {
    this.#nodes?.resume({ names: [name] });
  }

  /** Has a node's kubelet report a condition. */
  report(name: string, type: string, status: ConditionStatus): void {
    this.#nodes?.set({ names: [name] }, type, status);
  }

  async close(): Promise<void> {
    this.#nodes?.shutdown();
    this.timeline.stop();
    await this.#actor?.kill();
    await this.#server.stop();
  }

  async #write(request: Parameters<Kube["write"]>[0]): Promise<void> {
    const reply = await write(this.#kube, request);
    if (reply.outcome !== "ok") throw new Error(reply.detail);
  }
}
