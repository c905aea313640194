/** Reads docs/metrics.md as a table in which tests look up metrics. It checks nothing. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The top of the repository. */
export const ROOT = join(import.meta.dirname, "../..");

/** The text of a file of the repository. */
export const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The cells of every table row of a page whose first cell is code, without their backquotes. */
export function rowsOf(page: string): string[][] {
  return read(page)
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`(.*)`$/, "$1")),
    );
}

/** Type and labels of every documented metric. */
export const documented: ReadonlyMap<string, { readonly type: string; readonly labels: string }> = new Map(
  rowsOf("docs/metrics.md").map(([name = "", type = "", labels = ""]) => [name, { type, labels }]),
);

/** The metrics of ours that a text names and docs/metrics.md does not have; what a histogram appends is left out. */
export function unknownMetrics(text: string): string[] {
  return metricsIn(text).filter((name) => !documented.has(name));
}

/** The metrics of ours that a text names. */
export function metricsIn(text: string): string[] {
  const names = [...text.matchAll(/\b(?:vigil|node_collector|taint_eviction_controller)_[a-z0-9_]+/g)];
  return names.map(([name]) => (documented.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "")));
}
