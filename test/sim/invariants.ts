/**
 * The rules for every write of Vigil to the simulated API, checked at each write. They share no code with the services.
 */
import { checkDeclared, isDeclaring } from "./declared.ts";
import { type GracesOf, leastMs } from "./graces.ts";
import type { Swarm } from "./swarm.ts";
import { secondsFor } from "./tolerated-seconds.ts";

/** A node as the checks see it. */
export interface CheckedNode {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly taints?: readonly CheckedTaint[]; readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly CheckedCondition[] };
}
/** A taint as the checks see it. */
export interface CheckedTaint {
  readonly key: string;
  readonly effect: string;
  readonly value?: string;
  readonly timeAdded?: string;
}
/** A condition as the checks see it. */
export interface CheckedCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly lastHeartbeatTime?: string | null;
  readonly lastTransitionTime?: string | null;
}
/** A node's condition of a type. */
export function conditionOf(node: CheckedNode, type: string): CheckedCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** A toleration as the checks see it. */
export interface CheckedToleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}
/** A pod as the checks see it. */
export interface CheckedPod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[];
  };
  readonly spec: { readonly nodeName?: string; readonly tolerations?: readonly CheckedToleration[] };
  readonly status?: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly conditions?: readonly CheckedCondition[];
  };
}

/** Whether a write made a pod not ready. Other writes of a status, such as the mark of an eviction, do not. */
export function turnedUnready(before: CheckedPod | null, after: CheckedPod): boolean {
  const isUnready = (pod: CheckedPod | null) =>
    pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "False") === true;
  return isUnready(after) && !isUnready(before);
}

/** A write of Vigil broke a rule. */
export class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";
const OURS = new Set([
  ...[NOT_READY, UNREACHABLE].map((key) => `${key}:NoExecute`),
  ...[
    "not-ready",
    "unreachable",
    "unschedulable",
    "memory-pressure",
    "disk-pressure",
    "pid-pressure",
    "network-unavailable",
  ].map((key) => `node.kubernetes.io/${key}:NoSchedule`),
]);

/** The identity of a taint as text. */
export const taintName = ({ key, effect }: Pick<CheckedTaint, "key" | "effect">): string => `${key}:${effect}`;
/** Whether a taint is one of the two whose rate the zones limit. */
export const isPaced = (taint: Pick<CheckedTaint, "key" | "effect">): boolean =>
  taint.effect === "NoExecute" && (taint.key === NOT_READY || taint.key === UNREACHABLE);

/** Whether a taint evicts for a condition that a policy names, as in runs with policies. */
export const isConditionTaint = ({ key, effect }: Pick<CheckedTaint, "key" | "effect">): boolean =>
  effect === "NoExecute" && key.startsWith("vigil.io/");

/** What is known of the world beyond the objects themselves. */
export interface WriteContext {
  readonly swarm: Swarm;
  /** The world's wall clock. */
  readonly wallMs: number;
  /** How far a process may be off about when a taint appeared, by its clock and by the age of its view of the node. */
  readonly skewMs: number;
  /** When a node's kubelet last renewed its lease or posted its status before an instant, on the world's wall clock. */
  readonly heartbeatAt: (node: string, byMs: number) => number;
  readonly graces: GracesOf;
  /** How long the writer's read and the write after it may have been delayed beyond the usual, in milliseconds. */
  readonly delayMaxMs: number;
  /** From when a taint on a node counts. */
  readonly standing: (node: string, taint: Pick<CheckedTaint, "key" | "effect">) => Standing;
}

/** From when a taint counts, on the world's wall clock. */
export interface Standing {
  /** When it appeared on its node. */
  readonly seenAt: number;
  /** When a process saw it at the latest that counts it from there, where it has no stamp; absent for `seenAt`. */
  readonly latestAt?: number;
  /** When it was last set: later than `seenAt` where it was away for so short that no process need have observed it. */
  readonly addedAt?: number;
  /**
   * Whether its `timeAdded` is meaningless, because clocks are wrong or other clients change it: then `seenAt` counts.
   */
  readonly isStampVoid?: boolean;
  /**
   * From when it counts for an owner that began after another client had stamped it; absent when there is no such
   * owner.
   */
  readonly believedAt?: number;
  /** The latest such instant. */
  readonly believedLatestAt?: number;
  /** Whether Lt and Gt are compared; where they are not, a pod with such a toleration may tolerate the taint. */
  readonly isComparing?: boolean;
  /** When it replaced the other of our two taints: all that were there one after the other, this one last. */
  readonly lineage?: readonly Segment[];
  /** When countdowns on this node end, where freezes stop them. */
  readonly frozen?: CountdownEnds;
}

