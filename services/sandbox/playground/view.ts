/** The output of the playground: its lines, its live picture on a terminal, its closing table. Pure. */
import { spanText } from "../../domain/format.ts";
import { filled } from "../../platform/process/fill.ts";
import { NODES_PER_ZONE, nodesOf, ZONES } from "./cluster.ts";
import type { Narration } from "./narration.ts";

const FULL = "█";
const EMPTY = "░";

/** A line of the story with the elapsed time, wrapped to the terminal. */
export function storyLine(elapsedMs: number, text: string, columns: number): string {
  const prefix = `${(elapsedMs / 1000).toFixed(1).padStart(6)} s  `;
  return prefix + filled(text, columns - prefix.length).join(`\n${" ".repeat(prefix.length)}`);
}

/** The zones as they are now, one line each. */
export function picture(narration: Narration): string[] {
  return ZONES.map((zone) => {
    const nodes = nodesOf(zone);
    const ready = narration.count("ready", nodes);
    const unknown = narration.count("unknown", nodes);
    const bar = FULL.repeat(ready).padEnd(NODES_PER_ZONE, EMPTY);
    const silent = unknown === 0 ? "" : `, ${unknown} Unknown`;
    return `  ${zone}  ${bar}  ${narration.stateOf(zone)}: ${ready} Ready${silent}${rateOf(narration, zone)}`;
  });
}

function rateOf(narration: Narration, zone: string): string {
  const judged = narration.zones.get(zone);
  if (judged === undefined || judged.queueLength === 0) return "";
  if (judged.taintsPerSecond === 0) return `, ${judged.queueLength} wait and none is evicted`;
  return `, ${judged.queueLength} wait for eviction`;
}

/** The closing table. */
export function closingTable(narration: Narration, elapsedMs: number): string[] {
  const { verdicts, latestMs, recoveries, evictions, writes, failedWrites } = narration.totals;
  const rows: [string, string | number][] = [
    ["nodes judged Unknown", verdicts],
    ["latest verdict past its grace", spanText(latestMs)],
    ["nodes that came back to Ready", recoveries],
    ["pods evicted", evictions],
    ["writes to the API server", writes],
    ["writes that failed", failedWrites],
    ["the story took", spanText(elapsedMs)],
  ];
  const longest = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(longest)}  ${String(value).padStart(8)}`);
}

/** Keeps a picture below the lines of a terminal, redrawn in place. */
export class LiveView {
  readonly #print: (text: string) => void;
  readonly #columns: number;
  #drawn: readonly string[] = [];

  constructor(print: (text: string) => void, columns: number) {
    this.#print = print;
    this.#columns = columns;
  }

  /** Prints a line above the picture. */
  line(text: string): void {
    this.#print(`${this.#erased()}${text}\n${this.#drawn.map((row) => `${row}\n`).join("")}`);
  }

  /** Replaces the picture. */
  draw(rows: readonly string[]): void {
    const erased = this.#erased();
    this.#drawn = rows.map((row) => row.slice(0, this.#columns - 1));
    this.#print(erased + this.#drawn.map((row) => `${row}\n`).join(""));
  }

  #erased(): string {
    return this.#drawn.length === 0 ? "" : `\u001b[${this.#drawn.length}A\u001b[0J`;
  }
}
