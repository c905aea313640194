/** A process that plays the kubelets of a benchmark, and its orders and reports. It measures nothing. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { HollowNodeSpec } from "../../services/sandbox/hollow/hollow-stats.ts";
import type { HollowSelector } from "../../services/sandbox/hollow/node-selection.ts";
import { NODE_IMAGES } from "./typical-objects.ts";

/** How large a cluster is. */
export interface ClusterSize {
  readonly nodes: number;
  readonly podsPerNode: number;
  /** How many values the label `pool` has; absent for no such label. */
  readonly pools?: number;
}

/** The options of such a process. */
export interface LoadOptions extends ClusterSize {
  /** How long a lease lasts; nodes renew it four times as often. */
  readonly leaseSeconds: number;
  /** An existing API server; the embedded one brings its own. */
  readonly kubeconfig?: string;
  /** The number of the first node; 0 by default. */
  readonly firstNode?: number;
  /** Without heartbeats the cluster is only filled. */
  readonly heartbeats?: boolean;
  /** The certificate and key files of a server with TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** An order: nodes fall silent, as machines without power do, or return with a heartbeat at once. */
export interface LoadOrder {
  readonly order: "silence" | "resume";
  readonly selector: HollowSelector;
}

/** A report: one when every node and pod exists, then the number of nodes that each order reached. */
export type LoadReport = FilledReport | { readonly kind: "reached"; readonly nodes: number };

/** Every node and pod exists. */
export interface FilledReport {
  readonly kind: "filled";
  /** The address of the embedded API; "" where the server existed before. */
  readonly url: string;
  /** CPU time to create one object, by kind, where it was measured. */
  readonly createMicros: Readonly<Record<string, number>>;
}

const ZONES = 10;

/** The nodes of a cluster: n-0, n-1 and so on, spread over ten zones. */
export function specsOf({
  nodes,
  podsPerNode,
  pools,
  firstNode = 0,
}: ClusterSize & Pick<LoadOptions, "firstNode">): HollowNodeSpec[] {
  return Array.from({ length: nodes }, (_, index) => ({
    name: `n-${firstNode + index}`,
    zone: `zone-${index % ZONES}`,
    pods: podsPerNode,
    images: NODE_IMAGES,
    ...(pools === undefined ? {} : { labels: { pool: `pool-${index % pools}` } }),
  }));
}

/** The first nodes, which are spread evenly over the zones. */
export function firstNodes(count: number): HollowSelector {
  return { names: Array.from({ length: count }, (_, index) => `n-${index}`) };
}

/** The options of this process, from its command line. */
export function loadOptions(): LoadOptions {
  return JSON.parse(process.argv[2] ?? "{}");
}

/** Sends a report to the benchmark. */
export function sendReport(report: LoadReport): void {
  process.send?.(report);
}

/** A running load. It ends with the benchmark at the latest. */
export class Load {
  readonly pid: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.pid = pid;
  }

  /** Starts a program by its URL and waits until it has filled the cluster. */
  static async start(program: string, options: LoadOptions): Promise<{ load: Load; filled: FilledReport }> {
    const child = fork(new URL(program), [JSON.stringify(options)]);
    if (child.pid === undefined) throw new Error(`${program} did not start`);
    const load = new Load(child, child.pid);
    return { load, filled: (await load.#reported()) as FilledReport };
  }

  /** Gives an order and returns the number of nodes it reached. */
  async order(order: LoadOrder): Promise<number> {
    this.#child.send(order);
    const report = await this.#reported();
    return report.kind === "reached" ? report.nodes : Number.NaN;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }

  async #reported(): Promise<LoadReport> {
    const ended = once(this.#child, "exit").then(() => {
      throw new Error("the load ended before its time");
    });
    const [report] = (await Promise.race([once(this.#child, "message"), ended])) as [LoadReport];
    return report;
  }
}