/** When a countdown that starts at an instant and lasts so long ends, at the earliest and at the latest. */
export interface CountdownEnds {
  readonly least: (startAt: number, durationMs: number) => number;
  readonly most: (startAt: number, durationMs: number) => number;
}

/** A taint of ours that was on a node from some instant until the next one replaced it. */
export interface Segment {
  readonly key: string;
  readonly at: number;
}

/** The zone key of a node by R2.1 to R2.3, implemented a second time. */
export function zoneOf(labels: Readonly<Record<string, string>> = {}): string {
  const either = (what: string): string =>
    labels[`failure-domain.beta.kubernetes.io/${what}`] ?? labels[`topology.kubernetes.io/${what}`] ?? "";
  const [region, zone] = [either("region"), either("zone")];
  return region === "" && zone === "" ? "" : `${region}:\0:${zone}`;
}

/** Checks one of our writes to a node. */
export function checkNodeWrite(before: CheckedNode, after: CheckedNode, context: WriteContext): void {
  const foreign = (node: CheckedNode): string =>
    (node.spec?.taints ?? [])
      .filter((taint) => !OURS.has(taintName(taint)) && !isDeclaring(taint))
      .filter(({ key }) => context.swarm.policies === undefined || !key.startsWith("vigil.io/"))
      .map(({ key, value, effect, timeAdded }) => `${key}=${value}:${effect}@${timeAdded}`)
      .join(" ");
  if (foreign(before) !== foreign(after)) {
    throw new BrokenInvariant(`foreign taints of ${after.metadata.name} were touched (P4): ${foreign(after)}`);
  }
  checkDeclared(before, after, context);
  checkOwnFields(before, after, context.swarm);
  checkUnknown(before, after, context);
  const [had, has] = [before, after].map((node) => (node.spec?.taints ?? []).filter(isPaced).length);
  if (has === 2 && had !== 2) throw new BrokenInvariant(`${after.metadata.name} carries both NoExecute taints (P3)`);
  checkReason(before, after);
}

/** What Vigil may set on a node beside taints: labels, annotations and types of conditions. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...["os", "arch"].map((what) => `label beta.kubernetes.io/${what}`),
  "label vigil.node-restriction.kubernetes.io/proved-down",
  ...["taints-seen", "taint-swap", "proved-down", "out-of-service"].map((what) => `annotation vigil.v1/${what}`),
  ...["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => `condition ${type}`),
]);

/** What policies with `flapping` and `unhealthyConditions` need besides. */
const POLICY_FIELDS: ReadonlySet<string> = new Set(
  ["ready-transitions", "conditions", "condition-taints", "holds"].map((what) => `annotation vigil.v1/${what}`),
);

/** Vigil neither sets nor changes labels, annotations and conditions of other owners. */
function checkOwnFields(before: CheckedNode, after: CheckedNode, { policies }: Swarm): void {
  const [was, is] = [before, after].map((node) => new Map(fieldsOf(node)));
  const names = new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])]);
  for (const name of names) {
    if (was?.get(name) === is?.get(name) || OWN_FIELDS.has(name)) continue;
    if (policies !== undefined && POLICY_FIELDS.has(name)) continue;
    throw new BrokenInvariant(`${after.metadata.name}: we changed ${name}`);
  }
}

function fieldsOf({ metadata, status }: CheckedNode): [string, string][] {
  const { labels = {}, annotations = {} } = metadata;
  return [
    ...Object.entries(labels).map(([key, value]): [string, string] => [`label ${key}`, value]),
    ...Object.entries(annotations).map(([key, value]): [string, string] => [`annotation ${key}`, value]),
    ...(status?.conditions ?? []).map((each): [string, string] => [`condition ${each.type}`, each.status]),
  ];
}

/** The NoExecute taint that a Ready status requires. */
const CALLED_FOR: Readonly<Record<string, string>> = { False: NOT_READY, Unknown: UNREACHABLE };

