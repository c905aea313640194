/**
 * The table that a suite of outages prints: which pods and taints each controller removed, when, and whether that was
 * right. Pure.
 */

/** Pods or taints with the same expectation in one case, and which of them one controller removed. */
export interface Removals {
  /** What could be removed, such as `pods of nodes that came back`. */
  readonly what: string;
  readonly count: number;
  /** When each removed one was removed, in whole seconds after what `since` names. */
  readonly seconds: readonly number[];
  /** What `seconds` counts from, such as `/readyz`. */
  readonly since: string;
  /** When all of them have to be removed, in the same seconds; null where none may be. */
  readonly due: { readonly fromSeconds: number; readonly toSeconds: number } | null;
  /** Whether upstream's controller is known to fail at this, so that its result is only printed. */
  readonly failsUpstream?: boolean;
}

/** Whether the controller removed what it had to, in time, and nothing else. */
export function isRight({ count, seconds, due }: Removals): boolean {
  if (due === null) return seconds.length === 0;
  const isInTime = (second: number) => second >= due.fromSeconds && second <= due.toSeconds;
  return seconds.length === count && seconds.every(isInTime);
}

/** The lines of the table, from removals by controller. */
export function removalTable(title: string, removals: ReadonlyMap<string, readonly Removals[]>): string {
  const head = ["case", "controller", "what", "removed", "when", "expected", "result"];
  const rows = [...removals].flatMap(([controller, each]) => each.map((row) => [title, controller, ...cellsOf(row)]));
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...rows.map(line)].join("\n");
}

function cellsOf(removals: Removals): string[] {
  const { what, count, seconds, since, due } = removals;
  const sorted = seconds.toSorted((left, right) => left - right);
  return [
    what,
    `${seconds.length} of ${count}`,
    sorted.length === 0 ? "-" : `${sorted.join(", ")} s after ${since}`,
    due === null ? "none" : `all, ${due.fromSeconds} to ${due.toSeconds} s`,
    isRight(removals) ? "right" : "WRONG",
  ];
}
