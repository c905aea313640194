/** Prints a comparison as tables, as JSON, or as a page in Markdown for a change request. */
import type { ComparisonReport } from "../../../protocols/ledger-reader.ts";
import { apiTime } from "../../domain/api-time.ts";
import { countText, listText, spanText } from "../../domain/format.ts";
import { printable } from "../../platform/process/printable.ts";
import { jsonText } from "../get/get-printer.ts";
import { tableText } from "../output/text-table.ts";
import { authorlessOf, differencesOf, isOtherSeen, stepCounts } from "./comparison-summary.policy.ts";

/** The output formats. */
export const COMPARISON_OUTPUTS = ["table", "json", "markdown"] as const;

/** Gaps of the record that are printed, the last ones. */
const GAPS_MAX = 3;
/** Rows of differences that are printed; JSON has all of them. */
const DIFFERENCES_MAX = 100;
const ALONE = ["STEP", "VIGIL"];
const COLUMNS = ["STEP", "BOTH", "VIGIL ONLY", "OTHERS ONLY", "LEAD P50", "LEAD P99"];
const DIFFERENCES = ["AT", "OBJECT", "STEP", "BY", "WHY", "ID"];

const LEADS = " A lead is how much later the others did the same; it is negative where they were earlier.";

/** A comparison in one of the formats. */
export function comparisonText(report: ComparisonReport, output: string): string {
  if (output === "json") {
    const document = {
      ...report,
      isOtherSeen: isOtherSeen(report),
      figures: stepCounts(report),
      differences: differencesOf(report),
    };
    return jsonText(document);
  }
  const isPage = output === "markdown";
  const head = isPage ? `# Vigil compared with upstream\n\n${headText(report)}` : headText(report);
  const table = isPage ? markdownTable : tableText;
  if (!isOtherSeen(report)) return [head, table(ALONE, aloneRows(report)), NO_OTHER].join("\n");
  const rows = differenceRows(report);
  const shown = rows.slice(0, DIFFERENCES_MAX);
  return [
    head,
    table(COLUMNS, countRows(report)),
    ...(shown.length === 0 ? ["Both sides did the same.\n"] : [table(DIFFERENCES, shown)]),
    ...(shown.length === rows.length ? [] : [`${rows.length - shown.length} more are in -o json.\n`]),
  ].join("\n");
}

const NO_OTHER = "No other controller was seen: nothing that the API showed was another client's.\n";

function headText(report: ComparisonReport): string {
  const { from, at, isCut, nodes } = report;
  const start = isCut ? ", the start of the record" : "";
  const failures = countText(nodes.length, "failed or tainted node");
  return [
    `From ${apiTime(from)}${start}, to ${apiTime(at)}: ${failures}.${isOtherSeen(report) ? LEADS : ""}`,
    ...limitTexts(report),
    ...authorTexts(report),
    "",
  ].join("\n");
}

/** What the API shows without an author. */
function authorTexts(report: ComparisonReport): string[] {
  const count = authorlessOf(report);
  return count === 0 ? [] : [`Nothing shows who took ${countText(count, "step")} more.`];
}

/** What the record cannot contain. */
function limitTexts({ isKept, gaps, ownPodsFrom }: ComparisonReport): string[] {
  const shown = gaps.slice(-GAPS_MAX).map(({ from, to }) => `from ${apiTime(from)} to ${apiTime(to)}`);
  const more = gaps.length > shown.length ? ` and ${gaps.length - shown.length} times before` : "";
  return [
    ...(isKept ? [] : ["It begins again when Vigil restarts, because JetStream does not keep it."]),
    ...(ownPodsFrom === undefined
      ? []
      : [`Of pods it has what Vigil did from ${apiTime(ownPodsFrom)} on, and no more.`]),
    ...(gaps.length === 0 ? [] : [`No ledger ran ${listText(shown)}${more}.`]),
  ];
}

function countRows(report: ComparisonReport): string[][] {
  return stepCounts(report).map(({ what, both, vigilOnly, othersOnly, leadP50Ms, leadP99Ms }) => [
    what,
    String(both),
    String(vigilOnly),
    String(othersOnly),
    leadText(leadP50Ms),
    leadText(leadP99Ms),
  ]);
}

/** What Vigil did, or in shadow mode would have done. */
function aloneRows(report: ComparisonReport): string[][] {
  return stepCounts(report).map(({ what, vigilOnly }) => [what, String(vigilOnly)]);
}

function differenceRows(report: ComparisonReport): string[][] {
  return differencesOf(report).map(({ at, object, what, side, why, id }) => [apiTime(at), object, what, side, why, id]);
}

function leadText(leadMs: number | null): string {
  if (leadMs === null) return "";
  return leadMs < 0 ? `-${spanText(-leadMs)}` : spanText(leadMs);
}

function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => printable(cell).replaceAll("|", "\\|")).join(" | ")} |\n`;
  return [line(heading), `|${heading.map(() => "---|").join("")}\n`, ...rows.map(line)].join("");
}
