/** Prints a preview as tables or as JSON. */
import type { DownProofKind } from "../../../protocols/names.ts";
import { apiTime } from "../../domain/api-time.ts";
import { formatDuration } from "../../domain/duration.ts";
import { countText, listText, rateText } from "../../domain/format.ts";
import { printable, printableJson } from "../../platform/process/printable.ts";
import { tableText } from "../output/text-table.ts";
import type { Preview, PreviewedNodeReport, PreviewedPodReport, PreviewedZone } from "./preview.ts";

const ZONES = ["ZONE", "STATE", "NOT READY", "EVICTION RATE", "WAITING"];
const NODES = ["NODE", "ZONE", "POLICY", "UNKNOWN", "ADMITTED", "PODS DELETED", "HELD BACK BY"];
const REMEDIES = ["NODE", "REMEDY", "EARLIEST", "CONDITION"];
const PODS = ["NAMESPACE", "POD", "NODE", "DELETED", "WHY"];
/** The columns that are left out where they are empty. */
const OPTIONAL: ReadonlySet<string> = new Set(["POLICY", "HELD BACK BY"]);

const PROOF_TEXTS: Readonly<Record<DownProofKind, string>> = {
  RemediationSucceeded: "a remediation succeeds",
  Manual: "a user runs vigil prove-down",
};

/** A preview as one JSON document. */
export function previewJson(preview: Preview): string {
  return `${printableJson(JSON.stringify(preview, null, 2))}\n`;
}

/** A preview as text: what follows, then zones, nodes and pods, each at most `limit` rows. */
export function previewText(preview: Preview, limit: number): string {
  const { fault, at, zones, unread } = preview;
  const [nodes, pods] = [preview.nodes.slice(0, limit), preview.pods.slice(0, limit)];
  const most = Math.max(preview.nodes.length, preview.pods.length);
  const parts = [
    `If ${printable(fault)} from ${apiTime(at)} on:\n${summaryText(preview)}\n`,
    table(ZONES, zones.map(zoneCells)),
    table(NODES, nodes.map(nodeCells)),
    table(REMEDIES, nodes.flatMap(remedyRows)),
    table(
      PODS,
      pods.map((pod) => [pod.namespace, pod.name, pod.node, deletedText(pod), pod.why]),
    ),
    most <= limit ? "" : `At most ${limit} rows of each are shown; --limit=${most} shows all, as does -o json.\n`,
    ...unread.map((what) => `Not known: ${what} could not be read, so this is a preview without them.\n`),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** What the fault adds in one sentence, what happens to nodes that are down already, and what is assumed. */
function summaryText({ nodes, pods, zones, overAfterMs, assumes }: Preview): string {
  const already = new Set(nodes.flatMap(({ node, isDownAlready }) => (isDownAlready === true ? [node] : [])));
  const isAdded = ({ node }: { readonly node: string }): boolean => !already.has(node);
  const [addedNodes, addedPods] = [nodes.filter(isAdded), pods.filter(isAdded)];
  const unknown = addedNodes.filter(({ unknownAfterMs }) => unknownAfterMs !== null).length;
  const deleted = addedPods.filter(isDeleted).length;
  const counts = [
    `${countText(unknown, already.size === 0 ? "node" : "more node")} would become Unknown`,
    `${addedNodes.filter(({ admittedAfterMs }) => admittedAfterMs !== null).length} would be admitted for eviction`,
    `${countText(deleted, "pod")} would be deleted and ${addedPods.filter(isStaying).length} would stay`,
  ];
  const span = afterText(overAfterMs).replace("in ", "");
  const end = nodes.length === 0 ? "nothing would follow" : `all of it within ${span}`;
  const untimed = pods.filter(({ earliestAfterMs }) => earliestAfterMs !== undefined).length;
  const without = untimed === 0 ? "" : `, but for ${countText(untimed, "pod")} without a known time`;
  const down = `${countText(already.size, "node")} ${already.size === 1 ? "is" : "are"} down or tainted already`;
  const others = countText(pods.filter(isDeleted).length - deleted, "pod");
  const before = already.size === 0 ? "" : ` ${down}, where ${others} would be deleted.`;
  const isHalted = zones.some(({ after }) => after.state === "Halted");
  const why = isHalted ? " Every zone would be disrupted, so evictions would halt." : "";
  return `${counts.join(", ")}; ${end}${without}.${before}${why}\n${assumptionText(assumes)}`;
}

function isDeleted({ deletedAfterMs }: PreviewedPodReport): boolean {
  return deletedAfterMs !== null;
}

function isStaying({ deletedAfterMs, earliestAfterMs }: PreviewedPodReport): boolean {
  return deletedAfterMs === null && earliestAfterMs === undefined;
}

function assumptionText({ source, ...assumed }: Preview["assumes"]): string {
  const rates = [assumed.nodeEvictionsPerSecond, assumed.secondaryNodeEvictionsPerSecond].map(rateText);
  const grace = formatDuration(assumed.nodeMonitorGraceMs);
  return `Where no policy sets others: a grace of ${grace}, ${rates.join(", and in a large disrupted zone ")}; by ${source}.`;
}

/** A table; empty without rows. */
function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const isShown = (_cell: string, column: number): boolean =>
    !OPTIONAL.has(headings[column] ?? "") || rows.some((row) => row[column] !== "");
  const shown = rows.map((row) => row.filter(isShown));
  return rows.length === 0 ? "" : tableText(headings.filter(isShown), shown);
}

function zoneCells({ zone, size, before, after, waiting }: PreviewedZone): string[] {
  const state = before.state === after.state ? after.state : `${before.state} → ${after.state}`;
  const rate = rateText(after.state === "Halted" ? 0 : after.taintsPerSecond);
  return [zone, state, `${before.notReady} → ${after.notReady} of ${size}`, rate, String(waiting)];
}

function nodeCells({ node, zone, policy, conflict, heldBy, ...report }: PreviewedNodeReport): string[] {
  // Policies in conflict do not apply.
  const policies = conflict === undefined ? (policy ?? "") : `${listText(conflict)} conflict`;
  const [unknown, admitted] = [report.unknownAfterMs, report.admittedAfterMs].map(afterText);
  return [node, zone, policies, unknown ?? "", admitted ?? "", `${report.podsDeleted} of ${report.pods}`, heldBy ?? ""];
}

/** What is done about the machine of a node, one row each. */
function remedyRows({ node, remediations = [], outOfService }: PreviewedNodeReport): string[][] {
  const rows = remediations.map(({ kind, createdAfterMs, isDryRun }, index) => {
    const conditions = [...(index === 0 ? [] : ["unless the one before succeeds"]), ...(isDryRun ? ["dry run"] : [])];
    return [node, kind, afterText(createdAfterMs), conditions.join("; ")];
  });
  if (outOfService === undefined) return rows;
  const proofs = outOfService.proofs.map((proof) => PROOF_TEXTS[proof]);
  return [...rows, [node, "out of service", afterText(outOfService.fromAfterMs), `once ${proofs.join(" or ")}`]];
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
