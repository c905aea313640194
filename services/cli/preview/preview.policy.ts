/** Runs a preview to its end and reports what happened: zones, nodes in order, and pods with their reasons. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { formatDuration } from "../../domain/duration.ts";
import { listText } from "../../domain/format.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { POLICY_CEILING, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import { policyOf } from "../../domain/node-policy.ts";
import {
  hasCompleted,
  noExecuteTaints,
  taintName,
  unreadableText,
  unreadableTolerationOf,
} from "../../domain/toleration.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import type { Fault } from "./fault.policy.ts";
import type { Preview, PreviewedDeletion, PreviewedNodeReport, PreviewedPodReport, PreviewedZone } from "./preview.ts";
import { PreviewedCluster } from "./previewed-cluster.ts";
import type { AlikePods, PreviewedNode } from "./previewed-node.ts";
import type { Snapshot } from "./snapshot.ts";

type ZoneAnnouncement = BodyOf<"judged.zone">;

/** What follows from a fault in the cluster of a snapshot. */
export function previewOf(snapshot: Snapshot, fault: Fault, profile: Profile): Preview {
  const down: ReadonlySet<string> = fault.kind === "down" ? fault.nodes : new Set();
  const cluster = new PreviewedCluster(snapshot, profile, down);
  const before = new Map(cluster.announced);
  if (fault.kind === "taint") cluster.taint(fault.node, fault.taint);
  cluster.run();
  const affected = [...cluster.nodes.values()].filter((node) => isAffected(node, cluster));
  const nodes = affected.map((node) => nodeReport(node, cluster)).sort(byTime);
  const zones = [...cluster.announced].flatMap(([zone, after]) => zoneReport(zone, before.get(zone), after));
  const pods = affected.flatMap((node) => podReports(node, cluster)).sort(byDeletion);
  const spans = [
    ...nodes.flatMap(({ unknownAfterMs, admittedAfterMs }) => [unknownAfterMs ?? 0, admittedAfterMs ?? 0]),
    ...pods.map(({ deletedAfterMs }) => deletedAfterMs ?? 0),
  ];
  const overAfterMs = spans.reduce((latest, span) => Math.max(latest, span), 0);
  return { fault: fault.what, at: snapshot.takenAt, zones, nodes, pods, overAfterMs, unread: snapshot.unread };
}

function isAffected(node: PreviewedNode, cluster: PreviewedCluster): boolean {
  const { name, unknownMs, taintedMs, shown, isWaiting } = node;
  const isTainted = noExecuteTaints(shown.taints).length > 0;
  const isHeld = isWaiting && holdOn(node, cluster) !== null;
  return unknownMs !== null || taintedMs !== null || cluster.drainedMs.has(name) || isTainted || isHeld;
}

function nodeReport(node: PreviewedNode, cluster: PreviewedCluster): PreviewedNodeReport {
  const { name, unknownMs, taintedMs, alikePods } = node;
  const { drainedMs, deletions, policies } = cluster;
  const deleted = alikePods.filter(({ uid }) => deletions.has(uid));
  const admittedMs = taintedMs ?? drainedMs.get(name) ?? null;
  const resolved = policyOf(node.shown, policies);
  return {
    node: name,
    zone: zoneTitleOf(node.actor?.zone ?? ""),
    policy: resolved.kind === "policy" ? resolved.policy.name : null,
    ...(resolved.kind === "conflict" ? { conflict: resolved.names } : {}),
    unknownAfterMs: unknownMs,
    admittedAfterMs: admittedMs,
    heldBy: node.isWaiting ? holdOn(node, cluster) : null,
    pods: countOf(alikePods),
    podsDeleted: countOf(deleted),
    ...cluster.recoveryOf(node),
  };
}

