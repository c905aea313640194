/**
 * The last hours: bars for verdicts, recoveries and evictions, and a band for each zone in the colour of its state. The
 * charts share one axis of time and one cursor, and what it points at is said in words.
 */
import { byId, element, explained, isPaused, replaceRows, span, timeOf, timeOfDay } from "/elements.js";
import uPlot from "/uplot.js";
import { zonesByTrouble } from "/zone-rate.js";

const REFRESH_MS = 10_000;
const MINUTE_MS = 60_000;
/** At most so many bars: each stays wide enough to point at. */
const BARS_MAX = 120;
const BAR_HEIGHT = 40;
const BAND_HEIGHT = 16;
const AXIS_HEIGHT = 24;
/** Room for half a label of the axis, in pixels. */
const SIDE = 30;
/** One event among thousands can still be seen. */
const SEEN_SHARE = 0.08;
/** Zones at the start, those in trouble first. */
const ZONES_SHOWN = 4;
/** Zones in trouble that are named at an instant. */
const NAMED_MAX = 4;
const EVENTS = [
  ["verdicts", "harm", "node", "found silent"],
  ["recoveries", "well", "node", "ready again"],
  ["evictions", "care", "pod", "evicted"],
];
const MOOD = { Initial: "quiet", Normal: "well", PartialDisruption: "care", FullDisruption: "harm" };
const STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120].map((minutes) => minutes * MINUTE_MS);

/** What is shown, with the instants at which its bars begin. */
let shown = null;
const lanes = new Map();

const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const clockTime = (at) => timeOfDay(at, { hour: "2-digit", minute: "2-digit" });
/** The present colour of a mood, which the scheme decides; that of the text for none. */
const colourOf = (mood) =>
  getComputedStyle(mood === "" ? document.body : byId("timeline-legend").querySelector(`.${mood}`)).color;
const medianOf = (values) => values.toSorted((left, right) => left - right)[Math.floor((values.length - 1) / 2)];
const leadText = (ms) => (ms < 0 ? `${span(-ms)} behind` : `${span(ms)} ahead`);

/** The bars over a span: whole minutes, which keep their place while time passes. */
function slotsOf({ minutes, leads, fromAt, at }) {
  const stepMs = Math.ceil(Math.max(1, at - fromAt) / MINUTE_MS / (BARS_MAX - 1)) * MINUTE_MS;
  const beginAt = fromAt - (fromAt % stepMs);
  const starts = Array.from(
    { length: Math.floor((at - beginAt) / stepMs) + 1 },
    (_, index) => beginAt + index * stepMs,
  );
  const sums = Object.fromEntries(EVENTS.map(([what]) => [what, starts.map(() => 0)]));
  const slotOf = (instant) => Math.floor((Math.max(beginAt, instant) - beginAt) / stepMs);
  for (const minute of minutes) for (const [what] of EVENTS) sums[what][slotOf(minute.at)] += minute[what];
  const leadsMs = starts.map(() => []);
  for (const lead of leads) leadsMs[slotOf(lead.at)].push(lead.leadMs);
  return { stepMs, starts, sums, leadsMs, endAt: beginAt + starts.length * stepMs };
}

/** An axis of time above a chart. */
function timeAxis() {
  const colour = () => colourOf("quiet");
  const values = (_chart, instants) => instants.map(clockTime);
  const marks = { stroke: colour, width: 1, size: 4 };
  const font = "12px system-ui, sans-serif";
  return {
    side: 0,
    size: AXIS_HEIGHT,
    gap: 2,
    space: 64,
    incrs: STEPS_MS,
    font,
    values,
    stroke: colour,
    ticks: marks,
    grid: { show: false },
  };
}

/** A chart in a lane of its own. */
function laneOf({ label, height, hasAxis = false, series, hooks }) {
  const host = element("div", "chart");
  host.role = "img";
  const options = {
    width: 100,
    height: height + (hasAxis ? AXIS_HEIGHT : 0),
    ms: 1,
    padding: [0, SIDE, 0, SIDE],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: "timeline" } },
    scales: {
      x: { range: () => [shown.slots.starts[0], shown.slots.endAt] },
      y: { range: (_chart, _least, most) => [0, Math.max(1, most ?? 1)] },
    },
    axes: [hasAxis ? timeAxis() : { show: false }, { show: false }],
    series: [{}, series],
    hooks,
  };
  const chart = new uPlot(options, [[], []], host);
  return { row: element("div", "lane", label, host), label, host, chart, height: options.height };
}

/** Bars of one colour. */
function barLane(mood, isFirst = false) {
  const colour = () => colourOf(mood);
  const paths = uPlot.paths.bars({ size: [0.9, 40], align: 1 });
  const series = { paths, fill: colour, stroke: colour, width: 0, points: { show: false } };
  const hooks = isFirst ? { setCursor: [sayInstant] } : {};
  return laneOf({ label: element("span", ""), height: BAR_HEIGHT, hasAxis: isFirst, series, hooks });
}

function fillLane({ label, host, chart }, words, heights) {
  label.textContent = words;
  host.ariaLabel = words;
  const least = Math.max(...heights) * SEEN_SHARE;
  chart.setData([shown.slots.starts, heights.map((height) => (height === null ? null : Math.max(height, least)))]);
}

/** How often something happened. */
function fillBars(drawn, [what, , noun, done]) {
  const sums = shown.slots.sums[what];
  const total = sums.reduce((sum, each) => sum + each, 0);
  const heights = sums.map((sum) => (sum === 0 ? null : sum));
  fillLane(drawn, `${counted(total, noun)} ${done}`, heights);
}

