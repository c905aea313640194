/** The flags of `vigil agent`, named as kubelet's where it has them, and the agent's settings from them. Pure. */
import { isIP, SocketAddress } from "node:net";
import type { Taint } from "../../../protocols/objects.ts";
import { type AgentSettings, STANDARD_AGENT } from "../../agent/agent.settings.ts";
import type { ResourceList } from "../../agent/node-object.ts";
import { parseThresholds } from "../../agent/pressure.policy.ts";
import { amountOf } from "../../agent/resource-quantity.ts";
import {
  choiceSetting,
  countSetting as count,
  durationSetting as durationMs,
  listSetting as list,
  switchSetting as onOff,
  textSetting as text,
} from "../../platform/config/setting-builders.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import {
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../../sandbox/apiserver/validation/object-names.ts";

const NODE_SETTINGS = {
  nodeName: text("node-name", "edge-7", "Name of the node; without it the host name."),
  hostnameOverride: text("hostname-override", "edge-7", "Host name to report instead of the machine's own."),
  nodeIp: {
    ...list("node-ip", "10.0.0.7", "Addresses of the node, at most one of each family; without it they are detected."),
    replaces: true,
  },
  nodeLabels: list("node-labels", "rack=a,disk=ssd", "Labels to register the node with."),
  registerWithTaints: {
    ...list(
      "register-with-taints",
      "key=value:NoSchedule",
      "Taints to register the node with. The default keeps pods away, because the agent runs none.",
      ["vigil/runs-no-pods:NoSchedule"],
    ),
    replaces: true,
  },
  nodeZone: text("zone", "zone-a", "Zone to register the node in."),
  region: text("region", "eu", "Region to register the node in."),
  instanceType: text("instance-type", "large", "Instance type to register the node with."),
  providerId: text("provider-id", "cloud://7", "Identity of the machine at its provider."),
  cloudProvider: choiceSetting<string>(
    "cloud-provider",
    ["", "external"],
    "",
    "external leaves addresses to a cloud controller and taints the node until that has initialized it.",
  ),
  registerNode: onOff("register-node", true, "Register the node; otherwise it must exist already."),
  rootDir: text("root-dir", "/var/lib/kubelet", "A path on the file system that counts as the node's storage.", "/"),
} as const;

/** The capacity of the node, and when it reports pressure. */
const CAPACITY_SETTINGS = {
  maxPods: count("max-pods", STANDARD_AGENT.maxPods, "Pods the node offers to run."),
  podsPerCore: count("pods-per-core", STANDARD_AGENT.podsPerCore, "The same for each core; 0 for no such limit."),
  systemReserved: list("system-reserved", "cpu=500m,memory=1Gi", "Resources that are not allocatable to pods."),
  evictionHard: text(
    "eviction-hard",
    "memory.available<100Mi",
    "Thresholds below which the node reports pressure.",
    "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,pid.available<10%",
  ),
  pressureTransition: durationMs(
    "eviction-pressure-transition-period",
    STANDARD_AGENT.pressureTransitionMs,
    "How long the node goes on reporting pressure.",
  ),
} as const;

const HEARTBEAT_SETTINGS = {
  statusUpdate: durationMs(
    "node-status-update-frequency",
    STANDARD_AGENT.statusComputeMs,
    "How often the status is computed, and posted when it has changed.",
    1,
  ),
  statusReport: durationMs(
    "node-status-report-frequency",
    0,
    "How often an unchanged status is posted; 0 means 5m, or every update where --node-status-update-frequency is set.",
  ),
  leaseSeconds: count("node-lease-duration-seconds", STANDARD_AGENT.leaseSeconds, "Duration of the node's lease."),
  deleteLease: onOff("delete-lease-on-stop", false, "Delete the lease when the agent is stopped."),
} as const;

/** Every flag of the agent itself. */
export const AGENT_SETTINGS = { ...NODE_SETTINGS, ...CAPACITY_SETTINGS, ...HEARTBEAT_SETTINGS } as const;

