/**
 * The world of the soak: a real kube-apiserver, three nats-servers in a cluster, four processes of Vigil, and hollow
 * nodes with a pod each. A small controller of its own replaces missing pods.
 */
import { type Kube, type Random, Urgency } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { type NatsServer, startNatsCluster } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { SoakMember } from "./soak.member.ts";
import { SoakRecorder } from "./soak.recorder.ts";
import { finalProblems, type Silence, type SoakSettings, silenceAt } from "./soak.rules.ts";

const ZONES = ["a", "b", "c"];
const LEASE_SECONDS = 20;
const STATUS_REPORT_MS = 60_000;
const POD_GRACE_SECONDS = 5;
const FURNISH_MS = 2000;
const READY_MS = 180_000;

/** The settings of the soak. */
export const SOAK_SETTINGS: SoakSettings = {
  graceMs: 20_000,
  tolerationMs: 15_000,
  taintsPerSecond: 1,
  crossingMs: 3_000,
};

/** Everything that the soak starts. */
export class SoakWorld {
  readonly recorder = new SoakRecorder();
  readonly api: KubeApiserver;
  readonly nats: readonly NatsServer[];
  readonly members: readonly SoakMember[];
  readonly #kube: Kube;
  readonly #hollow: HollowNodes;
  readonly #zones: ReadonlyMap<string, string>;
  readonly #silences = new Map<string, Silence[]>();
  readonly #furnishing: NodeJS.Timeout;
  #pods = 0;

  private constructor(
    parts: {
      readonly api: KubeApiserver;
      readonly nats: readonly NatsServer[];
      readonly members: readonly SoakMember[];
    },
    nodes: number,
  ) {
    this.api = parts.api;
    this.nats = parts.nats;
    this.members = parts.members;
    const io = { clock: realClock(), random: systemRandom, log: silentLog };
    this.#kube = createKube({ ...io, wire: parts.api.wire(), metrics: createMetrics(), profile: STANDARD_PROFILE });
    const names = Array.from({ length: nodes }, (_, index) => `n-${index}`);
    this.#zones = new Map(names.map((name, index) => [name, ZONES[index % ZONES.length] ?? ""]));
    this.#hollow = new HollowNodes({
      ...io,
      kube: this.#kube,
      nodes: [...this.#zones].map(([name, zone]) => ({ name, zone, region: "r" })),
      times: { leaseSeconds: LEASE_SECONDS, statusReportMs: STATUS_REPORT_MS },
    });
    this.#furnishing = setInterval(() => this.#furnish(), FURNISH_MS);
  }

  /** Starts everything and waits until every node is Ready, is untainted and has its pod. */
  static async open({ nodes, members }: { readonly nodes: number; readonly members: number }): Promise<SoakWorld> {
    // Without advertised addresses each client only knows its own proxies.
    const [api, nats] = await Promise.all([startKubeApiserver(), startNatsCluster(3, "", { advertise: false })]);
    const flags = [
      `--node-monitor-grace-period=${SOAK_SETTINGS.graceMs / 1000}s`,
      `--node-startup-grace-period=60s`,
      `--node-eviction-rate=${SOAK_SETTINGS.taintsPerSecond}`,
    ];
    const names = Array.from({ length: members }, (_, index) => `m${index + 1}`);
    const fleet = await Promise.all(names.map((name) => SoakMember.open(name, { server: api, nats }, flags)));
    const world = new SoakWorld({ api, nats, members: fleet }, nodes);
    await world.recorder.start(api.kubeconfig);
    await Promise.all(fleet.map((member) => member.start()));
    await until(
      () => `every node is well: ${world.problems().slice(0, 3).join("; ")}`,
      () => world.isWell(),
      {
        withinMs: READY_MS,
        everyMs: 500,
      },
    );
    return world;
  }

  get nodeCount(): number {
    return this.#zones.size;
  }

  /** When a node's kubelet was off. */
  silences(node: string): readonly Silence[] {
    return this.#silences.get(node) ?? [];
  }

  isLive(node: string): boolean {
    return silenceAt(this.silences(node), Date.now(), 0) === null;
  }

  isWell(): boolean {
    return this.recorder.furnished().size === this.nodeCount && this.problems().length === 0;
  }

  /** What is not right at present. */
  problems(): string[] {
    const shown = this.recorder.final();
    const missing = this.nodeCount - shown.length;
    return [
      ...(missing === 0 ? [] : [`${missing} nodes are not there`]),
      ...shown.flatMap((node) => finalProblems(node, this.isLive(node.name))),
    ];
  }

  /** Switches off the kubelets of some live nodes of one zone, and returns their names. */
  silence(count: number, random: Random): string[] {
    const zone = ZONES[Math.floor(random() * ZONES.length)];
    const live = [...this.#zones].filter(([name, own]) => own === zone && this.isLive(name)).map(([name]) => name);
    const chosen = live.toSorted(() => random() - 0.5).slice(0, count);
    const fromMs = Date.now();
    for (const node of chosen) {
      this.#silences.set(node, [...this.silences(node), { fromMs, toMs: Number.POSITIVE_INFINITY }]);
    }
    this.#hollow.stop({ names: chosen });
    return chosen;
  }

  /** Switches kubelets on again. */
  resume(nodes: readonly string[]): void {
    const toMs = Date.now();
    for (const node of nodes) {
      this.#silences.set(
        node,
        this.silences(node).map((silence) => (Number.isFinite(silence.toMs) ? silence : { ...silence, toMs })),
      );
    }
    this.#hollow.resume({ names: nodes });
  }

  async close(): Promise<void> {
    clearInterval(this.#furnishing);
    this.#hollow.shutdown();
    await this.recorder.stop();
    await Promise.all(this.members.map((member) => member.close()));
    await Promise.all(this.nats.map((server) => server.kill()));
    await this.api.stop();
  }

  /** Gives every live node without a pod a new one. */
  #furnish(): void {
    const furnished = this.recorder.furnished();
    const bare = this.recorder.final().filter(({ name }) => this.isLive(name) && !furnished.has(name));
    for (const { name } of bare.slice(0, 100)) this.#createPod(name);
  }

  #createPod(nodeName: string): void {
    this.#pods += 1;
    const name = `${nodeName}-${this.#pods}`;
    const tolerations = ["unreachable", "not-ready"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: SOAK_SETTINGS.tolerationMs / 1000,
    }));
    const containers = [{ name: "main", image: "none" }];
    const spec = { nodeName, tolerations, containers, terminationGracePeriodSeconds: POD_GRACE_SECONDS };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
    const ref = { kind: "Pod", namespace: "default", name } as const;
    this.#kube.write({ ref, urgency: Urgency.readiness, verb: "create", body }, () => {});
  }
}