/** In shadow mode, how much earlier than upstream nodes were found silent. */
function fillLeads(drawn) {
  const median = leadText(medianOf(shown.leads.map(({ leadMs }) => leadMs)));
  const heights = shown.slots.leadsMs.map((all) => (all.length === 0 ? null : Math.max(0, medianOf(all))));
  fillLane(drawn, `${median} of upstream, median of ${counted(shown.leads.length, "node")}`, heights);
}

/** The states of a zone, and a line wherever another process took it over. */
function bandLane(title) {
  const draw = (chart) =>
    paintBand(
      chart,
      shown.zones.find((zone) => zone.title === title),
    );
  const hooks = { draw: [draw] };
  return laneOf({
    label: element("span", "", explained("zone", title, title)),
    height: BAND_HEIGHT,
    series: {},
    hooks,
  });
}

function paintBand(chart, zone) {
  if (zone === undefined) return;
  const { ctx, bbox } = chart;
  const from = shown.slots.starts[0];
  const x = (instant) => chart.valToPos(Math.min(shown.at, Math.max(from, instant)), "x", true);
  const paint = (left, width, colour) => {
    ctx.fillStyle = colour;
    ctx.fillRect(left, bbox.top, width, bbox.height);
  };
  zone.states.forEach(({ at, state }, index) => {
    const end = x(zone.states[index + 1]?.at ?? shown.at);
    paint(x(at), Math.max(devicePixelRatio, end - x(at)), colourOf(MOOD[state]));
  });
  for (const at of zone.takeovers) paint(x(at), 2 * devicePixelRatio, colourOf(""));
}

function fillBand({ host, chart }, { title, states }) {
  host.ariaLabel = `zone ${title}: ${states.at(-1)?.state ?? "not known"} now, ${counted(states.length - 1, "change")}`;
  chart.setData([
    [shown.slots.starts[0], shown.slots.endAt],
    [null, null],
  ]);
}

/** Where the cursor is, what happened then; elsewhere since when anything is known. */
function sayInstant(chart) {
  const { left } = chart.cursor;
  byId("timeline-summary").replaceChildren(...(left >= 0 ? wordsAt(chart.posToVal(left, "x")) : sinceWords()));
}

function sinceWords() {
  const isCalm = shown.minutes.length === 0 ? " Nothing happened." : "";
  return ["Since ", timeOf(shown.fromAt), `.${isCalm}`];
}

function wordsAt(instant) {
  const { stepMs, starts, sums, leadsMs } = shown.slots;
  const slot = Math.min(starts.length - 1, Math.max(0, Math.floor((instant - starts[0]) / stepMs)));
  const leads = leadsMs[slot].length === 0 ? [] : [`${leadText(medianOf(leadsMs[slot]))} of upstream`];
  const counts = EVENTS.map(([what, , noun, done]) => `${counted(sums[what][slot], noun)} ${done}`);
  const events = [...counts, ...leads];
  const states = shown.zones.map(({ title, states: all }) => [title, all.findLast(({ at }) => at <= instant)?.state]);
  const troubled = states.filter(([, state]) => state !== undefined && state !== "Normal");
  const named = troubled.slice(0, NAMED_MAX).flatMap(([title, state], index) => {
    return [index === 0 ? " Zone " : ", ", explained("zone", title, title), ` ${state}`];
  });
  const more = troubled.length > NAMED_MAX ? ` and ${troubled.length - NAMED_MAX} more` : "";
  const span = `${clockTime(starts[slot])} to ${clockTime(starts[slot] + stepMs)}`;
  return [`${span}: ${events.join(", ")}.`, ...(troubled.length === 0 ? [] : [...named, `${more}.`])];
}

/** The lane of this key, made where it is missing. */
function lane(key, make) {
  if (!lanes.has(key)) lanes.set(key, make());
  return lanes.get(key);
}

function show(timeline) {
  shown = { ...timeline, slots: slotsOf(timeline) };
  const bars = EVENTS.map((event, index) => [event, lane(`event ${event[0]}`, () => barLane(event[1], index === 0))]);
  const leads = shown.leads.length === 0 ? [] : [lane("leads", () => barLane(""))];
  const zones = zonesByTrouble(shown.zones.map((zone) => ({ ...zone, state: zone.states.at(-1)?.state })));
  const bands = zones.map((zone) => [zone, lane(`zone ${zone.title}`, () => bandLane(zone.title))]);
  for (const [index, [, { row }]] of bands.entries()) row.classList.toggle("more", index >= ZONES_SHOWN);
  const present = new Set([...bars.map(([, each]) => each), ...leads, ...bands.map(([, each]) => each)]);
  for (const [key, each] of lanes) {
    if (present.has(each)) continue;
    each.chart.destroy();
    lanes.delete(key);
  }
  const rows = [...present].map(({ row }) => row);
  const list = byId("timeline");
  if (rows.length !== list.children.length || rows.some((row, index) => row !== list.children[index])) {
    replaceRows(list, rows);
    resize();
  }
  for (const [event, each] of bars) fillBars(each, event);
  for (const each of leads) fillLeads(each);
  for (const [zone, each] of bands) fillBand(each, zone);
  sayInstant(bars[0][1].chart);
}

/** Makes every chart as wide as its column. */
function resize() {
  for (const { chart, host, height } of lanes.values()) chart.setSize({ width: host.clientWidth, height });
}

async function refresh() {
  const response = await fetch("/api/timeline").catch(() => null);
  setTimeout(() => void refresh(), REFRESH_MS);
  if (response?.ok && !isPaused()) show(await response.json());
}

/** Draws the timeline from now on. */
export function followTimeline() {
  new ResizeObserver(resize).observe(byId("timeline"));
  const redraw = () => {
    for (const { chart } of lanes.values()) chart.redraw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  void refresh();
}
