/** The one right state of a calm cluster, from the rules alone. It shares no code with the services. */
import {
  type CheckedCondition,
  type CheckedNode,
  type CheckedPod,
  evictionDueAt,
  isPaced,
  taintName,
  zoneOf,
} from "./invariants.ts";
import type { World } from "./world.ts";

const READY_TAINTS: Readonly<Record<string, string>> = { False: "not-ready", Unknown: "unreachable" };
const PRESSURE_TAINTS: Readonly<Record<string, string>> = {
  MemoryPressure: "memory-pressure",
  DiskPressure: "disk-pressure",
  PIDPressure: "pid-pressure",
  NetworkUnavailable: "network-unavailable",
};
const MANAGED = new Set(
  [...Object.values(READY_TAINTS), ...Object.values(PRESSURE_TAINTS), "unschedulable"].map(
    (name) => `node.kubernetes.io/${name}:NoSchedule`,
  ),
);
/** Slack for the steps between a deadline and its deletion: watch, ask, live reads, retries after refusals. */
const SLACK_MS = 90_000;

type Pace = "running" | "stopped" | "halted";

/** Everything that is not as it must be, in words; empty when all is right. */
export function wrongs(world: World): string[] {
  const nodes = world.objects<CheckedNode>("nodes");
  const paces = pacesOf(nodes, world);
  const pods = world.objects<CheckedPod>("pods");
  const found: string[] = [];
  for (const node of nodes) {
    const pace = paces.get(zoneOf(node.metadata.labels)) ?? "running";
    found.push(...wrongConditions(node, world), ...wrongNoSchedule(node), ...wrongNoExecute(node, pace, world));
    for (const pod of pods) {
      if (pod.spec.nodeName !== node.metadata.name || pod.metadata.deletionTimestamp !== undefined) continue;
      found.push(...wrongPod(pod, node, pace, world));
    }
  }
  return found;
}

function conditionOf(node: CheckedNode, type: string): CheckedCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** Section 6, told anew: a zone is full without a ready node, partial from three and the threshold on. */
function pacesOf(nodes: readonly CheckedNode[], { swarm }: World): Map<string, Pace> {
  const counts = new Map<string, { ready: number; notReady: number }>();
  for (const node of nodes) {
    const zone = zoneOf(node.metadata.labels);
    const count = counts.get(zone) ?? { ready: 0, notReady: 0 };
    if (conditionOf(node, "Ready")?.status === "True") count.ready += 1;
    else count.notReady += 1;
    counts.set(zone, count);
  }
  const allFull = [...counts.values()].every(({ ready }) => ready === 0);
  const { unhealthyZoneThreshold, largeClusterSizeThreshold, secondaryNodeEvictionsPerSecond } = swarm.profile;
  const paceOf = ({ ready, notReady }: { ready: number; notReady: number }): Pace => {
    if (allFull) return "halted";
    const size = ready + notReady;
    const isPartial = ready > 0 && notReady > 2 && Math.fround(notReady / size) >= Math.fround(unhealthyZoneThreshold);
    if (!isPartial) return "running";
    return size > largeClusterSizeThreshold && secondaryNodeEvictionsPerSecond > 0 ? "running" : "stopped";
  };
  return new Map([...counts].map(([zone, count]) => [zone, paceOf(count)]));
}

function wrongConditions(node: CheckedNode, world: World): string[] {
  const { name } = node.metadata;
  const kubelet = world.kubelets.get(name);
  const status = conditionOf(node, "Ready")?.status ?? null;
  const wanted = kubelet?.alive === true ? kubelet.ready : "Unknown";
  if (status !== wanted) return [`${name}: Ready is ${status}, not ${wanted}`];
  if (wanted !== "Unknown") return [];
  return ["MemoryPressure", "DiskPressure", "PIDPressure"]
    .filter((type) => conditionOf(node, type)?.status !== "Unknown")
    .map((type) => `${name}: ${type} of a silent node is ${conditionOf(node, type)?.status}`);
}

function wrongNoSchedule(node: CheckedNode): string[] {
  const wanted = new Set<string>();
  for (const { type, status } of node.status?.conditions ?? []) {
    const word = type === "Ready" ? READY_TAINTS[status] : status === "True" ? PRESSURE_TAINTS[type] : undefined;
    if (word !== undefined) wanted.add(`node.kubernetes.io/${word}:NoSchedule`);
  }
  if (node.spec?.unschedulable === true) wanted.add("node.kubernetes.io/unschedulable:NoSchedule");
  const present = new Set((node.spec?.taints ?? []).map(taintName).filter((taint) => MANAGED.has(taint)));
  const [want, have] = [[...wanted].sort().join(" "), [...present].sort().join(" ")];
  return want === have ? [] : [`${node.metadata.name}: NoSchedule taints are [${have}], not [${want}]`];
}

function wrongNoExecute(node: CheckedNode, pace: Pace, { swarm }: World): string[] {
  const { name } = node.metadata;
  const status = conditionOf(node, "Ready")?.status;
  const present = (node.spec?.taints ?? []).filter(isPaced).map(taintName);
  const right = `node.kubernetes.io/${READY_TAINTS[status ?? ""]}:NoExecute`;
  const is = (wanted: readonly string[]): boolean => present.join(" ") === wanted.join(" ");
  const wrong = `${name} (${status}, ${pace}): NoExecute taints are [${present.join(" ")}]`;
  if (status === undefined) return [];
  if (swarm.profile.evictionMode === "direct") return is([]) ? [] : [wrong];
  if (status === "True" || pace === "halted") return is([]) ? [] : [wrong];
  if (pace === "stopped") return is([]) || is([right]) ? [] : [wrong];
  return is([right]) ? [] : [wrong];
}

function wrongPod(pod: CheckedPod, node: CheckedNode, pace: Pace, world: World): string[] {
  const name = `${pod.metadata.name} on ${node.metadata.name}`;
  const found: string[] = [];
  const ready = conditionOf(node, "Ready");
  const podReady = pod.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  if (ready?.status === "Unknown" && podReady === "True") found.push(`${name}: still Ready though its node is Unknown`);
  const nowMs = world.clock.wallMs();
  if (world.swarm.profile.evictionMode === "direct") {
    const daemon = pod.metadata.ownerReferences?.some(({ kind }) => kind === "DaemonSet") === true;
    if (ready?.status !== "True" && ready !== undefined && pace === "running" && !daemon) {
      found.push(`${name}: not drained`);
    }
    return found;
  }
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  const startedAt = Date.parse(pod.metadata.creationTimestamp);
  for (const taint of taints) {
    // A taint without timeAdded counts from when it was first seen, at the latest when the faults ended.
    const dueAt = taint.timeAdded === undefined ? Number.POSITIVE_INFINITY : evictionDueAt(pod, taint, nowMs);
    if (Math.max(dueAt, startedAt) + SLACK_MS < nowMs) found.push(`${name}: not evicted for ${taintName(taint)}`);
  }
  return found;
}
