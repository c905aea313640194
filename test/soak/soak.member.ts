/**
 * One process of Vigil in the soak. Its connections to the API server and to each NATS server can be cut separately.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeApiserver } from "../support/kube-apiserver.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import type { NatsServer } from "../support/nats-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { VigilProcess } from "../support/vigil-process.ts";

/** How a connection is cut: refused at once, requests lost, or replies lost. */
export type CutKind = "refused" | "requests lost" | "replies lost";

/** A member of the fleet that can be killed, stopped, cut off and restarted. */
export class SoakMember {
  readonly name: string;
  readonly #flags: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "vigil-soak-"));
  readonly #kubeconfig: string;
  readonly #api: TcpProxy;
  readonly #nats: readonly TcpProxy[];
  /** Error lines and unexplained ends, of all its lives. */
  readonly problems: string[] = [];
  #process: VigilProcess | null = null;
  #isWanted = false;

  private constructor(
    name: string,
    ways: { readonly server: KubeApiserver; readonly api: TcpProxy; readonly nats: readonly TcpProxy[] },
    flags: readonly string[],
  ) {
    this.name = name;
    this.#flags = flags;
    this.#api = ways.api;
    this.#nats = ways.nats;
    this.#kubeconfig = writeKubeconfig(join(this.#folder, "kubeconfig"), {
      server: `https://127.0.0.1:${ways.api.port}`,
      token: ways.server.adminToken,
      caFile: ways.server.caFile,
    });
  }

  static async open(
    name: string,
    { server, nats }: { readonly server: KubeApiserver; readonly nats: readonly NatsServer[] },
    flags: readonly string[],
  ): Promise<SoakMember> {
    const api = await startTcpProxy(Number(new URL(server.url).port));
    const ways = await Promise.all(nats.map(({ port }) => startTcpProxy(port)));
    return new SoakMember(name, { server, api, nats: ways }, flags);
  }

  get isRunning(): boolean {
    return this.#process !== null;
  }

  /** Its resident memory in mebibytes; null while it is not running. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  async start(): Promise<void> {
    if (this.#process !== null) return;
    this.#isWanted = true;
    const nats = this.#nats.map(({ port }) => `nats://127.0.0.1:${port}`).join(",");
    const where = [`--kubeconfig=${this.#kubeconfig}`, `--nats=${nats}`, `--member=${this.name}`];
    const started = new VigilProcess(["run", ...where, "--log-format=json", ...this.#flags]);
    this.#process = started;
    void started.exited().then((code) => this.#ended(started, code));
    await started.untilLogged("running").catch((error: unknown) => this.problems.push(String(error).slice(0, 500)));
  }

  /** Ends it at once, as kill -9 does. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    this.#process?.signal("SIGKILL");
    await this.#process?.exited();
  }

  stop(): void {
    this.#process?.signal("SIGSTOP");
  }

  wake(): void {
    this.#process?.signal("SIGCONT");
  }

  cut(way: "api" | "nats", kind: CutKind): void {
    for (const proxy of way === "api" ? [this.#api] : this.#nats) {
      if (kind === "refused") proxy.cut();
      else proxy.stall(kind === "requests lost" ? "client" : "server");
    }
  }

  mend(way: "api" | "nats"): void {
    for (const proxy of way === "api" ? [this.#api] : this.#nats) {
      proxy.mend();
      proxy.flow();
    }
  }

  async close(): Promise<void> {
    await this.kill();
    await Promise.all([this.#api, ...this.#nats].map((proxy) => proxy.close()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Restarts a process that ends by itself, as its supervisor in a cluster would. */
  #ended(process: VigilProcess, code: number | null): void {
    const errors = process.logged.filter(({ level }) => level === "error");
    this.problems.push(...errors.map((line) => `${this.name}: ${JSON.stringify(line).slice(0, 400)}`));
    if (this.#process === process) this.#process = null;
    if (!this.#isWanted) return;
    this.problems.push(`${this.name} ended by itself with code ${code}: ${process.err.slice(-400)}`);
    void this.start();
  }
}
