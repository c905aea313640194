/** A fleet of processes of the program, and hollow nodes on an API server that fail on command. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kube, type ServiceName, Urgency } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { ownersOf } from "../../services/platform/fleet/ownership.policy.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import { write } from "../support/kube-probe.ts";
import { freePort } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { EmbeddedFleetApi, type FleetApi } from "./fleet-apis.ts";
import type { FleetRecord } from "./fleet-record.ts";

/** The options of a world. */
export interface FleetWorldOptions {
  /** Zones by name, and how many nodes each has. */
  readonly zones: Readonly<Record<string, number>>;
  /** The lease duration of a node; leases are renewed after a quarter of it. */
  readonly leaseSeconds: number;
  /** Flags of every process. */
  readonly flags: readonly string[];
  /** How long a pod stays on a tainted node; each node has one pod. */
  readonly tolerationSeconds: number;
}

const IO = { clock: realClock(), random: systemRandom, log: silentLog };

/** The world. Every node has one pod. */
export class FleetWorld {
  readonly record: FleetRecord;
  readonly members = new Map<string, VigilProcess>();
  readonly #options: FleetWorldOptions;
  readonly #api: FleetApi;
  readonly #folder = mkdtempSync(join(tmpdir(), "vigil-fleet-world-"));
  readonly #nodes: ReadonlyMap<string, string>;
  readonly #fallen = new Set<string>();
  readonly #kubeconfigs = new Map<string, string>();
  readonly #consoles = new Map<string, string>();
  /** The programs of members that do not run this tree's. */
  readonly #programs = new Map<string, string>();
  #hollow: HollowNodes | null = null;

