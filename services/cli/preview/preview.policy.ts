/** Runs a preview to its end and reports what happened: zones, nodes in order, and pods with their reasons. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { formatDuration } from "../../domain/duration.ts";
import { deleteAt, ratedPoliciesOf, ratedPolicyOf } from "../../domain/eviction-rates.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { POLICY_CEILING, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { noExecuteTaints } from "../../domain/toleration.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import { UPSTREAM_EVICTIONS } from "../../pod-writer/eviction-method.policy.ts";
import type { AlikePods } from "./alike-pods.ts";
import {
  contendedTimes,
  type EarliestEviction,
  type RatedPod,
  UNKNOWN_BECAUSE,
  unknownTimes,
} from "./eviction-times.policy.ts";
import type { Fault } from "./fault.policy.ts";
import { evictionReason, rateText, reasonToStay } from "./pod-reasons.policy.ts";
import type { Preview, PreviewedNodeReport, PreviewedPodReport, PreviewedZone } from "./preview.ts";
import { NO_POD, type RecordedNode } from "./preview-record.ts";
import { PREVIEW_MS_MAX, PreviewedCluster } from "./previewed-cluster.ts";
import { recoveryOf } from "./recovery.policy.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * What follows from a fault in the cluster of a snapshot. Of the `idle` policies it is known that none of their pods
 * was evicted in the minute before.
 */
export function previewOf(
  snapshot: Snapshot,
  fault: Fault,
  profile: Profile,
  idle: ReadonlySet<string> = new Set(),
): Omit<Preview, "assumes"> {
  const cluster = new PreviewedCluster(snapshot, fault, profile);
  cluster.run();
  const affected = [...cluster.record.nodes.values()].filter((node) => isAffected(node, cluster));
  const nodes = affected.map((node) => nodeReport(node, cluster)).sort(byTime);
  const zones = [...cluster.record.zones].flatMap(([zone, announced]) => zoneReport(zone, announced));
  const unknown = unknownEvictions(cluster, idle);
  const pods = affected.flatMap((node) => podReports(node, cluster, unknown)).sort(byDeletion);
  const spans = [
    ...nodes.flatMap(({ unknownAfterMs, admittedAfterMs }) => [unknownAfterMs ?? 0, admittedAfterMs ?? 0]),
    ...pods.map(({ deletedAfterMs }) => deletedAfterMs ?? 0),
  ];
  const overAfterMs = spans.reduce((latest, span) => Math.max(latest, span), 0);
  return { fault: fault.what, at: snapshot.takenAt, zones, nodes, pods, overAfterMs, unread: snapshot.unread };
}

function isAffected(node: RecordedNode, cluster: PreviewedCluster): boolean {
  const { unknownMs, admittedMs, shown } = node;
  const isHeld = cluster.record.isWaiting(shown.node) && holdOn(node, cluster) !== null;
  return unknownMs !== null || admittedMs !== null || noExecuteTaints(shown.taints).length > 0 || isHeld;
}

function nodeReport(node: RecordedNode, cluster: PreviewedCluster): PreviewedNodeReport {
  const { shown, judged, unknownMs, admittedMs } = node;
  const { pods, policies, profile, takenAt, record } = cluster;
  const alike = pods.get(shown.node) ?? [];
  const resolved = policyOf(shown, policies);
  const atOf = (ms: number | null): number | null => (ms === null ? null : takenAt + ms);
  const silent = { node: shown, unknownAt: atOf(unknownMs), taintedAt: atOf(admittedMs) };
  return {
    node: shown.node,
    zone: zoneTitleOf(judged?.zone ?? ""),
    policy: resolved.kind === "policy" ? resolved.policy.name : null,
    ...(resolved.kind === "conflict" ? { conflict: resolved.names } : {}),
    unknownAfterMs: unknownMs,
    admittedAfterMs: admittedMs,
    heldBy: record.isWaiting(shown.node) ? holdOn(node, cluster) : null,
    pods: countOf(alike),
    podsDeleted: countOf(alike.filter((each) => deletedMsOf(each, node, cluster) !== null)),
    ...(cluster.isTouched(shown.node) ? {} : { isDownAlready: true as const }),
    ...recoveryOf(silent, { policies, profile, takenAt }),
  };
}

/** What holds a node back at the end of the preview; null where the limits and freezes do not. */
function holdOn({ shown }: RecordedNode, cluster: PreviewedCluster): string | null {
  const { policies, record } = cluster;
  const { freeze } = nodeFreezeOf(shown, policies, cluster.wallMs());
  if (freeze !== null) return freeze.field;
  const resolved = policyOf(shown, policies);
  const own = resolved.kind === "policy" ? record.limits.get(resolved.policy.name) : undefined;
  const hold = (own ?? record.limits.get(WHOLE_CLUSTER))?.holds[0] ?? record.limits.get(POLICY_CEILING)?.holds[0];
  if (hold === undefined) return null;
  return `${hold.field} of ${hold.policy === WHOLE_CLUSTER ? "the cluster" : hold.policy}`;
}

