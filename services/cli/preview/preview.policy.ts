/** Runs a preview to its end and reports what happened: zones, nodes in order, and pods with their reasons. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { listText } from "../../domain/format.ts";
import { hasCompleted, noExecuteTaints, taintName } from "../../domain/toleration.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import type { Fault } from "./fault.policy.ts";
import type { Preview, PreviewedNodeReport, PreviewedPodReport, PreviewedZone } from "./preview.ts";
import { PreviewedCluster } from "./previewed-cluster.ts";
import type { PreviewedNode } from "./previewed-node.ts";
import type { Snapshot } from "./snapshot.ts";

type ZoneAnnouncement = BodyOf<"judged.zone">;

/** What follows from a fault in the cluster of a snapshot. */
export function previewOf(snapshot: Snapshot, fault: Fault, profile: Profile): Preview {
  const down: ReadonlySet<string> = fault.kind === "down" ? fault.nodes : new Set();
  const cluster = new PreviewedCluster(snapshot, profile, down);
  const before = new Map([...cluster.announcements].map(([zone, announced]) => [zone, announced.at(-1)]));
  if (fault.kind === "taint") cluster.taint(fault.node, fault.taint);
  cluster.run();
  const affected = [...cluster.nodes.values()].filter((node) => isAffected(node, cluster));
  const nodes = affected.map((node) => nodeReport(node, cluster)).sort(byTime);
  const zones = [...cluster.announcements].flatMap(([zone, announced]) =>
    zoneReport(zone, before.get(zone) ?? announced[0], announced.at(-1)),
  );
  const pods = affected.flatMap((node) => node.pods.map((pod) => podReport(pod, node, cluster))).sort(byDeletion);
  const spans = [
    ...nodes.flatMap(({ unknownAfterMs, admittedAfterMs }) => [unknownAfterMs ?? 0, admittedAfterMs ?? 0]),
    ...pods.map(({ deletedAfterMs }) => deletedAfterMs ?? 0),
  ];
  const overAfterMs = spans.reduce((latest, span) => Math.max(latest, span), 0);
  return { fault: fault.what, at: snapshot.takenAt, zones, nodes, pods, overAfterMs };
}

function isAffected({ name, unknownMs, taintedMs, shown }: PreviewedNode, { drainedMs }: PreviewedCluster): boolean {
  const isTainted = noExecuteTaints(shown.taints).length > 0;
  return unknownMs !== null || taintedMs !== null || drainedMs.has(name) || isTainted;
}

function nodeReport(node: PreviewedNode, { drainedMs, deletions }: PreviewedCluster): PreviewedNodeReport {
  const { name, unknownMs, taintedMs, pods } = node;
  return {
    node: name,
    zone: zoneTitleOf(node.actor?.zone ?? ""),
    unknownAfterMs: unknownMs,
    admittedAfterMs: taintedMs ?? drainedMs.get(name) ?? null,
    pods: pods.length,
    podsDeleted: pods.filter(({ uid }) => deletions.has(uid)).length,
  };
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

function podReport(pod: ObservedPod, node: PreviewedNode, { deletions }: PreviewedCluster): PreviewedPodReport {
  const { namespace, name, uid } = pod;
  const deletion = deletions.get(uid);
  const where = { namespace, name, node: node.name };
  if (deletion === undefined) return { ...where, deletedAfterMs: null, why: stayReason(pod, node) };
  const taint = deletion.taint === null ? null : taintName(deletion.taint);
  const why =
    taint === null ? "its node is drained" : `does not tolerate ${taint}${toleratedText(deletion.atMs, node)}`;
  return { ...where, deletedAfterMs: deletion.atMs, why };
}

/** How long the pod has tolerated the taint, counted from the taint of its node; empty when not at all. */
function toleratedText(atMs: number, { taintedMs }: PreviewedNode): string {
  const seconds = taintedMs === null ? 0 : Math.round((atMs - taintedMs) / 1000);
  return seconds > 1 ? ` for more than ${seconds} s` : "";
}

function stayReason(pod: ObservedPod, node: PreviewedNode): string {
  if (hasCompleted(pod)) return `has completed (${pod.phase})`;
  if (pod.deletionAt !== null) return "is terminating already";
  const taints = noExecuteTaints(node.shown.taints).map(taintName);
  if (taints.length > 0) return `tolerates ${listText(taints)}`;
  return pod.owner === "DaemonSet" ? "belongs to a DaemonSet" : "its node is not admitted for eviction";
}

function byTime(left: PreviewedNodeReport, right: PreviewedNodeReport): number {
  return (
    ordinal(left.admittedAfterMs) - ordinal(right.admittedAfterMs) ||
    ordinal(left.unknownAfterMs) - ordinal(right.unknownAfterMs) ||
    (left.node < right.node ? -1 : 1)
  );
}

function byDeletion(left: PreviewedPodReport, right: PreviewedPodReport): number {
  const names = [left, right].map(({ namespace, name }) => `${namespace}/${name}`);
  return ordinal(left.deletedAfterMs) - ordinal(right.deletedAfterMs) || ((names[0] ?? "") < (names[1] ?? "") ? -1 : 1);
}

/** Sorts what never happens last. A difference of infinities would be no number. */
function ordinal(spanMs: number | null): number {
  return spanMs ?? Number.MAX_SAFE_INTEGER;
}