  constructor(options: FleetWorldOptions, api: FleetApi = new EmbeddedFleetApi()) {
    this.#options = options;
    this.#api = api;
    this.record = api.record;
    const zones = Object.entries(options.zones);
    this.#nodes = new Map(
      zones.flatMap(([zone, count]) =>
        Array.from({ length: count }, (_, index) => [`${zone}-${index}`, zone] as const),
      ),
    );
  }

  /** Starts the API server, and waits until every node is registered and has its pod. */
  async begin(): Promise<void> {
    await this.#api.begin();
    const { kube, port } = this.#api;
    this.#api.writeKubeconfig(join(this.#folder, "kubeconfig"), port);
    const nodes = [...this.#nodes].map(([name, zone]) => ({ name, zone }));
    const times = { leaseSeconds: this.#options.leaseSeconds, statusReportMs: 300_000 };
    const hollow = new HollowNodes({ ...IO, kube, nodes, times });
    this.#hollow = hollow;
    await until("every node is registered", () => hollow.summary().registered === nodes.length, { withinMs: 60_000 });
    await Promise.all(nodes.map(({ name }) => this.#createPod(kube, name)));
  }

  /** The port of the API server. Throws before `begin`. */
  get apiPort(): number {
    return this.#api.port;
  }

  /** Lets a member that is started later reach the API server at another port of this machine. */
  lead(member: string, port: number): void {
    const path = join(this.#folder, `kubeconfig-${member}`);
    this.#api.writeKubeconfig(path, port);
    this.#kubeconfigs.set(member, path);
  }

  /** Lets a member that is started later run another program; null for that of this tree. */
  install(member: string, main: string | null): void {
    if (main === null) this.#programs.delete(member);
    else this.#programs.set(member, main);
  }

  /** Starts a process of the fleet, with its own flags, and waits until it runs; its watches may need longer. */
  async start(member: string, nats: string, ...flags: string[]): Promise<VigilProcess> {
    const kubeconfig = this.#kubeconfigs.get(member) ?? join(this.#folder, "kubeconfig");
    const console = `127.0.0.1:${await freePort()}`;
    this.#consoles.set(member, console);
    const where = [`--kubeconfig=${kubeconfig}`, `--nats=${nats}`, `--member=${member}`, `--listen=${console}`];
    const main = this.#programs.get(member);
    const argv = ["run", ...where, "--log-format=json", ...this.#options.flags, ...flags];
    const vigil = new VigilProcess(argv, main === undefined ? {} : { main });
    this.members.set(member, vigil);
    await vigil.untilLogged("running");
    return vigil;
  }

  /**
   * Waits until every member is ready, as a rolling update does before it ends the next one: until its watches are
   * synced, a member cannot know since when a node has been silent.
   */
  async ready(): Promise<void> {
    const isReady = async (member: string): Promise<boolean> =>
      (await fetch(`http://${this.#consoles.get(member)}/readyz`)).ok;
    const areReady = async () => (await Promise.all([...this.members.keys()].map(isReady))).every(Boolean);
    await until("every member is ready", areReady, { withinMs: 60_000, everyMs: 100 });
  }

  /** Stops a member and waits for its end. Resolves with its exit code, null when the signal ended it. */
  async stop(member: string, signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
    const vigil = this.members.get(member);
    if (vigil === undefined) throw new RangeError(`no member ${member}`);
    vigil.signal(signal);
    const code = await vigil.exited();
    this.members.delete(member);
    return code;
  }

  /** The member that owns a shard of a service, by the rule of the members. */
  ownerOf(service: ServiceName, shard: number, members: Iterable<string> = this.members.keys()): string {
    return ownersOf(service, new Set(members))[shard] ?? "";
  }

  /** Nodes that stopped sending heartbeats. */
  get fallen(): readonly string[] {
    return [...this.#fallen];
  }

  /** Nodes of a zone that never stopped sending heartbeats. */
  alive(zone: string): string[] {
    return [...this.#nodes].filter(([name, own]) => own === zone && !this.#fallen.has(name)).map(([name]) => name);
  }

  /** Stops the heartbeats of nodes. */
  fall(nodes: readonly string[]): void {
    for (const node of nodes) this.#fallen.add(node);
    this.#hollow?.stop({ names: nodes });
  }

  /** Stops the heartbeats of one live node of a zone in each shard; returns their names. */
  fallInEachShard(zone: string): string[] {
    const chosen = new Map(this.alive(zone).map((name) => [shardOf(name), name]));
    const nodes = [...chosen.values()];
    this.fall(nodes);
    return nodes;
  }

  /** Waits until each of these nodes has been made Unknown. */
  async untilUnknown(nodes: readonly string[], withinMs: number): Promise<void> {
    const waiting = () => nodes.filter((node) => !this.record.unknownAt.has(node));
    await until("nodes become Unknown", () => waiting().length === 0, { withinMs }).catch((error: Error) => {
      throw new Error(`${error.message}; these did not: ${waiting().join(" ")}`);
    });
  }

  /**
   * Nodes that never stopped sending heartbeats, and were made Unknown, were tainted NoExecute or lost their pod; each
   * with the longest pause between two of its renewals.
   */
  wronglyJudged(): string[] {
    const { unknownAt, taints, deletedAt } = this.record;
    return this.aliveOf(new Set([...unknownAt.keys(), ...taints.map(({ node }) => node), ...deletedAt.keys()]));
  }

  /** Those of some nodes that never stopped sending heartbeats, each with the longest pause between two renewals. */
  aliveOf(nodes: Iterable<string>): string[] {
    const pause = (node: string) => `${node}, longest pause ${this.record.longestPauseMs.get(node)} ms`;
    return [...nodes].filter((node) => !this.#fallen.has(node)).map(pause);
  }

  /** Ends everything. */
  async end(): Promise<void> {
    for (const vigil of this.members.values()) vigil.signal("SIGKILL");
    await Promise.all([...this.members.values()].map((vigil) => vigil.exited()));
    this.#hollow?.shutdown();
    await this.#api.end();
    rmSync(this.#folder, { recursive: true });
  }

  async #createPod(kube: Kube, node: string): Promise<void> {
    const tolerations = ["unreachable", "not-ready"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: this.#options.tolerationSeconds,
    }));
    const ref = { kind: "Pod", namespace: "default", name: `${node}-pod` } as const;
    const spec = { nodeName: node, tolerations, containers: [{ name: "main", image: "main" }] };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name: ref.name, namespace: ref.namespace }, spec };
    const reply = await write(kube, { verb: "create", ref, urgency: Urgency.status, body });
    if (reply.outcome !== "ok") throw new Error(`pod ${ref.name} was not created: ${reply.detail}`);
  }
}
