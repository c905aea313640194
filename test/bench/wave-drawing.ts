/**
 * Draws waves of evictions one above the other on one time axis, as SVG: each pod is a line from left to right, in the
 * order of the deletions, coloured by the stage that it is in.
 */
import { STAGES, type StagedEviction } from "./wave-stages.ts";

/** A wave under its heading. */
export interface DrawnWave {
  readonly heading: string;
  readonly evictions: readonly StagedEviction[];
}

const WIDTH = 760;
const LEFT = 16;
const PANEL_HEIGHT = 150;
const HEADING_HEIGHT = 26;
const LEGEND_HEIGHT = 34;
const AXIS_HEIGHT = 24;
/** By stage; light and dark enough for either theme on the white ground. */
const COLOURS = ["#d0d5dd", "#e8a33d", "#98a2b3", "#3b7dd8"] as const;
const TICK_MS = 1_000;

/** The drawing; an eviction that began before it was due begins at zero. */
export function drawWaves(waves: readonly DrawnWave[]): string {
  const lastMs = Math.max(TICK_MS, ...waves.flatMap(({ evictions }) => evictions.map(([, , , deleted]) => deleted)));
  const perMs = (WIDTH - 2 * LEFT) / lastMs;
  const panels = waves.map((wave, index) =>
    panelOf(wave, LEGEND_HEIGHT + index * (PANEL_HEIGHT + HEADING_HEIGHT), perMs),
  );
  const bottom = LEGEND_HEIGHT + waves.length * (PANEL_HEIGHT + HEADING_HEIGHT);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + AXIS_HEIGHT}" font-family="sans-serif">`,
    `<rect width="${WIDTH}" height="${bottom + AXIS_HEIGHT}" fill="#fff"/>`,
    ...STAGES.map((stage, index) => legendOf(stage, index)),
    ...panels,
    ...axisOf(lastMs, perMs, bottom),
    "</svg>",
    "",
  ].join("\n");
}

function legendOf(stage: string, index: number): string {
  const x = LEFT + index * 120;
  return (
    `<rect x="${x}" y="12" width="12" height="12" fill="${COLOURS[index]}"/>` +
    `<text x="${x + 18}" y="22" font-size="12">${stage}</text>`
  );
}

function panelOf({ heading, evictions }: DrawnWave, top: number, perMs: number): string {
  const from = top + HEADING_HEIGHT;
  const rowHeight = PANEL_HEIGHT / Math.max(1, evictions.length);
  const width = (ms: number): number => Math.round(Math.max(0, ms) * perMs);
  const lines = STAGES.map((_, stage) => {
    const parts = evictions.map((ends, row) => {
      const begin = width(ends[stage - 1] ?? 0);
      const y = (from + (row + 0.5) * rowHeight).toFixed(1);
      return `M${LEFT + begin} ${y}h${width(ends[stage] ?? 0) - begin}`;
    });
    return `<path stroke="${COLOURS[stage]}" stroke-width="${rowHeight.toFixed(2)}" d="${parts.join("")}"/>`;
  });
  return [`<text x="${LEFT}" y="${from - 8}" font-size="13">${heading}</text>`, ...lines].join("\n");
}

function axisOf(lastMs: number, perMs: number, y: number): string[] {
  const ticks = Array.from({ length: Math.floor(lastMs / TICK_MS) + 1 }, (_, tick) => tick);
  return ticks.map((tick) => {
    const x = (LEFT + tick * TICK_MS * perMs).toFixed(1);
    return (
      `<line x1="${x}" x2="${x}" y1="${LEGEND_HEIGHT}" y2="${y}" stroke="#0003"/>` +
      `<text x="${x}" y="${y + 16}" font-size="12" text-anchor="middle">${tick} s</text>`
    );
  });
}
