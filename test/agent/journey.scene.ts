/**
 * The scene of the agent's journeys: a real API server, Vigil's controller, and agents with measurements of their own.
 */
import type { Kube, ObjectRef } from "../../protocols/ports.ts";
import { Agent } from "../../services/agent/agent.service.ts";
import type { AgentSettings } from "../../services/agent/agent.settings.ts";
import { asNode, type NodeObject } from "../../services/agent/node-object.ts";
import { nodeRef } from "../../services/agent/registration.ts";
import { startController } from "../../services/cli/process/controller.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { PROFILE } from "../journey/fixture.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { read, write } from "../support/kube-probe.ts";
import { recordingLog } from "../support/recording-log.ts";
import { until } from "../support/until.ts";
import { FakeStats, settingsOf } from "./agent-fixtures.ts";

/** A kubelet's periods, all shortened alike. */
const PACES: Partial<AgentSettings> = {
  leaseSeconds: 2,
  statusComputeMs: 300,
  statusReportMs: 5_000,
  pressureTransitionMs: 1_000,
  registerMaxMs: 1_000,
};

/** Everything that is the same for all journeys. */
export class AgentScene {
  readonly server: KubeApiserver;
  readonly kube: Kube;
  readonly clock = realClock();
  readonly log = recordingLog();
  readonly #ends: (() => void)[] = [];

  static async open(): Promise<AgentScene> {
    return new AgentScene(await startKubeApiserver());
  }

  constructor(server: KubeApiserver) {
    this.server = server;
    this.kube = this.client();
    const { clock } = this;
    const controller = startController({
      clock,
      random: systemRandom,
      log: recordingLog(),
      metrics: createMetrics(),
      profile: PROFILE,
      kube: this.client(),
      transport: memoryTransport(clock),
      cluster: "journey",
      member: "one",
      services: ["observer", "node", "zone", "node-writer", "ledger"],
      isShared: false,
      store: null,
      fatal: (problem) => this.log.error(problem),
    });
    this.#ends.push(() => controller.stop());
  }

  /** A client of the server; the administrator's unless a token is given. */
  client(token?: string): Kube {
    const wire = token === undefined ? this.server.wire() : this.server.wire({ token });
    const { clock, log } = this;
    return createKube({ wire, clock, random: systemRandom, log, metrics: createMetrics(), profile: PROFILE });
  }

  /** Starts an agent; it ends with the scene unless it is stopped before. */
  start(
    nodeName: string,
    settings: Partial<AgentSettings> = {},
    kube: Kube = this.kube,
  ): { readonly agent: Agent; readonly stats: FakeStats } {
    const { clock, log } = this;
    const stats = new FakeStats((run) => clock.soon(run));
    const io = { clock, kube, log, stats, random: systemRandom, metrics: createMetrics() };
    const agent = new Agent({ ...io, settings: settingsOf({ ...PACES, nodeName, ...settings }) });
    this.#ends.push(() => agent.stop(() => {}));
    return { agent, stats };
  }

  /** The node at the API; null when there is none. */
  async node(name: string): Promise<NodeObject | null> {
    const reply = await read(this.kube, nodeRef(name));
    return reply.outcome === "ok" ? asNode(reply.object) : null;
  }

  /** Creates a node by hand. */
  async create(node: NodeObject): Promise<void> {
    const reply = await write(this.kube, { verb: "create", ref: nodeRef(node.metadata.name), urgency: 0, body: node });
    if (reply.outcome !== "ok") throw new Error(reply.detail);
  }

  async remove(ref: ObjectRef): Promise<void> {
    await write(this.kube, { verb: "delete", ref, urgency: 0 });
  }

  /** Waits until a node has this condition and taints with these keys, of any effect; returns it in that state. */
  async shows(name: string, condition: string, taints: readonly string[]): Promise<NodeObject | null> {
    let shown = "";
    let node: NodeObject | null = null;
    const holds = async () => {
      node = await this.node(name);
      const has = (node?.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`);
      const keys = (node?.spec?.taints ?? []).map(({ key }) => key.replace("node.kubernetes.io/", ""));
      const distinct = [...new Set(keys)].toSorted().join();
      shown = `${has.join()} ${distinct}`;
      return has.includes(condition) && distinct === taints.join();
    };
    await until(`${name} shows ${condition} and ${taints.join()}`, holds, { everyMs: 50 }).catch((error: Error) => {
      throw new Error(`${error.message}; it shows ${shown}`);
    });
    return node;
  }

  /** Reasons of the kubelet's Events about a node. */
  async events(name: string): Promise<string[]> {
    const query = ["get", "events", `--field-selector=source=kubelet,involvedObject.name=${name}`];
    const { stdout } = await this.server.kubectl(...query, "--output=jsonpath={.items[*].reason}");
    return stdout.split(" ");
  }

  async close(): Promise<void> {
    for (const end of this.#ends.toReversed()) end();
    await this.server.stop();
  }
}