/** The API's largest leaseDurationSeconds. */
const INT32_MAX = 2 ** 31 - 1;
/** The resources that kubelet's --system-reserved accepts. */
const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage", "pid"];

/** The agent's settings from its flags; `hostname` is the machine's own. Throws a ConfigProblem. */
export function agentSettings(values: Readonly<ValuesOf<typeof AGENT_SETTINGS>>, hostname: string): AgentSettings {
  const { nodeName, hostnameOverride, leaseSeconds } = values;
  refuseUnfit(values);
  if (nodeName === "" && hostnameOverride === "" && dnsSubdomainProblems(hostname).length > 0) {
    throw new ConfigProblem(`host name ${hostname}: not a valid node name; give one with --node-name=edge-7`);
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
    // Like kubelet: every update is posted where its frequency is set.
    statusReportMs:
      values.statusReport ||
      (values.statusUpdate === STANDARD_AGENT.statusComputeMs ? STANDARD_AGENT.statusReportMs : values.statusUpdate),
    leaseSeconds,
    deleteLeaseOnStop: values.deleteLease,
  };
}

/** Throws a ConfigProblem for values that the API would always reject. */
function refuseUnfit(values: Readonly<ValuesOf<typeof AGENT_SETTINGS>>): void {
  const { nodeName, hostnameOverride, leaseSeconds, nodeZone, region, instanceType } = values;
  const lease = `--node-lease-duration-seconds=${leaseSeconds}`;
  if (leaseSeconds < 1) throw new ConfigProblem(`${lease}: must be at least 1`);
  if (leaseSeconds > INT32_MAX) throw new ConfigProblem(`${lease}: must be at most ${INT32_MAX}`);
  for (const [flag, name] of Object.entries({ "node-name": nodeName, "hostname-override": hostnameOverride })) {
    if (name === "" || dnsSubdomainProblems(name).length === 0) continue;
    throw new ConfigProblem(`--${flag}=${name}: not a valid node name; write it as edge-7`);
  }
  const labelValues = { nodeZone, region, instanceType } as const;
  for (const [name, value] of Object.entries(labelValues)) {
    if (labelValueProblems(value).length === 0) continue;
    const { flag, example } = NODE_SETTINGS[name as keyof typeof labelValues];
    throw new ConfigProblem(`--${flag}=${value}: not a valid label value; write it as ${example}`);
  }
}

/** The addresses in the notation of the operating system, which they are compared with. */
function nodeIpsOf(ips: readonly string[]): readonly string[] {
  for (const ip of ips) {
    if (isIP(ip) === 0) throw new ConfigProblem(`--node-ip=${ip}: not an IP address; write it as 10.0.0.7`);
  }
  if (new Set(ips.map(isIP)).size < ips.length) {
    throw new ConfigProblem(`--node-ip=${ips.join(",")}: must be one address, or one of each family`);
  }
  return ips.map((ip) => (isIP(ip) === 6 ? new SocketAddress({ address: ip, family: "ipv6" }).address : ip));
}

function pair(flag: string, item: string): [string, string] {
  const equals = item.indexOf("=");
  if (equals < 1) throw new ConfigProblem(`--${flag}=${item}: write it as key=value`);
  return [item.slice(0, equals), item.slice(equals + 1)];
}

function labelOf(item: string): [string, string] {
  const [key, value] = pair("node-labels", item);
  if (isLabel(key, value)) return [key, value];
  throw new ConfigProblem(`--node-labels=${item}: not a valid label; write it as rack=a`);
}

function isLabel(key: string, value: string): boolean {
  return qualifiedNameProblems(key).length === 0 && labelValueProblems(value).length === 0;
}

function taintsOf(items: readonly string[]): readonly Taint[] {
  const taints = items.map(taintOf);
  const names = taints.map(({ key, effect }) => `${key}:${effect}`);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return taints;
  throw new ConfigProblem(`--register-with-taints: ${twice} is given twice; give each key one value per effect`);
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
    throw new ConfigProblem(`--register-with-taints=${item}: not a valid taint; write it as key=value:${effect}`);
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
