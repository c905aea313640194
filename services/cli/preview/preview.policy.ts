/** Runs a preview to its end and reports what happened: zones, nodes in order, and pods with their reasons. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import type { BoundPod } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { formatDuration } from "../../domain/duration.ts";
import { evictionRatesOf } from "../../domain/eviction-rates.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { deleteAt } from "../../domain/refused-eviction.ts";
import { noExecuteTaints } from "../../domain/toleration.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import { blockedBy } from "../../ledger/state/waiting-nodes.policy.ts";
import { UPSTREAM_EVICTIONS } from "../../pod-writer/eviction-method.policy.ts";
import { contendedTimes, type EarliestEviction, type PodOutcome, unknownTimes } from "./eviction-times.policy.ts";
import type { Fault } from "./fault.policy.ts";
import { evictionReason, rateText, reasonToStay } from "./pod-reasons.policy.ts";
import type { Preview, PreviewedNodeReport, PreviewedPodReport, PreviewedZone } from "./preview.ts";
import type { RecordedNode, RecordedZone } from "./preview-record.ts";
import { PREVIEW_MS_MAX, PreviewedCluster } from "./previewed-cluster.ts";
import { recoveryOf } from "./recovery.policy.ts";
import type { Snapshot } from "./snapshot.ts";

/** A node at the end of a preview, with its pods. */
interface NodeOutcome extends RecordedNode {
  readonly policy: NodePolicy | null;
  /** What freezes it, or the limit that holds it back; null for nothing. */
  readonly held: string | null;
  readonly pods: readonly BoundOutcome[];
  readonly report: PreviewedNodeReport;
}

type BoundOutcome = PodOutcome & { readonly pod: ObservedPod };

/** Limits have one owner in a preview, which is never late: what it published is true, however long ago that was. */
const NEVER_LATE_AT = 0;

/**
 * What follows from a fault in the cluster of a snapshot. No pod of an `idle` policy was evicted in the minute before.
 */
export function previewOf(
  snapshot: Snapshot,
  fault: Fault,
  profile: Profile,
  idle: ReadonlySet<string> = new Set(),
): Omit<Preview, "assumes"> {
  const cluster = new PreviewedCluster(snapshot, fault, profile);
  cluster.run();
  const podsOf = Map.groupBy(snapshot.pods, ({ node }) => node);
  const all = [...cluster.record.nodes.values()].map((node) => outcomeOf(node, podsOf.get(node.shown.node), cluster));
  const unknown = unknownEvictions(all, cluster, idle);
  const affected = all.filter(isAffected);
  const nodes = affected.map(({ report }) => report);
  const pods = affected.flatMap((node) => node.pods.map((pod) => podReport(pod, node, cluster, unknown.get(pod.uid))));
  nodes.sort(inOrderOf((each) => [each.admittedAfterMs, each.unknownAfterMs, each.node]));
  pods.sort(inOrderOf(({ deletedAfterMs, namespace, name }) => [deletedAfterMs, namespace, name]));
  const zones = [...cluster.record.zones.values()].flatMap(zoneReport);
  const spans = [
    ...nodes.flatMap(({ unknownAfterMs, admittedAfterMs }) => [unknownAfterMs, admittedAfterMs]),
    ...pods.map(({ deletedAfterMs }) => deletedAfterMs),
  ];
  const overAfterMs = spans.reduce<number>((latest, span) => Math.max(latest, span ?? 0), 0);
  return { fault: fault.what, at: snapshot.takenAt, zones, nodes, pods, overAfterMs, unread: snapshot.unread };
}

/** Sorts by the first of these keys that differs; null for an instant that never comes. */
function inOrderOf<T>(keysOf: (of: T) => readonly (number | string | null)[]): (left: T, right: T) => number {
  return (left, right) => {
    const others = keysOf(right);
    const pairs = keysOf(left).map((key, index) => [key ?? Infinity, others[index] ?? Infinity] as const);
    const [key, other] = pairs.find((pair) => pair[0] !== pair[1]) ?? [0, 0];
    return key < other ? -1 : 1;
  };
}

function outcomeOf(node: RecordedNode, bound: readonly BoundPod[] = [], cluster: PreviewedCluster): NodeOutcome {
  const { policies, record, snapshot } = cluster;
  const { shown, judged, unknownMs, admittedMs } = node;
  const resolved = policyOf(shown, policies);
  const policy = resolved.kind === "policy" ? resolved.policy : null;
  const { freeze } = nodeFreezeOf(shown, policies, snapshot.takenAt + record.nowMs);
  const hold = judged === null ? null : blockedBy({ name: shown.node }, judged, record.limits, NEVER_LATE_AT);
  const limiter = hold?.policy === WHOLE_CLUSTER ? "the cluster" : hold?.policy;
  const held = freeze?.field ?? (hold === null ? null : `${hold.field} of ${limiter}`);
  const pods = bound.map(({ pod }) => podOutcome(pod, policy, cluster));
  const report: PreviewedNodeReport = {
    node: shown.node,
    zone: zoneTitleOf(judged?.zone ?? ""),
    policy: policy?.name ?? null,
    ...(resolved.kind === "conflict" ? { conflict: resolved.names } : {}),
    unknownAfterMs: unknownMs,
    admittedAfterMs: admittedMs,
    heldBy: judged !== null && waitingTaintOf(judged) !== null ? held : null,
    pods: pods.length,
    podsDeleted: pods.filter(({ goneMs }) => goneMs !== null).length,
    ...(cluster.touched.has(shown.node) ? {} : { isDownAlready: true }),
    ...recoveryOf(node, policy, cluster),
  };
  return { ...node, policy, held, pods, report };
}

