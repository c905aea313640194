/** The list of nodes: searched, filtered and ordered by the console, so thousands of nodes cost the page nothing. */
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
import { addressed, addressOf } from "/views.js";

const ROWS_SHOWN = 50;
/** Nodes in trouble that the start names. */
const NAMED_AT_START = 5;
const REFRESH_MS = 2000;
/** A pause in typing. */
const TYPED_MS = 150;
const FILTERS = ["search", "readiness", "zone", "policy"];
const MOOD = { ready: "well", starting: "quiet", notReady: "care", unknown: "harm" };

let asked = 0;
let timer = null;

const readinessText = (readiness) => (readiness === "notReady" ? "not ready" : readiness);
const heartbeatText = (at) => (at === null ? "not known" : `${span(now() - at)} ago`);
const isHealthy = (node) => node.readiness === "ready" && evictionText(node) === "–";

function rowOf(node) {
  const { name, readiness, since, heartbeatAt, zone, policy } = node;
  const eviction = evictionText(node);
  const title = zoneTitle(zone);
  return element(
    "tr",
    isHealthy(node) ? "healthy" : "",
    rowHead(explained("node", name, name)),
    cell("Readiness", MOOD[readiness], readinessText(readiness)),
    cell("For", "", span(now() - since)),
    cell("Last heartbeat", "", heartbeatText(heartbeatAt)),
    cell("Eviction", eviction === "–" ? "none" : "", eviction),
    cell("Zone", "", explained("zone", title, title)),
    policy === undefined ? cell("Policy", "none", "–") : cell("Policy", "", explained("policy", policy, policy)),
  );
}

/** A node in trouble, in words. */
function wordsOf(node) {
  const { name, readiness, since, heartbeatAt } = node;
  const eviction = evictionText(node);
  return element(
    "li",
    "",
    explained("node", name, name),
    element("span", MOOD[readiness], ` ${readinessText(readiness)} for ${span(now() - since)}`),
    `, last heartbeat ${heartbeatText(heartbeatAt)}${eviction === "–" ? "" : `, ${eviction}`}`,
  );
}

function show({ total, nodes }, { filters }) {
  replaceRows(byId("node-list"), nodes.map(rowOf));
  const more = total > nodes.length ? `, the first ${nodes.length} shown` : "";
  // With a filter every match is shown; without one the nodes in trouble, and how many there are.
  const isFolded = filters.size === 0;
  byId("node-list").classList.toggle("sick-only", isFolded);
  const said = isFolded && nodes.every(isHealthy) ? ", none in trouble" : more;
  byId("node-count").textContent = `${total} ${total === 1 ? "node" : "nodes"}${said}`;
}

function query({ view, filters }) {
  if (view === "start") return new URLSearchParams({ order: "trouble", limit: NAMED_AT_START });
  const wanted = new URLSearchParams({ order: "trouble", limit: ROWS_SHOWN });
  for (const name of FILTERS) if (filters.has(name)) wanted.set(name, filters.get(name));
  return wanted;
}

async function refresh() {
  clearTimeout(timer);
  asked += 1;
  const turn = asked;
  const place = addressed();
  if (place.view !== "start" && place.view !== "nodes") return;
  const response = await fetch(`/api/nodes?${query(place)}`).catch(() => null);
  // A later query has been sent meanwhile.
  if (turn !== asked) return;
  timer = setTimeout(() => void refresh(), REFRESH_MS);
  if (!response?.ok || isPaused()) return;
  const answer = await response.json();
  if (place.view === "nodes") show(answer, place);
  else replaceRows(byId("troubled"), answer.nodes.filter((node) => !isHealthy(node)).map(wordsOf));
}

/** Writes the chosen filters into the address. */
function choose() {
  const chosen = new URLSearchParams();
  if (byId("node-healthy").checked) chosen.set("healthy", "yes");
  for (const name of FILTERS) if (byId(`node-${name}`).value !== "") chosen.set(name, byId(`node-${name}`).value);
  history.replaceState(history.state, "", addressOf("nodes", chosen));
}

/** Shows the filters of the address. */
function showFilters(filters) {
  byId("node-healthy").checked = filters.has("healthy");
  for (const name of FILTERS) {
    const field = byId(`node-${name}`);
    const value = filters.get(name) ?? "";
    if (field.value !== value) field.value = value;
  }
}

/** Offers the zones and policies of a snapshot as filters, and those of the address, which may be gone. */
export function offerFilters({ zones, policies }) {
  const { view, filters } = addressed();
  const titles = zones.map(({ title }) => title);
  const names = policies.map(({ name }) => name).filter(Boolean);
  const withChosen = (values, chosen) => (chosen && !values.includes(chosen) ? [...values, chosen] : values);
  offer(byId("node-zone"), withChosen(titles, filters?.get("zone")));
  offer(byId("node-policy"), withChosen(names, filters?.get("policy")));
  byId("node-policy-filter").hidden = byId("node-policy").options.length === 1;
  if (view === "nodes") showFilters(filters);
}

/** Lists the nodes that a view shows from now on. */
export function showNodesOf({ view, filters }) {
  if (view === "nodes") showFilters(filters);
  void refresh();
}

/** Follows the filters from now on. */
export function followFilters() {
  byId("node-filter").addEventListener("submit", (event) => event.preventDefault());
  byId("node-search").addEventListener("input", () => {
    choose();
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), TYPED_MS);
  });
  for (const name of ["readiness", "zone", "policy", "healthy"]) {
    byId(`node-${name}`).addEventListener("change", () => {
      choose();
      void refresh();
    });
  }
}
