/** Prints a preview as tables or as JSON. */
import type { DownProofKind } from "../../../protocols/names.ts";
import { apiTime } from "../../domain/api-time.ts";
import { formatDuration } from "../../domain/duration.ts";
import { countText, listText, rateText } from "../../domain/format.ts";
import { printable, printableJson } from "../../platform/process/printable.ts";
import { tableText } from "../output/text-table.ts";
import type {
  Preview,
  PreviewedNodeReport,
  PreviewedOutOfService,
  PreviewedPodReport,
  PreviewedZone,
} from "./preview.ts";

/** A preview as one JSON document. */
export function previewJson(preview: Preview): string {
  return `${printableJson(JSON.stringify(preview, null, 2))}\n`;
}

/** A preview as text: what follows, then zones, nodes and pods, each at most `limit` rows. */
export function previewText(preview: Preview, limit: number): string {
  const { fault, at, zones, nodes, pods, unread } = preview;
  const parts = [
    `If ${printable(fault)} from ${apiTime(at)} on:\n${summaryText(preview)}\n`,
    zones.length === 0
      ? ""
      : tableText(["ZONE", "STATE", "NOT READY", "EVICTION RATE", "WAITING"], zones.map(zoneCells)),
    nodes.length === 0 ? "" : nodesText(nodes.slice(0, limit)),
    recoveryText(nodes.slice(0, limit)),
    pods.length === 0
      ? ""
      : tableText(
          ["NAMESPACE", "POD", "NODE", "DELETED", "WHY"],
          pods.slice(0, limit).map((pod) => [pod.namespace, pod.name, pod.node, deletedText(pod), pod.why]),
        ),
    moreText(preview, limit),
    ...unread.map((what) => `Not known: ${what} could not be read, so this is a preview without them.\n`),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** What the fault adds in one sentence, what happens to nodes that are down already, and what is assumed. */
function summaryText({ nodes: all, pods: allPods, zones, overAfterMs, assumes }: Preview): string {
  const already = new Set(all.flatMap(({ node, isDownAlready }) => (isDownAlready === true ? [node] : [])));
  const nodes = all.filter(({ node }) => !already.has(node));
  const pods = allPods.filter(({ node }) => !already.has(node));
  const deleted = deletedIn(pods);
  const admitted = nodes.filter(({ admittedAfterMs }) => admittedAfterMs !== null).length;
  const halted = zones.some(({ after }) => after.state === "Halted");
  const unknown = nodes.filter(({ unknownAfterMs }) => unknownAfterMs !== null).length;
  const counts = [
    `${countText(unknown, already.size === 0 ? "node" : "more node")} would become Unknown`,
    `${admitted} would be admitted for eviction`,
    `${countText(deleted, "pod")} would be deleted and ${pods.filter(isStaying).length} would stay`,
  ];
  const down = `${countText(already.size, "node")} ${already.size === 1 ? "is" : "are"} down or tainted already`;
  const others =
    already.size === 0 ? "" : ` ${down}, where ${countText(deletedIn(allPods) - deleted, "pod")} would be deleted.`;
  const end =
    all.length === 0 ? "nothing would follow" : `all of it within ${afterText(overAfterMs).replace("in ", "")}`;
  const unknownTimes = allPods.filter(({ earliestAfterMs }) => earliestAfterMs !== undefined).length;
  const without = unknownTimes === 0 ? "" : `, but for ${countText(unknownTimes, "pod")} without a known time`;
  const why = halted ? " Every zone would be disrupted, so evictions would halt." : "";
  return `${counts.join(", ")}; ${end}${without}.${others}${why}\n${assumptionText(assumes)}`;
}

function deletedIn(pods: Preview["pods"]): number {
  return pods.filter(({ deletedAfterMs }) => deletedAfterMs !== null).length;
}

function isStaying({ deletedAfterMs, earliestAfterMs }: PreviewedPodReport): boolean {
  return deletedAfterMs === null && earliestAfterMs === undefined;
}

function assumptionText({ source, ...assumed }: Preview["assumes"]): string {
  const rates = [assumed.nodeEvictionsPerSecond, assumed.secondaryNodeEvictionsPerSecond].map(rateText);
  const grace = formatDuration(assumed.nodeMonitorGraceMs);
  return `Where no policy sets others: a grace of ${grace}, ${rates.join(", and in a large disrupted zone ")}; by ${source}.`;
}

/** The nodes; with policies, and what holds nodes back, where there are any. */
function nodesText(nodes: readonly PreviewedNodeReport[]): string {
  const hasPolicies = nodes.some((report) => policyText(report) !== "");
  const isAnyHeld = nodes.some(({ heldBy }) => heldBy !== null);
  const heading = ["NODE", "ZONE", ...(hasPolicies ? ["POLICY"] : []), "UNKNOWN", "ADMITTED", "PODS DELETED"];
  const rows = nodes.map((report) => [
    report.node,
    report.zone,
    ...(hasPolicies ? [policyText(report)] : []),
    afterText(report.unknownAfterMs),
    afterText(report.admittedAfterMs),
    `${report.podsDeleted} of ${report.pods}`,
    ...(isAnyHeld ? [report.heldBy ?? ""] : []),
  ]);
  return tableText([...heading, ...(isAnyHeld ? ["HELD BACK BY"] : [])], rows);
}

/** The policy of a node; empty for none. A node in a conflict has none. */
function policyText({ policy, conflict }: Pick<PreviewedNodeReport, "policy" | "conflict">): string {
  return conflict === undefined ? (policy ?? "") : `${listText(conflict)} conflict`;
}

/** What is done about the machines of nodes; empty for nothing. */
function recoveryText(nodes: readonly PreviewedNodeReport[]): string {
  const rows = nodes.flatMap(({ node, remediations = [], outOfService }) => [
    ...remediations.map(({ kind, createdAfterMs, isDryRun }, index) => {
      const conditions = [index === 0 ? "" : "unless the one before succeeds", isDryRun ? "dry run" : ""];
      return [node, kind, afterText(createdAfterMs), conditions.filter((text) => text !== "").join("; ")];
    }),
    ...(outOfService === undefined
      ? []
      : [[node, "out of service", afterText(outOfService.fromAfterMs), proofText(outOfService)]]),
  ]);
  return rows.length === 0 ? "" : tableText(["NODE", "REMEDY", "EARLIEST", "CONDITION"], rows);
}

const PROOF_TEXTS: Readonly<Record<DownProofKind, string>> = {
  RemediationSucceeded: "a remediation succeeds",
  Manual: "somebody runs vigil prove-down",
};

function proofText({ proofs }: PreviewedOutOfService): string {
  return `once ${proofs.map((proof) => PROOF_TEXTS[proof]).join(" or ")}`;
}

function zoneCells({ zone, size, before, after, waiting }: PreviewedZone): string[] {
  const state = before.state === after.state ? after.state : `${before.state} → ${after.state}`;
  const rate = rateText(after.state === "Halted" ? 0 : after.taintsPerSecond);
  return [zone, state, `${before.notReady} → ${after.notReady} of ${size}`, rate, String(waiting)];
}

/** An instant as its distance from the start, in whole seconds; empty for none. */
function afterText(afterMs: number | null): string {
  return afterMs === null ? "" : `in ${formatDuration(Math.round(afterMs / 1000) * 1000)}`;
}

/** When a pod is deleted, as far as is known. An earliest instant is never rounded up. */
function deletedText(pod: PreviewedPodReport): string {
  const { deletedAfterMs, earliestAfterMs } = pod;
  if (deletedAfterMs === null) return isStaying(pod) ? "stays" : "not known";
  if (earliestAfterMs === undefined) return afterText(deletedAfterMs);
  return `in ${formatDuration(Math.floor(earliestAfterMs / 1000) * 1000)} at the earliest`;
}

function moreText({ nodes, pods }: Preview, limit: number): string {
  const most = Math.max(nodes.length, pods.length);
  return most <= limit ? "" : `At most ${limit} rows of each are shown; --limit=${most} shows all, as does -o json.\n`;
}
