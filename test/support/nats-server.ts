/** A real nats-server as a child process of a test, on a port of its own. It knows nothing of the product. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";

/** What a test prints when there is no nats-server. */
const NATS_SERVER_MISSING = "nats-server not found: apt-get install nats-server";

/** How long a server may take until it is ready, in milliseconds. */
const READY_TIMEOUT_MS = 10_000;

/** How a server is started. */
export interface NatsServerOptions {
  /** Text of a configuration file. */
  readonly config?: string;
  /** Files that lie beside it, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** A free one when not given. */
  readonly port?: number;
  readonly jetstream?: boolean;
}

/** A running nats-server. */
export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** Ends it in order. */
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
  /** All it has logged. */
  log(): string;
}

/** The path of nats-server: NATS_SERVER, or the first on the PATH and where Debian puts it; null when there is none. */
export function findNatsServer(): string | null {
  const { NATS_SERVER: given, PATH: path = "" } = process.env;
  const places = [...path.split(delimiter), "/usr/sbin", "/usr/local/bin"].map((folder) => join(folder, "nats-server"));
  return [...(given === undefined ? [] : [given]), ...places].find((place) => existsSync(place)) ?? null;
}

/** A suite that needs nats-server: skipped with a line that says how to get it, but failed where CI is set. */
export function describeWithNats(name: string, suite: () => void): void {
  if (findNatsServer() !== null) {
    describe(name, suite);
  } else if (process.env.CI) {
    test(name, () => expect.fail(NATS_SERVER_MISSING));
  } else {
    console.warn(NATS_SERVER_MISSING);
    describe.skipIf(true)(name, suite);
  }
}

/** A port that nothing listens on at the moment. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

/** Starts a server and waits until it is ready. It ends with the test process at the latest. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = new ServerProcess(options.port ?? (await freePort()), options);
  await server.start();
  return server;
}

/** Starts servers that form one cluster; `config` is added to the configuration of each. */
export async function startNatsCluster(size: number, config = ""): Promise<NatsServer[]> {
  const routePorts = await Promise.all(Array.from({ length: size }, freePort));
  const routes = routePorts.map((port) => `nats-route://127.0.0.1:${port}`).join(", ");
  return Promise.all(
    routePorts.map((port, index) =>
      startNatsServer({
        config: `server_name: n${index}\ncluster { name: c, listen: "127.0.0.1:${port}", routes: [${routes}] }\n${config}`,
      }),
    ),
  );
}

class ServerProcess implements NatsServer {
  readonly port: number;
  readonly url: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "nats-server-"));
  readonly #configFile = join(this.#folder, "nats.conf");
  readonly #jetstream: boolean;
  #child: ChildProcess | null = null;
  #log = "";
  readonly #endWithTest = () => this.#child?.kill("SIGKILL");

  constructor(port: number, { config = "", files = {}, jetstream = false }: NatsServerOptions) {
    this.port = port;
    this.url = `nats://127.0.0.1:${port}`;
    this.#jetstream = jetstream;
    writeFileSync(this.#configFile, config);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.#folder, name), text);
  }

  async start(config?: string): Promise<void> {
    if (config !== undefined) writeFileSync(this.#configFile, config);
    const storage = this.#jetstream ? ["-js", "-sd", join(this.#folder, "jetstream")] : [];
    const program = findNatsServer();
    if (program === null) throw new Error(NATS_SERVER_MISSING);
    const child = spawn(program, ["-a", "127.0.0.1", "-p", String(this.port), "-c", this.#configFile, ...storage], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    process.once("exit", this.#endWithTest);
    await this.#ready(child);
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  reload(config: string): void {
    writeFileSync(this.#configFile, config);
    this.#child?.kill("SIGHUP");
  }

  log(): string {
    return this.#log;
  }

  #ready(child: ChildProcess): Promise<void> {
    const logged = this.#log.length;
    return new Promise((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`nats-server ${why}:\n${this.#log}`));
      const late = setTimeout(() => fail("was not ready in time"), READY_TIMEOUT_MS);
      child.once("exit", () => fail("ended"));
      child.stderr?.on("data", (chunk: Buffer) => {
        this.#log += chunk.toString();
        if (!this.#log.includes("Server is ready", logged)) return;
        clearTimeout(late);
        resolve();
      });
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = null;
    process.off("exit", this.#endWithTest);
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    child.kill("SIGCONT");
    await ended;
  }
}