/** Each write is bound to the Ready status that it rests on, so a taint of ours always fits it (R4.36). */
function checkReason(before: CheckedNode, after: CheckedNode): void {
  const keysOf = ({ spec }: CheckedNode): string[] => (spec?.taints ?? []).filter(isPaced).map(({ key }) => key);
  const status = conditionOf(after, "Ready")?.status ?? "missing";
  const added = keysOf(after).find((key) => !keysOf(before).includes(key));
  if (added === undefined || added === CALLED_FOR[status]) return;
  throw new BrokenInvariant(`${after.metadata.name} got ${added}:NoExecute though Ready is ${status}`);
}

/**
 * How long the read of the lease and the write after it are under way. No client can do both in one step, and a renewal
 * may come between them (seed 196658694).
 */
const CROSSING_MS = 25;

/** A node that renews is never Unknown (P1). */
function checkUnknown(before: CheckedNode, after: CheckedNode, around: WriteContext): void {
  const { wallMs, delayMaxMs, heartbeatAt, graces } = around;
  const readyOf = (node: CheckedNode) => conditionOf(node, "Ready");
  if (readyOf(after)?.status !== "Unknown" || readyOf(before)?.status === "Unknown") return;
  const which = readyOf(before) === undefined ? "startupMs" : "monitorMs";
  const graceMs = leastMs(graces(after.metadata.name, wallMs - delayMaxMs), which);
  const silentMs = wallMs - heartbeatAt(after.metadata.name, wallMs - CROSSING_MS - delayMaxMs);
  // Clocks may run a little fast. The API shows one of two posts within a second, because its times are whole seconds.
  if (silentMs >= graceMs * 0.999 - 1000) return;
  throw new BrokenInvariant(
    `${after.metadata.name} was made Unknown after ${silentMs} ms of silence; its grace is ${graceMs} ms (P1)`,
  );
}

/** Whether pods of a node may be evicted at all: it carries a NoExecute taint or, in direct mode, is not ready. */
export function isEvictable(node: CheckedNode, { profile }: Swarm): boolean {
  if (profile.evictionMode !== "direct")
    return node.spec?.taints?.some(({ effect }) => effect === "NoExecute") === true;
  return conditionOf(node, "Ready")?.status !== "True";
}

