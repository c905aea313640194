/** The numbers of a benchmark: a summary over several runs, and the machine. It measures nothing. */
import { availableParallelism, cpus, totalmem } from "node:os";

/** One measurement of one benchmark, over its runs. */
export interface Measurement {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** How long was waited for what never happened, which counts as infinitely late. */
  readonly within?: number;
}

/** The result of a benchmark. */
export interface BenchReport {
  readonly bench: string;
  /** The load, with its sizes. */
  readonly load: string;
  /** What is left out before the first measurement, and how much is measured then. */
  readonly warmUp?: string;
  readonly measurements: readonly Measurement[];
  /** Pictures as SVG, by name. */
  readonly drawings?: Readonly<Record<string, string>>;
}

/** The machine of the measurements. */
export function machine(): Readonly<Record<string, string | number>> {
  const gibibytes = Math.round(totalmem() / 1024 ** 3);
  return { cores: availableParallelism(), cpu: cpus()[0]?.model ?? "unknown", gibibytes, node: process.version };
}

/** The smallest value that a share of the values does not exceed; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The median of the values; of an even number the mean of the middle two; NaN of none. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(at)] ?? Number.NaN) + (sorted[Math.ceil(at)] ?? Number.NaN)) / 2;
}

/** The mean of the values; NaN of none. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A measurement from the values of several runs. */
export function measurement(name: string, unit: string, runs: readonly number[]): Measurement {
  return { name, unit, median: median(runs), least: Math.min(...runs), most: Math.max(...runs) };
}

/** The p50 and the p99 of each run, over the runs; `within` is how long was waited. */
export function quantiles(
  name: string,
  unit: string,
  runs: readonly (readonly number[])[],
  within?: number,
): Measurement[] {
  return [0.5, 0.99].map((share) => ({
    ...measurement(
      `${name}, p${share * 100}`,
      unit,
      runs.map((values) => quantile(values, share)),
    ),
    ...(within !== undefined && { within }),
  }));
}

/** Values and, for each of what was expected and did not happen, infinity. */
export function withMissing(values: readonly number[], expected: number): readonly number[] {
  const missing = { length: Math.max(0, expected - values.length) };
  return [...values, ...Array.from(missing, () => Number.POSITIVE_INFINITY)];
}

/** A report as a table for a person. */
export function tableOf({ bench, load, warmUp, measurements }: BenchReport): string {
  const rows = measurements.map(({ name, unit, median, least, most, within }) => [
    name,
    `${short(median, within)} ${unit}`,
    least === most ? "" : `${short(least, within)} to ${short(most, within)}`,
  ]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const lines = rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd(),
  );
  const title = [`${bench}: ${load}`, ...(warmUp === undefined ? [] : [`warm-up ${warmUp}`])].join("; ");
  return [title, ...lines].join("\n");
}

function short(value: number, within?: number): string {
  if (value === Number.POSITIVE_INFINITY) return within === undefined ? "not in time" : `not within ${within}`;
  if (Number.isNaN(value)) return "not known";
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
