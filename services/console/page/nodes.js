/** The list of nodes: searched, filtered and ordered by the console, so that thousands of nodes cost the page nothing. */
import {
  byId,
  cell,
  element,
  explained,
  isPaused,
  now,
  offer,
  replaceRows,
  rowHead,
  span,
  zoneTitle,
} from "/elements.js";
import { evictionText } from "/node-eviction.js";

const ROWS_SHOWN = 50;
const REFRESH_MS = 2000;
/** A pause in typing. */
const TYPED_MS = 150;
/** The order and the limit. */
const UNFILTERED = 2;
const FILTERS = ["readiness", "zone", "policy"];
const MOOD = { ready: "well", starting: "quiet", notReady: "care", unknown: "harm" };

let asked = 0;
let timer = null;

function rowOf(node) {
  const { name, readiness, since, heartbeatAt, zone, policy } = node;
  const eviction = evictionText(node);
  const title = zoneTitle(zone);
  const beat = heartbeatAt === null ? "not known" : `${span(now() - heartbeatAt)} ago`;
  return element(
    "tr",
    readiness === "ready" && eviction === "–" ? "healthy" : "",
    rowHead(explained("node", name, name)),
    cell("Readiness", MOOD[readiness], readiness === "notReady" ? "not ready" : readiness),
    cell("For", "", span(now() - since)),
    cell("Last heartbeat", "", beat),
    cell("Eviction", eviction === "–" ? "none" : "", eviction),
    cell("Zone", "", explained("zone", title, title)),
    policy === undefined ? cell("Policy", "none", "–") : cell("Policy", "", explained("policy", policy, policy)),
  );
}

function query() {
  const wanted = new URLSearchParams({ order: "trouble", limit: String(ROWS_SHOWN) });
  for (const name of ["search", ...FILTERS]) {
    const { value } = byId(`node-${name}`);
    if (value !== "") wanted.set(name, value);
  }
  return wanted;
}

async function refresh() {
  clearTimeout(timer);
  asked += 1;
  const turn = asked;
  const wanted = query();
  const response = await fetch(`/api/nodes?${wanted}`).catch(() => null);
  // A later query has been sent meanwhile.
  if (turn !== asked) return;
  timer = setTimeout(() => void refresh(), REFRESH_MS);
  if (!response?.ok || isPaused()) return;
  const { total, nodes } = await response.json();
  replaceRows(byId("node-list"), nodes.map(rowOf));
  const more = total > nodes.length ? `, the first ${nodes.length} shown` : "";
  // A reader who asks for nodes sees them all; otherwise those in trouble, and how many are not.
  const isFolded = !byId("node-healthy").checked && wanted.size === UNFILTERED;
  byId("node-list").classList.toggle("sick-only", isFolded);
  const isCalm = isFolded && byId("node-list").querySelector("tr:not(.healthy)") === null;
  const said = isCalm ? ", none in trouble" : more;
  byId("node-count").textContent = `${total} ${total === 1 ? "node" : "nodes"}${said}`;
}

/** Offers the zones and policies of a snapshot as filters. */
export function offerFilters({ zones, policies }) {
  const titles = zones.map(({ title }) => title);
  const names = policies.map(({ name }) => name).filter(Boolean);
  offer(byId("node-zone"), titles);
  offer(byId("node-policy"), names);
  byId("node-policy-filter").hidden = names.length === 0;
}

/** Lists nodes from now on. */
export function followNodes() {
  byId("node-search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), TYPED_MS);
  });
  for (const name of FILTERS) byId(`node-${name}`).addEventListener("change", () => void refresh());
  byId("node-healthy").addEventListener("change", () => void refresh());
  void refresh();
}
