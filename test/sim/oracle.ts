/** The one right state of a calm cluster, from the rules alone. It shares no code with the services. */

import { isOwnTaintValue } from "../../protocols/names.ts";
import {
  type CheckedNode,
  type CheckedPod,
  type CheckedTaint,
  conditionOf,
  endOf,
  evictionOverdueAt,
  isDrainable,
  isPaced,
  type Standing,
  startOf,
  taintName,
  type WriteContext,
  zoneOf,
} from "./invariants.ts";
import type { World } from "./world.ts";
import { type RateState, rateStatesOf } from "./zone-rates.ts";

const READY_TAINTS: Readonly<Record<string, string>> = { False: "not-ready", Unknown: "unreachable" };
const PRESSURE_TAINTS: ReadonlyMap<string, string> = new Map([
  ["MemoryPressure", "memory-pressure"],
  ["DiskPressure", "disk-pressure"],
  ["PIDPressure", "pid-pressure"],
  ["NetworkUnavailable", "network-unavailable"],
]);
const MANAGED = new Set(
  [...Object.values(READY_TAINTS), ...PRESSURE_TAINTS.values(), "unschedulable"].map(
    (name) => `node.kubernetes.io/${name}:NoSchedule`,
  ),
);

/** What evictions are checked against: from when taints count, and how late one may be. */
interface Lateness extends Pick<WriteContext, "standing"> {
  readonly slackMs: number;
  /** How long a dead node has to be silent before it must be Unknown; 0, as in a calm, where absent. */
  readonly graceMs?: number;
}

/** What may be wrong: a node's conditions, its taints, or a pod that is still ready or still there. */
export type WrongKind = "status" | "noSchedule" | "noExecute" | "mark" | "eviction";

/** Something that is wrong. */
export interface Wrong {
  readonly kind: WrongKind;
  readonly node: string;
  readonly pod: string | null;
  /** Stays the same for as long as it is wrong in this way. */
  readonly text: string;
}

/** Everything that is wrong; empty when all is right. Evictions may be `slackMs` late. */
export function wrongs(world: World, { slackMs, standing, graceMs = 0 }: Lateness): Wrong[] {
  const nodes = world.objects<CheckedNode>("nodes");
  const states = rateStatesOf(nodes, world.swarm);
  const pods = world.objects<CheckedPod>("pods");
  const found: Wrong[] = [];
  for (const node of nodes) {
    const of = (kind: WrongKind) => (text: string) => ({ kind, node: node.metadata.name, pod: null, text });
    const state = states.get(zoneOf(node.metadata.labels)) ?? "running";
    found.push(
      ...wrongConditions(node, world, graceMs).map(of("status")),
      ...[...leftForConditions(node), ...wrongNoSchedule(node)].map(of("noSchedule")),
      ...wrongNoExecute(node, state, world).map(of("noExecute")),
    );
    for (const pod of pods) {
      if (pod.spec.nodeName !== node.metadata.name || pod.metadata.deletionTimestamp !== undefined) continue;
      found.push(...wrongPod(pod, node, state, { world, slackMs, standing }));
    }
  }
  return found;
}

function wrongConditions(node: CheckedNode, world: World, graceMs: number): string[] {
  const { name } = node.metadata;
  const kubelet = world.kubelets.get(name);
  const status = conditionOf(node, "Ready")?.status ?? null;
  const nowMs = world.clock.wallMs();
  if (kubelet?.alive === false && nowMs < world.signs.lastBy(name, nowMs) + graceMs) return [];
  const wanted = kubelet?.alive === true ? kubelet.ready : "Unknown";
  if (status !== wanted) return [`${name}: Ready is ${status}, not ${wanted}`];
  if (wanted !== "Unknown") return [];
  return ["MemoryPressure", "DiskPressure", "PIDPressure"]
    .filter((type) => conditionOf(node, type)?.status !== "Unknown")
    .map((type) => `${name}: ${type} of a silent node is ${conditionOf(node, type)?.status}`);
}

/** The people of a run end every ailment, so nothing is left for one. */
function leftForConditions(node: CheckedNode): string[] {
  const left = (node.spec?.taints ?? []).filter(
    ({ key, value }) => key.startsWith("vigil.io/") && isOwnTaintValue(value),
  );
  return left.map((taint) => `${node.metadata.name}: still carries ${taintName(taint)}`);
}

