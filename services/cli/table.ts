/** Tables as kubectl prints them: columns as wide as they need, three spaces between. */

/** A heading and rows as text, one line each. An empty cell is shown as `-`. */
export function tableText(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = [heading, ...rows].map((row) => row.map((cell) => (cell === "" ? "-" : cell)));
  const widths = heading.map((_, column) => Math.max(...shown.map((row) => (row[column] ?? "").length)));
  return shown
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("   ")
          .trimEnd()}\n`,
    )
    .join("");
}
