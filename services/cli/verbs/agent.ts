/** `vigil agent`: registers this machine as a node and keeps its lease and status. It runs no pods. */
import { hostname } from "node:os";
import packageJson from "../../../package.json" with { type: "json" };
import type { Kube } from "../../../protocols/ports.ts";
import { agentKube, reconnecting } from "../../agent/agent.kube.ts";
import { Agent, type AgentIo, previewNode } from "../../agent/agent.service.ts";
import { hostStats } from "../../agent/host.stats.ts";
import { switchSetting } from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { drainable } from "../../platform/process/drain.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { AGENT_SETTINGS, agentSettings } from "../agent/agent-settings.ts";
import { yamlText } from "../output/yaml.ts";
import { findCluster } from "../run/open-cluster.ts";
import { defineVerb, ExitCode, type Host, untilStopped, type Verb } from "../verb.ts";

const SETTINGS = {
  dryRun: switchSetting("dry-run", false, "Print the node that would be registered, and connect to no cluster."),
  ...AGENT_SETTINGS,
  ...KUBE_SETTINGS,
  ...LOG_SETTINGS,
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;
type Ports = Pick<AgentIo, "clock" | "random" | "log" | "metrics">;

/** Time limit for the last status and its Event. */
const STOP_MS_MAX = 10_000;

/** The verb that makes this machine a node. */
export const agentVerb: Verb = defineVerb({
  name: "agent",
  summary: "register this machine as a node and keep its lease and status, running no pods",
  settings: SETTINGS,
  examples: [
    { command: "vigil agent --dry-run", does: "prints this machine as a node" },
    { command: "vigil agent --node-name=edge-7 --zone=zone-a", does: "registers it and heartbeats until interrupted" },
  ],
  run: async (values, _words, host) => {
    const ports = {
      clock: realClock(),
      random: systemRandom,
      log: createLog({ level: values.logLevel, format: values.logFormat }),
      metrics: createMetrics(),
    };
    const io = agentIo(values, ports);
    return values.dryRun ? preview({ ...io, kube: NO_KUBE }, host) : runAgent(values, io, host);
  },
});

const refuse = (): never => {
  throw new Error("a dry run connects to no cluster");
};
const NO_KUBE: Kube = {
  watch: refuse,
  read: refuse,
  readShown: refuse,
  write: refuse,
  minorVersion: refuse,
  leaseHistory: refuse,
  componentLeases: refuse,
};

function agentIo(values: Values, ports: Ports): Omit<AgentIo, "kube"> {
  const settings = agentSettings(values, hostname().trim().toLowerCase());
  const stats = hostStats({
    clock: ports.clock,
    resolve: settings.nodeIps.length > 0 ? null : settings.nodeName,
    storagePath: values.rootDir,
    runtime: `vigil://${packageJson.version}`,
  });
  return { ...ports, stats, settings };
}

function preview(io: AgentIo, host: Host): Promise<number> {
  return new Promise((resolve) => {
    previewNode(io, ({ node }, problems) => {
      for (const problem of problems) host.warn(`${problem}\n`);
      host.print(yamlText(node));
      resolve(ExitCode.ok);
    });
  });
}

async function runAgent(values: Values, io: Omit<AgentIo, "kube">, host: Host): Promise<number> {
  const { wire, describe } = await findCluster(values, io.log);
  const writes = drainable(agentKube({ wire, ...io }, io.settings));
  // Like kubelet it opens new connections after repeated failures, because the old ones may lead to a dead server.
  const agent = new Agent({ ...io, kube: writes.kube, onRepeatedFailure: reconnecting(io.clock, () => wire.close()) });
  io.log.info("agent started", { node: io.settings.nodeName, server: describe });
  await untilStopped(host);
  await new Promise<void>((resolve) => {
    io.clock.after(STOP_MS_MAX, resolve);
    agent.stop(() => writes.whenIdle(resolve));
  });
  wire.close();
  return ExitCode.ok;
}
