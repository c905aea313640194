/** The flags of `vigil agent`, kubelet's own where it has them, as settings of the agent. Pure. */
import { isIP, SocketAddress } from "node:net";
import type { Taint } from "../../../protocols/objects.ts";
import { type AgentSettings, STANDARD_AGENT } from "../../agent/agent.settings.ts";
import type { ResourceList } from "../../agent/node-object.ts";
import { parseThresholds } from "../../agent/pressure.policy.ts";
import { amountOf } from "../../agent/resource-quantity.ts";
import { ConfigProblem, type Setting, type ValuesOf } from "../../platform/config/value.ts";
import {
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../../sandbox/apiserver/validation/object-names.ts";

const text = (flag: string, example: string, meaning: string, standard = ""): Setting<string> => ({
  unit: "text",
  flag,
  standard,
  meaning,
  example,
});
const list = (
  flag: string,
  example: string,
  meaning: string,
  standard: readonly string[] = [],
): Setting<readonly string[]> => ({ unit: "list", flag, standard, meaning, example });
const count = (flag: string, standard: number, meaning: string): Setting<number> => ({
  unit: "count",
  flag,
  standard,
  meaning,
  least: 0,
});
const durationMs = (flag: string, standard: number, meaning: string, least = 0): Setting<number> => ({
  unit: "duration",
  flag,
  standard,
  meaning,
  least,
});
const onOff = (flag: string, standard: boolean, meaning: string): Setting<boolean> => ({
  unit: "switch",
  flag,
  standard,
  meaning,
});

/** What the node is. */
const NODE_SETTINGS = {
  nodeName: text("node-name", "edge-7", "Name of the node; without it the host name."),
  hostnameOverride: text("hostname-override", "edge-7", "Host name to tell instead of the machine's own."),
  nodeIp: list("node-ip", "10.0.0.7", "Addresses of the node, one or one of each family; without it they are found."),
  nodeLabels: list("node-labels", "rack=a,disk=ssd", "Labels to register the node with."),
  registerWithTaints: list(
    "register-with-taints",
    "key=value:NoSchedule",
    "Taints to register the node with. The default keeps pods away, because the agent runs none.",
    ["vigil/runs-no-pods:NoSchedule"],
  ),
  nodeZone: text("zone", "zone-a", "Zone to register the node in."),
  region: text("region", "eu", "Region to register the node in."),
  instanceType: text("instance-type", "large", "Instance type to register the node with."),
  providerId: text("provider-id", "cloud://7", "Identity of the machine at its provider."),
  cloudProvider: {
    unit: "choice",
    flag: "cloud-provider",
    standard: "",
    choices: ["", "external"],
    meaning: "external leaves addresses to a cloud controller and taints the node until that has seen it.",
  } as Setting<string>,
  registerNode: onOff("register-node", true, "Register the node; otherwise it must be there already."),
  rootDir: text("root-dir", "/var/lib/kubelet", "A path on the file system that counts as the node's storage.", "/"),
} as const;

/** What the node offers and when it complains. */
const CAPACITY_SETTINGS = {
  maxPods: count("max-pods", STANDARD_AGENT.maxPods, "Pods the node offers to run."),
  podsPerCore: count("pods-per-core", STANDARD_AGENT.podsPerCore, "The same for each core; 0 for no such limit."),
  systemReserved: list("system-reserved", "cpu=500m,memory=1Gi", "What is kept from pods."),
  evictionHard: text(
    "eviction-hard",
    "memory.available<100Mi",
    "When the node says it is under pressure.",
    "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,pid.available<10%",
  ),
  pressureTransition: durationMs(
    "eviction-pressure-transition-period",
    STANDARD_AGENT.pressureTransitionMs,
    "How long the node goes on saying so.",
  ),
} as const;

/** How the node is kept fresh. */
const HEARTBEAT_SETTINGS = {
  statusUpdate: durationMs(
    "node-status-update-frequency",
    STANDARD_AGENT.statusComputeMs,
    "How often the status is computed, and posted when it changed.",
    1,
  ),
  statusReport: durationMs(
    "node-status-report-frequency",
    0,
    "How often the status is posted when it did not change; 0 means 5m, or each update where its frequency was set.",
  ),
  leaseSeconds: count("node-lease-duration-seconds", STANDARD_AGENT.leaseSeconds, "Duration of the node's lease."),
  deleteLease: onOff("delete-lease-on-stop", false, "Delete the lease when the agent is stopped."),
} as const;

/** Every flag that settles what the agent does. */
export const AGENT_SETTINGS = { ...NODE_SETTINGS, ...CAPACITY_SETTINGS, ...HEARTBEAT_SETTINGS } as const;

/** What the API has room for in the seconds of a lease. */
const INT32_MAX = 2 ** 31 - 1;
/** What kubelet's --system-reserved can name. */
const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage", "pid"];

/** The agent's settings from its flags; `hostname` is the machine's own. Throws a ConfigProblem. */
export function agentSettings(values: Readonly<ValuesOf<typeof AGENT_SETTINGS>>, hostname: string): AgentSettings {
  const { nodeName, hostnameOverride, leaseSeconds } = values;
  refuseUnfit(values);
  if (nodeName === "" && hostnameOverride === "" && dnsSubdomainProblems(hostname).length > 0) {
    throw new ConfigProblem(`host name ${hostname}: not a name for a node; name it with --node-name=edge-7`);
  }
  return {
    ...STANDARD_AGENT,
    nodeName: nodeName || hostnameOverride || hostname,
    hostname: hostnameOverride || null,
    nodeIps: nodeIpsOf(values.nodeIp),
    labels: Object.fromEntries(values.nodeLabels.map(labelOf)),
    taints: taintsOf(values.registerWithTaints),
    zone: values.nodeZone || null,
    region: values.region || null,
    instanceType: values.instanceType || null,
    providerId: values.providerId || null,
    externalCloudProvider: values.cloudProvider === "external",
    registerNode: values.registerNode,
    maxPods: values.maxPods,
    podsPerCore: values.podsPerCore,
    reserved: reservedOf(values.systemReserved),
    thresholds: thresholdsOf(values.evictionHard),
    pressureTransitionMs: values.pressureTransition,
    statusComputeMs: values.statusUpdate,
    statusReportMs: values.statusReport || reportMsFor(values.statusUpdate),
    leaseSeconds,
    deleteLeaseOnStop: values.deleteLease,
  };
}

/** Refuses what the API would refuse for ever. */
function refuseUnfit(values: Readonly<ValuesOf<typeof AGENT_SETTINGS>>): void {
  const { nodeName, hostnameOverride, leaseSeconds, nodeZone, region, instanceType } = values;
  const lease = `--node-lease-duration-seconds=${leaseSeconds}`;
  if (leaseSeconds < 1) throw new ConfigProblem(`${lease}: must be at least 1`);
  if (leaseSeconds > INT32_MAX) throw new ConfigProblem(`${lease}: must be at most ${INT32_MAX}`);
  for (const [flag, name] of Object.entries({ "node-name": nodeName, "hostname-override": hostnameOverride })) {
    if (name === "" || dnsSubdomainProblems(name).length === 0) continue;
    throw new ConfigProblem(`--${flag}=${name}: not a name for a node; write it as edge-7`);
  }
  const told = { nodeZone, region, instanceType } as const;
  for (const [name, value] of Object.entries(told)) {
    if (labelValueProblems(value).length === 0) continue;
    const { flag, example } = NODE_SETTINGS[name as keyof typeof told];
    throw new ConfigProblem(`--${flag}=${value}: not the value of a label; write it as ${example}`);
  }
}

/** The addresses as the operating system writes its own, so that they are found among those. */
function nodeIpsOf(ips: readonly string[]): readonly string[] {
  for (const ip of ips) {
    if (isIP(ip) === 0) throw new ConfigProblem(`--node-ip=${ip}: not an IP address; write it as 10.0.0.7`);
  }
  if (new Set(ips.map(isIP)).size < ips.length) {
    throw new ConfigProblem(`--node-ip=${ips.join(",")}: must be one address, or one of each family`);
  }
  return ips.map((ip) => (isIP(ip) === 6 ? new SocketAddress({ address: ip, family: "ipv6" }).address : ip));
}

/** Who asks for another pace of updates wants to see them posted. */
function reportMsFor(statusUpdateMs: number): number {
  return statusUpdateMs === STANDARD_AGENT.statusComputeMs ? STANDARD_AGENT.statusReportMs : statusUpdateMs;
}

function pair(flag: string, item: string): [string, string] {
  const equals = item.indexOf("=");
  if (equals < 1) throw new ConfigProblem(`--${flag}=${item}: write it as key=value`);
  return [item.slice(0, equals), item.slice(equals + 1)];
}

function labelOf(item: string): [string, string] {
  const [key, value] = pair("node-labels", item);
  if (isLabel(key, value)) return [key, value];
  throw new ConfigProblem(`--node-labels=${item}: not a label; write it as rack=a`);
}

function isLabel(key: string, value: string): boolean {
  return qualifiedNameProblems(key).length === 0 && labelValueProblems(value).length === 0;
}

function taintsOf(items: readonly string[]): readonly Taint[] {
  const taints = items.map(taintOf);
  const names = taints.map(({ key, effect }) => `${key}:${effect}`);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return taints;
  throw new ConfigProblem(`--register-with-taints: ${twice} is there twice; give each key one value for an effect`);
}

function taintOf(item: string): Taint {
  const [, key, value = "", effect] =
    /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(item) ?? [];
  if (key === undefined || effect === undefined) {
    throw new ConfigProblem(
      `--register-with-taints=${item}: write it as key=value:NoSchedule, PreferNoSchedule or NoExecute`,
    );
  }
  if (!isLabel(key, value)) {
    throw new ConfigProblem(`--register-with-taints=${item}: not a taint; write it as key=value:${effect}`);
  }
  return { key, effect, ...(value !== "" && { value }) };
}

function reservedOf(items: readonly string[]): ResourceList {
  const reserved = Object.fromEntries(items.map((item) => pair("system-reserved", item)));
  for (const [resource, quantity] of Object.entries(reserved)) {
    const where = `--system-reserved=${resource}=${quantity}`;
    if (!RESERVABLE.includes(resource)) throw new ConfigProblem(`${where}: must be one of ${RESERVABLE.join(", ")}`);
    const amount = amountOf(quantity);
    if (amount === null) throw new ConfigProblem(`${where}: not a quantity; write it as 500m or 1Gi`);
    if (amount < 0) throw new ConfigProblem(`${where}: must be at least 0`);
  }
  return reserved;
}

function thresholdsOf(evictionHard: string): AgentSettings["thresholds"] {
  try {
    return parseThresholds(evictionHard);
  } catch (problem) {
    throw new ConfigProblem(`--eviction-hard: ${problem instanceof Error ? problem.message : String(problem)}`);
  }
}