/** Checks one of our deletions of a pod, against the node as the API shows it. */
export function checkDeletion(
  pod: CheckedPod,
  node: CheckedNode | null,
  { swarm, wallMs, skewMs, standing }: WriteContext,
): void {
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
  if (swarm.profile.evictionMode === "direct") {
    checkDrain(name, pod, node);
    return;
  }
  const taints = (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  if (taints.length === 0) throw new BrokenInvariant(`${name} was deleted from a node without a NoExecute taint`);
  const dueAt = Math.min(...taints.map((taint) => earliestDueAt(pod, taint, standing(pod.spec.nodeName ?? "", taint))));
  if (wallMs + skewMs >= dueAt) return;
  throw new BrokenInvariant(`${name} was deleted ${dueAt - wallMs} ms before timeAdded + tolerationSeconds`);
}

/** The earliest instant at which a pod may be evicted for a taint, by any stamp that an owner may have believed. */
export function earliestDueAt(pod: CheckedPod, taint: CheckedTaint, standing: Standing): number {
  const believed = { key: taint.key, at: standing.believedAt ?? Number.POSITIVE_INFINITY };
  return Math.min(
    evictionDueAt(pod, taint, standing),
    endOf(pod, taint, { ...standing, ...believed }, standing.frozen?.least),
  );
}

function checkDrain(name: string, pod: CheckedPod, node: CheckedNode | null): void {
  if (node !== null && conditionOf(node, "Ready")?.status === "True")
    throw new BrokenInvariant(`${name} was drained from a node that is ready`);
  if (isOfDaemonSet(pod)) throw new BrokenInvariant(`${name} is a DaemonSet's pod and was drained`);
}

/** Whether a DaemonSet controls a pod. */
export function isOfDaemonSet({ metadata }: CheckedPod): boolean {
  return metadata.ownerReferences?.some(({ kind, controller }) => kind === "DaemonSet" && controller === true) === true;
}

/** Whether a drain of its node has to delete a pod. */
export function isDrainable(pod: CheckedPod): boolean {
  return pod.metadata.deletionTimestamp === undefined && !isOfDaemonSet(pod);
}

/**
 * When a pod may be evicted for one taint; infinite for a pod that tolerates it for ever. Its time counts from the
 * taint or from the pod, whichever came later; a taint without `timeAdded` appeared at `seenAt`. Where our two taints
 * replaced each other, a running countdown continues, unless the next one is tolerated for ever (R8.18).
 */
function evictionDueAt(
  pod: CheckedPod,
  taint: CheckedTaint,
  standing: Standing,
  ends: CountdownEnds["least"] | undefined = standing.frozen?.least,
): number {
  const segments = standing.lineage ?? [{ key: taint.key, at: startOf(taint, standing) }];
  const cameAt = Date.parse(pod.metadata.creationTimestamp);
  let dueAt = Infinity;
  for (const [index, segment] of segments.entries()) {
    if (cameAt >= (segments[index + 1]?.at ?? Infinity)) continue;
    const seconds = secondsFor(pod, { ...taint, key: segment.key }, standing.isComparing);
    if (seconds === null || seconds === Infinity || dueAt === Infinity) {
      dueAt = endOf(pod, taint, { ...standing, ...segment }, ends);
    }
  }
  return dueAt;
}

/**
 * When a pod must have gone at the latest for a taint. A process that starts later knows only by the pod's own stamps
 * when it was bound, and these may be later than the truth.
 */
export function evictionOverdueAt(pod: CheckedPod, taint: CheckedTaint, standing: Standing): number {
  const overdueAt = overdueSince(pod, taint, standing);
  const boundAt = stampedBindingAt(pod);
  if (!(boundAt > Date.parse(pod.metadata.creationTimestamp))) return overdueAt;
  const creationTimestamp = new Date(boundAt).toISOString();
  return Math.max(
    overdueAt,
    overdueSince({ ...pod, metadata: { ...pod.metadata, creationTimestamp } }, taint, standing),
  );
}

/** When a pod was bound or started, by its own stamps. */
function stampedBindingAt({ status }: CheckedPod): number {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const boundAt = Date.parse(scheduled?.lastTransitionTime ?? "");
  return Number.isNaN(boundAt) ? Date.parse(status?.startTime ?? "") : boundAt;
}

/**
 * The instant at which a pod may be evicted for a taint, except where it cannot be known which countdown ran: for a pod
 * that came between two swaps or tolerates more than before, all of them must have ended.
 */
function overdueSince(pod: CheckedPod, taint: CheckedTaint, standing: Standing): number {
  const { lineage = [], frozen, isComparing } = standing;
  const dueAt = evictionDueAt(pod, taint, standing, frozen?.most);
  const cameAt = Date.parse(pod.metadata.creationTimestamp);
  if (lineage.length < 2 || (Number.isFinite(dueAt) && cameAt < Number(lineage[1]?.at))) return dueAt;
  const own = endOf(pod, taint, { key: taint.key, at: startOf(taint, standing), isComparing }, frozen?.most);
  const endAt = frozen?.most ?? plainEnd;
  const ends = lineage.map(({ key }) => endAt(cameAt, (secondsFor(pod, { ...taint, key }, isComparing) ?? 0) * 1000));
  return Math.max(dueAt, own, ...ends.filter(Number.isFinite));
}

/** From when a taint alone counts. */
export function startOf({ timeAdded }: CheckedTaint, { seenAt, isStampVoid }: Standing): number {
  return timeAdded === undefined || isStampVoid === true ? seenAt : Date.parse(timeAdded);
}

const plainEnd: CountdownEnds["least"] = (startAt, durationMs) => startAt + durationMs;

/** When the countdown of one taint alone ends. */
export function endOf(
  pod: CheckedPod,
  taint: CheckedTaint,
  { key, at, isComparing }: Segment & { readonly isComparing?: boolean | undefined },
  endAt = plainEnd,
): number {
  const seconds = secondsFor(pod, { ...taint, key }, isComparing) ?? 0;
  const cameAt = Date.parse(pod.metadata.creationTimestamp);
  return seconds <= 0 ? Number.NEGATIVE_INFINITY : endAt(Math.max(at, cameAt), seconds * 1000);
}
