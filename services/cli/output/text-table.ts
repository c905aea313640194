/** Tables as kubectl prints them: columns as wide as their cells, three spaces apart. */

import { printable } from "../../platform/process/printable.ts";

/** The columns of a table that is printed in parts: they grow with their cells and never shrink. */
export class Columns {
  #widths: readonly number[] = [];

  /** Rows as text, one line each. An empty cell is shown as `-`. */
  lines(rows: readonly (readonly string[])[]): string {
    const shown = rows.map((row) => row.map((cell) => (cell === "" ? "-" : printable(cell))));
    for (const row of shown) this.#widths = row.map((cell, column) => Math.max(cell.length, this.#widths[column] ?? 0));
    const padded = shown.map((row) => row.map((cell, column) => cell.padEnd(this.#widths[column] ?? 0)));
    return padded.map((row) => `${row.join("   ").trimEnd()}\n`).join("");
  }
}

/** A heading and rows as text, one line each. */
export function tableText(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  return new Columns().lines([heading, ...rows]);
}
