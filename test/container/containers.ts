/** Containers of a test on one network: NATS and the product's image, confined as the manifests confine it. */
import { join } from "node:path";
import { GenericContainer, Network, type StartedNetwork, type StartedTestContainer, Wait } from "testcontainers";
import { excuseKeptNetwork, IMAGES } from "../support/docker.ts";

const COMPOSE = join(import.meta.dirname, "../../deploy/compose");
const API_PORT = 8001;
const CONSOLE_PORT = 8080;
/** Beside other suites of a slow machine; how fast a process starts is a test of its own. */
const START_MS = 120_000;

/** The product with a read-only root and without capabilities. */
class ConfinedContainer extends GenericContainer {
  constructor(alias: string, network: StartedNetwork, command: string[]) {
    super(IMAGES.vigil);
    this.hostConfig.ReadonlyRootfs = true;
    this.withNetwork(network).withNetworkAliases(alias).withCommand(command).withTmpFs({ "/tmp": "rw" });
    this.withDroppedCapabilities("ALL").withSecurityOpt("no-new-privileges");
    const kubeconfig = {
      source: join(COMPOSE, "kubeconfig.yaml"),
      target: "/etc/vigil/kubeconfig.yaml",
      mode: "ro",
    } as const;
    this.withBindMounts([kubeconfig]).withEnvironment({ KUBECONFIG: kubeconfig.target });
  }
}

/** NATS, an embedded cluster with hollow nodes, and Vigil in two processes: one that reads and one that writes. */
export class Containers {
  readonly #network: StartedNetwork;
  readonly #started: StartedTestContainer[] = [];

  private constructor(network: StartedNetwork) {
    this.#network = network;
  }

  /** Starts them; `flags` are for both processes of Vigil. */
  static async start(flags: readonly string[]): Promise<Containers> {
    const containers = new Containers(await new Network().start());
    try {
      await containers.#startAll(flags);
    } catch (error) {
      await containers.stop();
      throw error;
    }
    return containers;
  }

  /** The process that judges. */
  get reader(): StartedTestContainer {
    return this.#at(3);
  }

  /** The process that writes, which also runs the ledger. */
  get writer(): StartedTestContainer {
    return this.#at(4);
  }

  /** Calls the embedded API; resolves with the object, or null when it does not exist. */
  async api(path: string, object?: object): Promise<unknown> {
    const cluster = this.#at(1);
    const url = `http://${cluster.getHost()}:${cluster.getMappedPort(API_PORT)}${path}`;
    const headers = { "content-type": "application/json" };
    const answer = await fetch(
      url,
      object === undefined ? {} : { method: "POST", headers, body: JSON.stringify(object) },
    );
    if (!answer.ok && answer.status !== 404) throw new Error(`${path}: ${await answer.text()}`);
    return answer.ok ? answer.json() : null;
  }

  /** Gets a path of the ledger's console. */
  console(path: string): Promise<Response> {
    return fetch(`http://${this.writer.getHost()}:${this.writer.getMappedPort(CONSOLE_PORT)}${path}`);
  }

  /** Gives the hollow nodes an order. */
  async order(...words: string[]): Promise<void> {
    const { exitCode, output } = await this.#at(2).exec(["node", "services/vigil.js", "hollow", ...words]);
    if (exitCode !== 0) throw new Error(output);
  }

  /** Ends and removes everything. */
  async stop(): Promise<void> {
    await Promise.all(this.#started.map((container) => container.stop()));
    await this.#network.stop().catch(excuseKeptNetwork);
  }

  async #startAll(flags: readonly string[]): Promise<void> {
    const nats = new GenericContainer(IMAGES.nats).withNetwork(this.#network).withNetworkAliases("nats");
    await this.#start(nats.withCommand(["--jetstream"]).withWaitStrategy(Wait.forLogMessage(/Server is ready/)));
    const cluster = this.#vigil("cluster", ["apiserver", `--listen=0.0.0.0:${API_PORT}`]).withExposedPorts(API_PORT);
    await this.#start(cluster.withWaitStrategy(Wait.forLogMessage(/the API is at/)));
    const nodes = this.#vigil("nodes", ["hollow", "--nodes=6", "--zones=2"]);
    await this.#start(nodes.withWaitStrategy(Wait.forLogMessage(/6 registered/)));
    const run = ["run", "--nats=nats://nats:4222", `--listen=0.0.0.0:${CONSOLE_PORT}`, ...flags];
    for (const services of ["observer,node,zone,taint-manager", "node-writer,pod-writer,ledger"]) {
      const vigil = this.#vigil("vigil", [...run, `--services=${services}`]).withExposedPorts(CONSOLE_PORT);
      await this.#start(vigil.withWaitStrategy(Wait.forLogMessage(/"running"/)));
    }
  }

  #vigil(alias: string, command: string[]): ConfinedContainer {
    return new ConfinedContainer(alias, this.#network, command);
  }

  async #start(container: GenericContainer): Promise<void> {
    this.#started.push(await container.withStartupTimeout(START_MS).start());
  }

  #at(index: number): StartedTestContainer {
    const container = this.#started[index];
    if (container === undefined) throw new Error("the containers are not started");
    return container;
  }
}