/** What holds a node back at the end of the preview; null where the limits and freezes do not. */
function holdOn({ shown }: PreviewedNode, { policies, limits, clock }: PreviewedCluster): string | null {
  const { freeze } = nodeFreezeOf(shown, policies, clock.wallMs());
  if (freeze !== null) return freeze.field;
  const resolved = policyOf(shown, policies);
  const own = resolved.kind === "policy" ? limits.get(resolved.policy.name) : undefined;
  const hold = (own ?? limits.get(WHOLE_CLUSTER))?.holds[0] ?? limits.get(POLICY_CEILING)?.holds[0];
  if (hold === undefined) return null;
  return `${hold.field} of ${hold.policy === WHOLE_CLUSTER ? "the cluster" : hold.policy}`;
}

/** A zone that has changed or has nodes that wait; nothing for any other. */
function zoneReport(
  zone: string,
  before: ZoneAnnouncement | undefined,
  after: ZoneAnnouncement | undefined,
): PreviewedZone[] {
  if (before === undefined || after === undefined) return [];
  const isSame = before.state === after.state && before.notReady === after.notReady && before.halted === after.halted;
  if (isSame && after.queueLength === 0) return [];
  const stateOf = ({ state, halted, notReady }: ZoneAnnouncement) => ({
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

function podReports(node: PreviewedNode, cluster: PreviewedCluster): PreviewedPodReport[] {
  const held = holdOn(node, cluster);
  return node.alikePods.flatMap(({ uid, pods: alike }) => {
    const deletion = cluster.deletions.get(uid);
    const hold = { held: cluster.waitsFor(uid) ?? held, isDue: cluster.isCountingDown(uid) };
    const why = deletion === undefined ? stayReason(alike[0], node, cluster, hold) : deletionReason(deletion);
    const outcome =
      deletion === undefined ? { deletedAfterMs: null } : { deletedAfterMs: deletion.atMs, ...methodOf(deletion) };
    return alike.map(({ namespace, name }) => ({ namespace, name, node: node.name, ...outcome, why }));
  });
}

function methodOf({ method, latestMs }: PreviewedDeletion): Pick<PreviewedPodReport, "evictedBy" | "latestAfterMs"> {
  if (method === "Delete") return {};
  return { evictedBy: method, ...(latestMs === null ? {} : { latestAfterMs: latestMs }) };
}

function deletionReason(deletion: PreviewedDeletion): string {
  const { method, latestMs, waitedFor } = deletion;
  const why = `${evictionReason(deletion)}${waitedFor === null ? "" : `; waits for ${waitedFor}`}`;
  if (method === "Delete") return why;
  const refused = latestMs === null ? "" : `, until ${wholeSeconds(latestMs)} have passed`;
  return `${why}; a disruption budget may refuse${refused}`;
}

function wholeSeconds(spanMs: number): string {
  return formatDuration(Math.round(spanMs / 1000) * 1000);
}

function evictionReason({ toleration }: PreviewedDeletion): string {
  if (toleration === null) return "its node is drained";
  const seconds = Math.max(0, toleration.seconds ?? 0);
  return `does not tolerate ${taintName(toleration.taint)}${seconds === 0 ? "" : ` for more than ${seconds} s`}`;
}

function stayReason(
  pod: ObservedPod | undefined,
  node: PreviewedNode,
  cluster: PreviewedCluster,
  { held, isDue }: { readonly held: string | null; readonly isDue: boolean },
): string {
  if (pod === undefined) return "";
  if (hasCompleted(pod)) return `has completed (${pod.phase})`;
  if (pod.deletionAt !== null) return "is terminating already";
  const taints = noExecuteTaints(node.shown.taints);
  const unreadable = unreadableTolerationOf(taints, pod.tolerations, cluster.tolerationRules);
  if (isDue && taints.length > 0 && held !== null) return `held back by ${held}`;
  if (unreadable !== null)
    return `may tolerate ${taintName(unreadable.taint)}: ${unreadableText(unreadable.toleration)}`;
  if (taints.length > 0) return `tolerates ${listText(taints.map(taintName))}`;
  if (pod.owner === "DaemonSet") return "belongs to a DaemonSet";
  return `its node is not admitted for eviction${held === null ? "" : `: ${held}`}`;
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
