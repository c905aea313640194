/** The last hours: bars for verdicts, recoveries and evictions, and a band for each zone in the colour of its state. */
import { byId, element, explained, replaceRows, timeOf } from "/elements.js";

const REFRESH_MS = 10_000;
/** Bars over the whole width, so that each is wide enough to point at. */
const BARS = 120;
const WIDTH = 1000;
const BAR_HEIGHT = 36;
const BAND_HEIGHT = 14;
const EVENTS = [
  ["verdicts", "harm", "node", "found silent"],
  ["recoveries", "well", "node", "ready again"],
  ["evictions", "care", "pod", "evicted"],
];
const MOOD = { Initial: "quiet", Normal: "well", PartialDisruption: "care", FullDisruption: "harm" };

function shape(name, attributes, title) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (title)
    made.append(Object.assign(document.createElementNS("http://www.w3.org/2000/svg", "title"), { textContent: title }));
  return made;
}

const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const clockTime = (at) => new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });

/** A picture of one row, as wide as its column. */
function picture(height, label, shapes) {
  const svg = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  });
  svg.style.height = `${height}px`;
  svg.append(...shapes);
  return svg;
}

/** How often something happened, added up to the width of a bar. */
function bars({ minutes, fromAt, at }, [what, mood, noun, done]) {
  const spanMs = Math.max(1, at - fromAt);
  const sums = Array.from({ length: BARS }, () => 0);
  for (const minute of minutes) {
    const place = Math.floor(((Math.max(fromAt, minute.at) - fromAt) / spanMs) * BARS);
    sums[Math.min(BARS - 1, place)] += minute[what];
  }
  const most = Math.max(1, ...sums);
  const width = WIDTH / BARS;
  const shapes = sums.flatMap((sum, index) => {
    if (sum === 0) return [];
    // One event among thousands can still be seen.
    const height = Math.max(3, (sum / most) * BAR_HEIGHT);
    const from = clockTime(fromAt + (index / BARS) * spanMs);
    const place = { x: index * width, y: BAR_HEIGHT - height, width: width - 1, height, class: mood };
    return [shape("rect", place, `${from}: ${counted(sum, noun)} ${done}`)];
  });
  const total = sums.reduce((sum, each) => sum + each, 0);
  const words = `${counted(total, noun)} ${done}`;
  return [words, picture(BAR_HEIGHT, words, shapes)];
}

/** The states of a zone, and a line wherever another process took it over. */
function band({ title, states, takeovers }, { fromAt, at }) {
  const spanMs = Math.max(1, at - fromAt);
  const x = (instant) => ((Math.min(at, Math.max(fromAt, instant)) - fromAt) / spanMs) * WIDTH;
  const rects = states.map(({ at: since, state }, index) => {
    const end = states[index + 1]?.at ?? at;
    const place = { x: x(since), y: 0, width: Math.max(1, x(end) - x(since)), height: BAND_HEIGHT, class: MOOD[state] };
    return shape("rect", place, `${title}: ${state} ${clockTime(since)} to ${clockTime(end)}`);
  });
  const lines = takeovers.map((instant) =>
    shape(
      "rect",
      { x: x(instant), y: 0, width: 2, height: BAND_HEIGHT, class: "mark" },
      `${clockTime(instant)}: taken over by another process`,
    ),
  );
  const last = states.at(-1)?.state ?? "";
  return [
    explained("zone", title, title),
    picture(BAND_HEIGHT, `zone ${title}: ${last} now, ${counted(states.length - 1, "change")}`, [...rects, ...lines]),
  ];
}

/** Hours as ticks; minutes while the picture is young. */
function ticks({ fromAt, at }) {
  const spanMs = Math.max(1, at - fromAt);
  const stepMs = [60_000, 300_000, 900_000, 3_600_000].find((step) => spanMs / step <= 8) ?? 3_600_000;
  const row = element("div", "ticks");
  for (let tick = Math.ceil(fromAt / stepMs) * stepMs; tick < at; tick += stepMs) {
    const label = element("span", "quiet", clockTime(tick));
    label.style.left = `${((tick - fromAt) / spanMs) * 100}%`;
    row.append(label);
  }
  return ["", row];
}

function show(timeline) {
  const { fromAt, minutes, zones } = timeline;
  const rows = [
    ...EVENTS.map((event) => bars(timeline, event)),
    ...zones.map((zone) => band(zone, timeline)),
    ticks(timeline),
  ];
  replaceRows(
    byId("timeline"),
    rows.map(([label, drawn]) => element("div", "lane", element("span", "", label), drawn)),
  );
  const isCalm = minutes.length === 0 ? " Nothing happened." : "";
  byId("timeline-summary").replaceChildren("Since ", timeOf(fromAt), `.${isCalm}`);
}

async function refresh() {
  const response = await fetch("/api/timeline").catch(() => null);
  setTimeout(() => void refresh(), REFRESH_MS);
  if (response?.ok) show(await response.json());
}

/** Draws the timeline from now on. */
export function followTimeline() {
  void refresh();
}