function wrongNoSchedule(node: CheckedNode): string[] {
  const wanted = new Set<string>();
  for (const { type, status } of node.status?.conditions ?? []) {
    const word = type === "Ready" ? READY_TAINTS[status] : status === "True" ? PRESSURE_TAINTS.get(type) : undefined;
    if (word !== undefined) wanted.add(`node.kubernetes.io/${word}:NoSchedule`);
  }
  if (node.spec?.unschedulable === true) wanted.add("node.kubernetes.io/unschedulable:NoSchedule");
  const present = new Set((node.spec?.taints ?? []).map(taintName).filter((taint) => MANAGED.has(taint)));
  const [want, have] = [[...wanted].sort().join(" "), [...present].sort().join(" ")];
  return want === have ? [] : [`${node.metadata.name}: NoSchedule taints are [${have}], not [${want}]`];
}

function wrongNoExecute(node: CheckedNode, state: RateState, { swarm }: World): string[] {
  const { name } = node.metadata;
  const status = conditionOf(node, "Ready")?.status;
  const present = (node.spec?.taints ?? []).filter(isPaced).map(taintName);
  const right = `node.kubernetes.io/${READY_TAINTS[status ?? ""]}:NoExecute`;
  const is = (wanted: readonly string[]): boolean => present.join(" ") === wanted.join(" ");
  const wrong = `${name} (${status}, ${state}): NoExecute taints are [${present.join(" ")}]`;
  if (status === undefined) return [];
  // In direct mode Vigil does not set these taints, and those of other clients stay theirs.
  if (swarm.profile.evictionMode === "direct") return is([]) || swarm.faults.has("foreignTaints") ? [] : [wrong];
  if (status === "True" || state === "halted") return is([]) ? [] : [wrong];
  if (state === "stopped") return is([]) || is([right]) ? [] : [wrong];
  return is([right]) ? [] : [wrong];
}

function wrongPod(
  pod: CheckedPod,
  node: CheckedNode,
  state: RateState,
  { world, slackMs, standing }: Lateness & { readonly world: World },
): Wrong[] {
  const name = `${pod.metadata.name} on ${node.metadata.name}`;
  const about = { node: node.metadata.name, pod: pod.metadata.name };
  const found: Wrong[] = [];
  const ready = conditionOf(node, "Ready");
  const podReady = pod.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  if (ready?.status === "Unknown" && podReady === "True") {
    found.push({ kind: "mark", ...about, text: `${name}: still Ready though its node is Unknown` });
  }
  const nowMs = world.clock.wallMs();
  if (world.swarm.profile.evictionMode === "direct") {
    if (ready?.status !== "True" && ready !== undefined && state === "running" && isDrainable(pod)) {
      found.push({ kind: "eviction", ...about, text: `${name}: not drained` });
    }
    return found;
  }
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  for (const taint of taints) {
    // No observation says when a taint without timeAdded first appeared.
    if (taint.timeAdded === undefined) continue;
    const stood = standing(node.metadata.name, taint);
    const dueAt = Math.max(...world.apart.ways(pod).map((way) => dueAtLatest(way, taint, stood)));
    if ((stood.frozen?.most(dueAt, slackMs) ?? dueAt + slackMs) < nowMs)
      found.push({ kind: "eviction", ...about, text: `${name}: not evicted for ${taintName(taint)}` });
  }
  return found;
}

/** When a pod must have gone at the latest for a taint that its node carries now. */
export function dueAtLatest(pod: CheckedPod, taint: CheckedTaint, standing: Standing): number {
  const stood = { ...standing, seenAt: standing.addedAt ?? standing.seenAt };
  const { believedLatestAt = Number.NEGATIVE_INFINITY } = stood;
  // An owner that finds a taint with another client's stamp counts from that stamp.
  const believedDueAt = endOf(pod, taint, { ...stood, key: taint.key, at: believedLatestAt }, stood.frozen?.most);
  const createdAt = Date.parse(pod.metadata.creationTimestamp);
  return Math.max(evictionOverdueAt(pod, taint, stood), createdAt, startOf(taint, stood), believedDueAt);
}