/** A zone that has changed or has nodes that wait; nothing for any other. */
function zoneReport(
  zone: string,
  { first: before, last: after }: Readonly<Record<"first" | "last", BodyOf<"judged.zone">>>,
): PreviewedZone[] {
  const isSame = before.state === after.state && before.notReady === after.notReady && before.halted === after.halted;
  if (isSame && after.queueLength === 0) return [];
  const stateOf = ({ state, halted, notReady }: BodyOf<"judged.zone">) => ({
    state: halted ? ("Halted" as const) : state,
    notReady,
  });
  return [
    {
      zone: zoneTitleOf(zone),
      size: after.size,
      before: stateOf(before),
      after: { ...stateOf(after), taintsPerSecond: after.taintsPerSecond },
      waiting: after.queueLength,
    },
  ];
}

function countOf(alike: readonly AlikePods[]): number {
  return alike.reduce((count, { pods }) => count + pods.length, 0);
}

/** When pods are deleted; null for never. A countdown that was not waited for ends as published. */
function deletedMsOf(
  { first }: AlikePods,
  { shown }: RecordedNode,
  { record, policies, takenAt }: PreviewedCluster,
): number | null {
  const pod = record.pods.get(first.pod.uid);
  if (pod === undefined || pod.deletedMs !== null) return pod?.deletedMs ?? null;
  const dueMs = pod.deadlineAt === null ? 0 : pod.deadlineAt - takenAt;
  const isAhead = dueMs > record.nowMs && dueMs <= PREVIEW_MS_MAX;
  return isAhead && record.queueOf(ratedPolicyOf(shown, policies)?.name).length === 0 ? dueMs : null;
}

/** The pods whose instants are not known, by uid. */
function unknownEvictions(cluster: PreviewedCluster, idle: ReadonlySet<string>): UnknownEvictions {
  const { budgets, record } = cluster;
  const contended = budgets.flatMap(({ pods }) => [
    ...contendedTimes([...pods.keys()].map((uid) => ({ uid, ...(record.pods.get(uid) ?? NO_POD) }))),
  ]);
  return new Map([...contended, ...unknownRated(cluster, idle)]);
}

/** Those of rated policies. */
function unknownRated(cluster: PreviewedCluster, idle: ReadonlySet<string>): UnknownEvictions {
  const { record, policies, areBudgetsKnown } = cluster;
  const nodes = ratedPoliciesOf(policies).size === 0 ? [] : [...record.nodes.values()];
  const byPolicy = Map.groupBy(nodes, ({ shown }) => ratedPolicyOf(shown, policies));
  const found = [...byPolicy].flatMap(([policy, nodesOfPolicy]) => {
    if (policy === null) return [];
    const pods = nodesOfPolicy.flatMap((node) => ratedPods(node, cluster));
    const isAsking = policy.evictions?.method !== "Delete";
    const isProtected = isAsking && pods.some(({ uid }) => cluster.budgets.some((budget) => budget.pods.has(uid)));
    const areRefusalsKnown = !isAsking || areBudgetsKnown;
    return [...unknownTimes(pods, { isCountKnown: idle.has(policy.name), areRefusalsKnown, isProtected })];
  });
  return new Map(found);
}

type UnknownEvictions = ReadonlyMap<string, EarliestEviction>;

/** The pods of a node that are evicted, as far as its policy's rate lets them. */
function ratedPods(node: RecordedNode, cluster: PreviewedCluster): RatedPod[] {
  return (cluster.pods.get(node.shown.node) ?? []).flatMap((alike) => {
    const { uid } = alike.first.pod;
    const deletedMs = deletedMsOf(alike, node, cluster);
    const { requestedMs = null, refusedMs = null, waitedFor = null } = cluster.record.pods.get(uid) ?? {};
    const dueMs = requestedMs ?? deletedMs;
    if (dueMs === null) return [];
    return [{ uid, dueMs, deletedMs, refusedMs, hasWaited: waitedFor !== null, isFollowed: requestedMs !== null }];
  });
}

function podReports(node: RecordedNode, cluster: PreviewedCluster, unknown: UnknownEvictions): PreviewedPodReport[] {
  return (cluster.pods.get(node.shown.node) ?? []).flatMap((alike) => {
    const report = podReport(alike, node, cluster, unknown.get(alike.first.pod.uid));
    return alike.pods.map(({ namespace, name }) => ({ namespace, name, node: node.shown.node, ...report }));
  });
}

