/** A real nats-server as a child process of a test, on a port of its own. It knows nothing of the product. */
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { natsServer } from "./nats-programs.ts";
import { ServerProcess } from "./server-process.ts";
import { until } from "./until.ts";

/** What a server logs once it accepts connections. */
const READY = "Server is ready";

/** The options of a server. */
export interface NatsServerOptions {
  /** Text of a configuration file. */
  readonly config?: string;
  /** Files beside it, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** A free one by default. */
  readonly port?: number;
  readonly jetstream?: boolean;
}

/** A running nats-server. */
export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** Ends it with SIGTERM. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
  /** Freezes it with SIGSTOP: its connections stay open and silent. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same port, with another configuration when given; it must have been ended. */
  start(config?: string): Promise<void>;
  /** Makes it read another configuration while it runs. */
  reload(config: string): void;
  /** What it has logged since its last start. */
  log(): string;
}

/**
 * Below the ports that Linux gives to outgoing connections, so a restarted server finds its own still free. Concurrent
 * test runs begin at different ports.
 */
const PORTS = { first: Number(process.env.FIRST_TEST_PORT ?? 20_000), count: 6_000 };
/** Concurrent test processes use ranges of their own: a server may start late, or be down for a while. */
const RANGES = 8;
const given = new Set<number>();

/** A port that no program listens on at the moment and that no other test of this run gets. */
export async function freePort(): Promise<number> {
  const size = PORTS.count / RANGES;
  const first = PORTS.first + (Number(process.env.VITEST_POOL_ID ?? 0) % RANGES) * size;
  for (;;) {
    const port = randomInt(first, first + size);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

/** Starts a server and waits until it is ready. It ends with the test process at the latest. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = new ServerInFolder(options.port ?? (await freePort()), options);
  await server.start();
  return server;
}

/**
 * Starts servers that form one cluster; `config` is added to the configuration of each. Unless they advertise, their
 * clients only know the given addresses, so a proxy in between is never bypassed.
 */
export async function startNatsCluster(size: number, config = "", { advertise = true } = {}): Promise<NatsServer[]> {
  const routePorts = await Promise.all(Array.from({ length: size }, freePort));
  const routes = routePorts.map((port) => `nats-route://127.0.0.1:${port}`).join(", ");
  const route = `routes: [${routes}]${advertise ? "" : ", no_advertise: true"}`;
  return Promise.all(
    routePorts.map((port, index) =>
      startNatsServer({
        config: `server_name: n${index}\ncluster { name: c, listen: "127.0.0.1:${port}", ${route} }\n${config}`,
      }),
    ),
  );
}

class ServerInFolder implements NatsServer {
  readonly port: number;
  readonly url: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "nats-server-"));
  readonly #configFile = join(this.#folder, "nats.conf");
  readonly #args: readonly string[];
  #process: ServerProcess;

  constructor(port: number, { config = "", files = {}, jetstream = false }: NatsServerOptions) {
    this.port = port;
    this.url = `nats://127.0.0.1:${port}`;
    const storage = jetstream ? ["-js", "-sd", join(this.#folder, "jetstream")] : [];
    this.#args = ["-a", "127.0.0.1", "-p", String(port), "-c", this.#configFile, ...storage];
    this.#process = this.#newProcess();
    for (const [name, text] of Object.entries({ ...files, "nats.conf": config })) {
      writeFileSync(join(this.#folder, name), text);
    }
  }

  async start(config?: string): Promise<void> {
    if (config !== undefined) writeFileSync(this.#configFile, config);
    const started = this.#newProcess();
    this.#process = started;
    started.start();
    await until("nats-server is ready or has ended", () => started.log().includes(READY) || !started.running());
    if (!started.running()) throw new Error(`nats-server ended:\n${started.log()}`);
  }

  async stop(): Promise<void> {
    await this.#process.end("SIGTERM");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  kill(): Promise<void> {
    return this.#process.end("SIGKILL");
  }

  pause(): void {
    this.#process.pause();
  }

  resume(): void {
    this.#process.resume();
  }

  reload(config: string): void {
    writeFileSync(this.#configFile, config);
    const { pid } = this.#process;
    if (pid !== undefined) process.kill(pid, "SIGHUP");
  }

  log(): string {
    return this.#process.log();
  }

  #newProcess(): ServerProcess {
    return new ServerProcess(natsServer(), this.#args);
  }
}
