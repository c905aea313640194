/** Growth curves as an SVG: a few panels of lines over logarithmic axes. A pure function of its points. */

/** One line of a panel. */
export interface Curve {
  readonly name: string;
  /** Points with positive coordinates, from left to right. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** One panel: both its axes are logarithmic, so that growth by a power is a straight line. */
export interface Panel {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly curves: readonly Curve[];
}

const WIDTH = 360;
const HEIGHT = 260;
const MARGIN = { left: 64, right: 16, top: 44, bottom: 48 };
/** Told apart by lightness too, on white as on black. */
const COLOURS = ["#2f81f7", "#d2691e", "#2da44e", "#a371f7"];
/** currentColor follows the colour scheme of whoever shows it. */
const STYLE = `:root{color:#1f2328}@media(prefers-color-scheme:dark){:root{color:#e6edf3}}
text{fill:currentColor;font:11px sans-serif}.title{font-weight:600;font-size:13px}
.grid{stroke:currentColor;stroke-opacity:.15}.curve{fill:none;stroke-width:2}`;

/** The panels side by side; their titles are the text for those who cannot see them. */
export function svgOf(panels: readonly Panel[]): string {
  const width = WIDTH * panels.length;
  const drawn = panels.map((panel, index) => `<g transform="translate(${index * WIDTH} 0)">\n${panelOf(panel)}\n</g>`);
  const size = `viewBox="0 0 ${width} ${HEIGHT}" width="${width}" height="${HEIGHT}"`;
  const title = `<title>${escaped(panels.map((panel) => panel.title).join("; "))}</title>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>\n${title}\n<style>${STYLE}</style>\n${drawn.join("\n")}\n</svg>\n`;
}

/** Turns values of an axis into places. */
interface Axis {
  readonly ticks: readonly number[];
  place(value: number): number;
}

function panelOf({ title, xLabel, yLabel, curves }: Panel): string {
  const points = curves.flatMap((curve) => curve.points);
  const [left, right, top, bottom] = [MARGIN.left, WIDTH - MARGIN.right, MARGIN.top, HEIGHT - MARGIN.bottom];
  const xAxis = axisOf(
    points.map(({ x }) => x),
    left,
    right,
  );
  const yAxis = axisOf(
    points.map(({ y }) => y),
    bottom,
    top,
  );
  const middle = (top + bottom) / 2;
  return [
    textAt(left, 16, title, 'class="title"'),
    ...xAxis.ticks.map((tick) => lineOf(xAxis.place(tick), top, xAxis.place(tick), bottom)),
    ...xAxis.ticks.map((tick) => textAt(xAxis.place(tick), bottom + 16, short(tick), 'text-anchor="middle"')),
    ...yAxis.ticks.map((tick) => lineOf(left, yAxis.place(tick), right, yAxis.place(tick))),
    ...yAxis.ticks.map((tick) => textAt(left - 6, yAxis.place(tick) + 4, short(tick), 'text-anchor="end"')),
    textAt((left + right) / 2, bottom + 36, xLabel, 'text-anchor="middle"'),
    textAt(14, middle, yLabel, `text-anchor="middle" transform="rotate(-90 14 ${middle})"`),
    ...curves.flatMap((curve, index) => curveOf(curve, index, xAxis, yAxis)),
  ].join("\n");
}

function curveOf({ name, points }: Curve, index: number, xAxis: Axis, yAxis: Axis): string[] {
  const colour = COLOURS[index % COLOURS.length];
  const places = points.map(({ x, y }) => [round(xAxis.place(x)), round(yAxis.place(y))] as const);
  return [
    `<polyline class="curve" stroke="${colour}" points="${places.map((place) => place.join(",")).join(" ")}"/>`,
    ...places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`),
    `<circle cx="${MARGIN.left + 6 + index * 140}" cy="30" r="4" fill="${colour}"/>`,
    textAt(MARGIN.left + 14 + index * 140, 34, name, ""),
  ];
}

/** A logarithmic axis from the power of ten below the least value to the one above the greatest. */
function axisOf(values: readonly number[], from: number, to: number): Axis {
  const exponents = values.filter((value) => value > 0).map(Math.log10);
  const least = Math.floor(Math.min(...exponents));
  const most = Math.max(least + 1, Math.ceil(Math.max(...exponents)));
  const ticks = Array.from({ length: most - least + 1 }, (_, index) => 10 ** (least + index));
  return { ticks, place: (value) => from + ((Math.log10(value) - least) / (most - least)) * (to - from) };
}

function lineOf(x1: number, y1: number, x2: number, y2: number): string {
  return `<line class="grid" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`;
}

function textAt(x: number, y: number, text: string, attributes: string): string {
  const safe = escaped(text);
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${safe}</text>`;
}

function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1000 ? `${value / 1000}k` : String(Number(value.toPrecision(3)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
