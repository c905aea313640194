/** Prints a preview as text. */
import type { DownProofKind } from "../../../protocols/names.ts";
import { apiTime } from "../../domain/api-time.ts";
import { formatDuration } from "../../domain/duration.ts";
import { countText, listText, rateText } from "../../domain/format.ts";
import { printable } from "../../platform/process/printable.ts";
import { tableText } from "../output/text-table.ts";
import type { Preview, PreviewedNodeReport, PreviewedPodReport, PreviewedZone } from "./preview.ts";

const ZONES = ["ZONE", "STATE", "NOT READY", "EVICTION RATE", "WAITING"];
const NODES = ["NODE", "ZONE", "POLICY", "UNKNOWN", "ADMITTED", "PODS DELETED", "HELD BACK BY"];
const REMEDIES = ["NODE", "REMEDY", "EARLIEST", "CONDITION"];
const PODS = ["NAMESPACE", "POD", "NODE", "DELETED", "WHY"];
/** The columns that are left out where they are empty. */
const OPTIONAL: ReadonlySet<string> = new Set(["POLICY", "HELD BACK BY"]);
/** Of a pod that is not deleted, as far as is known. */
const STAYS = "stays";

const PROOF_TEXTS: Readonly<Record<DownProofKind, string>> = {
  RemediationSucceeded: "a remediation succeeds",
  Manual: "a user runs vigil prove-down",
};

/** A preview as text: what follows, then zones, nodes and pods, each at most `limit` rows. */
export function previewText(preview: Preview, limit: number): string {
  const { fault, at, zones, unread } = preview;
  const nodes = preview.nodes.slice(0, limit);
  const pods = preview.pods
    .slice(0, limit)
    .map((pod) => [pod.namespace, pod.name, pod.node, deletedText(pod), pod.why]);
  const most = Math.max(preview.nodes.length, preview.pods.length);
  const parts = [
    `If ${printable(fault)} from ${apiTime(at)} on:\n${summaryText(preview)}\n`,
    table(ZONES, zones.map(zoneCells)),
    table(NODES, nodes.map(nodeCells)),
    table(REMEDIES, nodes.flatMap(remedyRows)),
    table(PODS, pods),
    most <= limit ? "" : `At most ${limit} rows of each are shown; --limit=${most} shows all, as does -o json.\n`,
    ...unread.map((what) => `Not known: ${what} could not be read, so this is a preview without them.\n`),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** What the fault adds in one sentence, what happens to nodes that are down already, and what is assumed. */
function summaryText({ nodes, pods, zones, overAfterMs, assumes }: Preview): string {
  const already = new Set(nodes.filter(({ isDownAlready }) => isDownAlready).map(({ node }) => node));
  const isAdded = ({ node }: { readonly node: string }): boolean => !already.has(node);
  const [addedNodes, addedPods] = [nodes.filter(isAdded), pods.filter(isAdded)];
  const unknown = addedNodes.filter(({ unknownAfterMs }) => unknownAfterMs !== null).length;
  const isDeleted = ({ deletedAfterMs }: PreviewedPodReport): boolean => deletedAfterMs !== null;
  const deleted = addedPods.filter(isDeleted).length;
  const staying = addedPods.filter((pod) => deletedText(pod) === STAYS).length;
  const counts = [
    `${countText(unknown, already.size === 0 ? "node" : "more node")} would become Unknown`,
    `${addedNodes.filter(({ admittedAfterMs }) => admittedAfterMs !== null).length} would be admitted for eviction`,
    `${countText(deleted, "pod")} would be deleted and ${staying} would stay`,
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
  const rates = [assumes.nodeEvictionsPerSecond, assumes.secondaryNodeEvictionsPerSecond].map(rateText);
  const grace = `a grace of ${formatDuration(assumes.nodeMonitorGraceMs)}`;
  const assumed = `${grace}, ${rates.join(", and in a large disrupted zone ")}; by ${assumes.source}`;
  return `${counts.join(", ")}; ${end}${without}.${before}${why}\nWhere no policy sets others: ${assumed}.`;
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
  const spans = [afterText(report.unknownAfterMs), afterText(report.admittedAfterMs)];
  return [node, zone, policies, ...spans, `${report.podsDeleted} of ${report.pods}`, heldBy ?? ""];
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
function deletedText({ deletedAfterMs, earliestAfterMs }: PreviewedPodReport): string {
  if (earliestAfterMs === undefined) return deletedAfterMs === null ? STAYS : afterText(deletedAfterMs);
  if (deletedAfterMs === null) return "not known";
  return `${afterText(Math.floor(earliestAfterMs / 1000) * 1000)} at the earliest`;
}