/** What happens to pods; `earliest` is set where its instant is not known. */
function podReport(
  alike: AlikePods,
  node: RecordedNode,
  cluster: PreviewedCluster,
  earliest: EarliestEviction | undefined,
): Omit<PreviewedPodReport, "namespace" | "name" | "node"> {
  const atMs = deletedMsOf(alike, node, cluster);
  const { why, ...how } =
    atMs === null ? { why: stayReason(alike.first.pod, node, cluster) } : deletionOf(alike, atMs, node, cluster);
  if (earliest === undefined) return { deletedAfterMs: atMs, ...how, why };
  const { earliestMs, because } = earliest;
  return {
    deletedAfterMs: atMs === null ? null : earliestMs,
    earliestAfterMs: earliestMs,
    ...("evictedBy" in how ? { evictedBy: how.evictedBy } : {}),
    why: `${why}; ${UNKNOWN_BECAUSE[because]}`,
  };
}

/** By which method pods are deleted, and why. */
function deletionOf(
  { first }: AlikePods,
  atMs: number,
  { shown }: RecordedNode,
  cluster: PreviewedCluster,
): Pick<PreviewedPodReport, "evictedBy" | "latestAfterMs" | "why"> {
  const { record, policies, profile, takenAt, refusals } = cluster;
  const pod = record.pods.get(first.pod.uid);
  const resolved = policyOf(shown, policies);
  const settings = (resolved.kind === "policy" ? resolved.policy.evictions : null) ?? UPSTREAM_EVICTIONS;
  const waits = pod?.waitedFor == null ? "" : `; waits for ${pod.waitedFor}`;
  const why = `${evictionReason(pod?.toleration ?? null, profile)}${waits}`;
  const evictedBy = settings.method;
  if (evictedBy === "Delete") return { why };
  const refusal = refusals.get(first.pod.uid);
  if (refusal !== undefined) return { evictedBy, why: `${why}; ${refusal} refuses until then, ${UNLESS_OTHERS}` };
  if (cluster.areBudgetsKnown && pod?.deletedMs != null) return { evictedBy, why };
  const { frozen } = nodeFreezeOf(shown, policies, takenAt + atMs);
  const latestAt = deleteAt(settings, { deadlineAt: takenAt + atMs, frozen });
  const unknown = `${why}; whether a disruption budget refuses is not known`;
  if (latestAt === null) return { evictedBy, why: unknown };
  const latestAfterMs = latestAt - takenAt;
  return {
    evictedBy,
    latestAfterMs,
    why: `${unknown}; if so, it goes at the latest after ${wholeSeconds(latestAfterMs)}`,
  };
}

/** What a preview does not know of a pod that a disruption budget refuses: which pods replace others, and when. */
const UNLESS_OTHERS = "unless other pods of it become ready";

function wholeSeconds(spanMs: number): string {
  return formatDuration(Math.round(spanMs / 1000) * 1000);
}

function stayReason(pod: ObservedPod, node: RecordedNode, cluster: PreviewedCluster): string {
  const { record, profile, policies } = cluster;
  const { shown } = node;
  const rated = ratedPolicyOf(shown, policies);
  // The queue names its first pods; those behind them wait too.
  const rate = rated === null || record.queueOf(rated.name).length === 0 ? null : rateText(rated);
  const recorded = record.pods.get(pod.uid);
  const held = cluster.refusals.get(pod.uid) ?? recorded?.waitedFor ?? rate ?? holdOn(node, cluster);
  return reasonToStay(pod, { taints: noExecuteTaints(shown.taints), recorded, held, profile });
}

/** The nodes in the order in which they are admitted, then become Unknown, then by name. */
function byTime(left: PreviewedNodeReport, right: PreviewedNodeReport): number {
  return (
    ordinal(left.admittedAfterMs) - ordinal(right.admittedAfterMs) ||
    ordinal(left.unknownAfterMs) - ordinal(right.unknownAfterMs) ||
    byName(left.node, right.node)
  );
}

/** The pods in the order in which they are deleted, then by name. */
function byDeletion(left: PreviewedPodReport, right: PreviewedPodReport): number {
  return (
    ordinal(left.deletedAfterMs) - ordinal(right.deletedAfterMs) ||
    byName(left.namespace, right.namespace) ||
    byName(left.name, right.name)
  );
}

function byName(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Sorts what never happens last. A difference of infinities would be no number. */
function ordinal(spanMs: number | null): number {
  return spanMs ?? Number.MAX_SAFE_INTEGER;
}