function podOutcome(pod: ObservedPod, policy: NodePolicy | null, { record, snapshot }: PreviewedCluster): BoundOutcome {
  const recorded = record.pod(pod.uid);
  const endMs = (recorded.judged?.deadlineAt ?? snapshot.takenAt) - snapshot.takenAt;
  const isPaced = policy !== null && record.queueOf(policy.name).length > 0;
  // A countdown that was not waited for ends as published, unless a rate holds pods back.
  const isAhead = endMs > record.nowMs && endMs <= PREVIEW_MS_MAX && !isPaced;
  return { ...recorded, uid: pod.uid, pod, goneMs: recorded.deletedMs ?? (isAhead ? endMs : null) };
}

function isAffected({ shown, unknownMs, admittedMs, report }: NodeOutcome): boolean {
  const isTainted = noExecuteTaints(shown.taints).length > 0;
  return unknownMs !== null || admittedMs !== null || isTainted || report.heldBy !== null;
}

/** A zone that has changed or has nodes that wait; nothing for any other. */
function zoneReport({ first, last }: RecordedZone): PreviewedZone[] {
  const isSame = first.state === last.state && first.notReady === last.notReady && first.halted === last.halted;
  if (isSame && last.queueLength === 0) return [];
  const stateOf = ({ state, halted, notReady }: BodyOf<"judged.zone">) =>
    ({ state: halted ? "Halted" : state, notReady }) as const;
  const after = { ...stateOf(last), taintsPerSecond: last.taintsPerSecond };
  return [{ zone: zoneTitleOf(last.zone), size: last.size, before: stateOf(first), after, waiting: last.queueLength }];
}

/** The pods whose instants are not known, by uid. */
function unknownEvictions(
  nodes: readonly NodeOutcome[],
  { snapshot: { budgets }, record }: PreviewedCluster,
  idle: ReadonlySet<string>,
): ReadonlyMap<string, EarliestEviction> {
  const contended = (budgets ?? []).flatMap(({ pods }) => [
    ...contendedTimes([...pods.keys()].map((uid) => ({ uid, ...record.pod(uid) }))),
  ]);
  const rated = [...Map.groupBy(nodes, ({ policy }) => policy)].flatMap(([policy, ofPolicy]) => {
    if (policy === null || evictionRatesOf(policy) === null) return [];
    const pods = ofPolicy.flatMap((node) => node.pods);
    const refusing = policy.evictions?.method === "Delete" ? [] : budgets;
    return [...unknownTimes(pods, { isIdle: idle.has(policy.name), budgets: refusing })];
  });
  return new Map([...contended, ...rated]);
}

/** What happens to a pod; `earliest` is set where its instant is not known. */
function podReport(
  outcome: BoundOutcome,
  node: NodeOutcome,
  cluster: PreviewedCluster,
  earliest: EarliestEviction | undefined,
): PreviewedPodReport {
  const { pod, goneMs } = outcome;
  const named = { namespace: pod.namespace, name: pod.name, node: node.shown.node };
  const known: PodDeletion =
    goneMs === null ? { why: stayReason(outcome, node, cluster) } : deletionOf(outcome, goneMs, node, cluster);
  if (earliest === undefined) return { ...named, deletedAfterMs: goneMs, ...known };
  const { latestAfterMs: _latestAfterMs, why, ...how } = known;
  const { earliestMs: earliestAfterMs, because } = earliest;
  const deletedAfterMs = goneMs === null ? null : earliestAfterMs;
  return { ...named, deletedAfterMs, earliestAfterMs, ...how, why: `${why}; ${because}` };
}

type PodDeletion = Pick<PreviewedPodReport, "evictedBy" | "latestAfterMs" | "why">;

/** By which method a pod is deleted, and why. */
function deletionOf(
  outcome: PodOutcome,
  goneMs: number,
  { shown, policy }: NodeOutcome,
  { policies, profile, snapshot, refusals }: PreviewedCluster,
): PodDeletion {
  const { uid, waitedFor, deletedMs } = outcome;
  const settings = policy?.evictions ?? UPSTREAM_EVICTIONS;
  const why = `${evictionReason(outcome, profile)}${waitedFor === undefined ? "" : `; waits for ${waitedFor}`}`;
  const { method: evictedBy } = settings;
  if (evictedBy === "Delete") return { why };
  const refusal = refusals.get(uid);
  // A preview does not know which pods replace others, and when.
  const others = "unless other pods of it become ready";
  if (refusal !== undefined) return { evictedBy, why: `${why}; ${refusal} refuses until then, ${others}` };
  if (snapshot.budgets !== null && deletedMs !== undefined) return { evictedBy, why };
  const deadlineAt = snapshot.takenAt + goneMs;
  const latestAt = deleteAt(settings, { deadlineAt, frozen: nodeFreezeOf(shown, policies, deadlineAt).frozen });
  const unknown = `${why}; whether a disruption budget refuses is not known`;
  if (latestAt === null) return { evictedBy, why: unknown };
  const latestAfterMs = latestAt - snapshot.takenAt;
  const latest = formatDuration(Math.round(latestAfterMs / 1000) * 1000);
  return { evictedBy, latestAfterMs, why: `${unknown}; if so, it goes at the latest after ${latest}` };
}

function stayReason(outcome: BoundOutcome, node: NodeOutcome, cluster: PreviewedCluster): string {
  const { shown, policy } = node;
  const { record, refusals, profile } = cluster;
  // The queue names its first pods; those behind them wait too.
  const rate = policy === null || record.queueOf(policy.name).length === 0 ? null : rateText(policy);
  const held = refusals.get(outcome.uid) ?? outcome.waitedFor ?? rate ?? node.held;
  return reasonToStay(outcome, { taints: noExecuteTaints(shown.taints), held, profile });
}
