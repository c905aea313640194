/**
 * Reads growth out of the reports of benchmarks: which figures are points of which curve. Pure but for `drawCurves`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BenchReport } from "./figures.ts";
import { type Curve, type Panel, svgOf } from "./svg.ts";

const FILE = "docs/performance.svg";

/** A curve: its points are the figures whose name matches, at the size that the first group names. */
interface Source {
  readonly name: string;
  readonly bench: string;
  readonly figure: RegExp;
}

interface PanelSource extends Omit<Panel, "curves"> {
  readonly sources: readonly Source[];
}

const PANELS: readonly PanelSource[] = [
  {
    title: "CPU of a quiet cluster",
    xLabel: "nodes",
    yLabel: "cores",
    sources: [
      { name: "embedded API", bench: "steady", figure: /^(\d+) nodes, embedded API: CPU$/ },
      { name: "kube-apiserver", bench: "steady", figure: /^(\d+) nodes, kube-apiserver [\d.]+: CPU$/ },
    ],
  },
  {
    title: "Memory of a quiet cluster",
    xLabel: "nodes",
    yLabel: "MiB",
    sources: [
      { name: "embedded API", bench: "steady", figure: /^(\d+) nodes, embedded API: memory$/ },
      { name: "kube-apiserver", bench: "steady", figure: /^(\d+) nodes, kube-apiserver [\d.]+: memory$/ },
    ],
  },
  {
    title: "Lateness of verdicts",
    xLabel: "nodes",
    yLabel: "ms",
    sources: [
      { name: "p50", bench: "detect", figure: /^(\d+) nodes, embedded API, \d+ silent: verdict late, p50$/ },
      { name: "p99", bench: "detect", figure: /^(\d+) nodes, embedded API, \d+ silent: verdict late, p99$/ },
    ],
  },
  {
    title: "Deadlines of pods",
    xLabel: "deadlines",
    yLabel: "MiB",
    sources: [{ name: "memory", bench: "evict", figure: /^(\d+) deadlines: memory$/ }],
  },
];

/** The panels of which there is something to draw, from the reports there are. */
export function panelsOf(reports: readonly BenchReport[]): Panel[] {
  return PANELS.map(({ sources, ...panel }) => ({
    ...panel,
    curves: sources.map((source) => curveOf(source, reports)).filter(({ points }) => points.length > 1),
  })).filter(({ curves }) => curves.length > 0);
}

function curveOf({ name, bench, figure }: Source, reports: readonly BenchReport[]): Curve {
  const figures = reports.filter((report) => report.bench === bench).flatMap((report) => report.figures);
  const points = figures.flatMap(({ name: figureName, median }) => {
    const size = figure.exec(figureName)?.[1];
    return size === undefined || !(median > 0) ? [] : [{ x: Number(size), y: median }];
  });
  return { name, points: points.toSorted((left, right) => left.x - right.x) };
}

/** Draws what the last runs have left in a folder; returns the file, or null when there is nothing to draw. */
export function drawCurves(folder: string): string | null {
  const names = [...new Set(PANELS.flatMap(({ sources }) => sources.map(({ bench }) => bench)))];
  const files = names.map((name) => join(folder, `${name}.json`)).filter((file) => existsSync(file));
  const panels = panelsOf(files.map((file) => JSON.parse(readFileSync(file, "utf8")) as BenchReport));
  if (panels.length === 0) return null;
  writeFileSync(FILE, svgOf(panels));
  return FILE;
}
