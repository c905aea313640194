/** The list of nodes: searched, filtered and ordered by the console, so that thousands of nodes cost the page nothing. */
import { byId, element, explained, span, zoneTitle } from "/elements.js";

const ROWS_SHOWN = 50;
const REFRESH_MS = 2000;
/** A pause in typing. */
const TYPED_MS = 150;
const MOOD = { ready: "well", starting: "quiet", notReady: "care", unknown: "harm" };

let asked = 0;
let timer = null;

function labelled(label, cell) {
  cell.dataset.label = label;
  return cell;
}

function rowOf(node, now) {
  const { name, readiness, since, heartbeatAt, eviction, queuePlace, zone, isShadow } = node;
  const would = isShadow && eviction === "evicted" ? "would be evicted" : eviction;
  const state = queuePlace === undefined ? would : `${would} (number ${queuePlace})`;
  const title = zoneTitle(zone);
  const head = element("th", "", explained("node", name, name));
  head.scope = "row";
  return element(
    "tr",
    "",
    head,
    labelled("Readiness", element("td", MOOD[readiness], readiness === "notReady" ? "not ready" : readiness)),
    labelled("For", element("td", "", span(now - since))),
    labelled(
      "Last heartbeat",
      element("td", "", heartbeatAt === null ? "not known" : `${span(now - heartbeatAt)} ago`),
    ),
    labelled("Eviction", element("td", "", state === "unmarked" ? "–" : state)),
    labelled("Zone", element("td", "", explained("zone", title, title))),
  );
}

function query() {
  const wanted = new URLSearchParams({ order: "trouble", limit: String(ROWS_SHOWN) });
  for (const name of ["search", "readiness", "zone"]) {
    const { value } = byId(`node-${name}`);
    if (value !== "") wanted.set(name, value);
  }
  return wanted;
}

async function refresh() {
  clearTimeout(timer);
  asked += 1;
  const turn = asked;
  const response = await fetch(`/api/nodes?${query()}`).catch(() => null);
  // A later query has been sent meanwhile.
  if (turn !== asked) return;
  timer = setTimeout(() => void refresh(), REFRESH_MS);
  if (!response?.ok) return;
  const { total, nodes } = await response.json();
  const now = Date.now();
  const list = byId("node-list");
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  list.replaceChildren(...nodes.map((node) => rowOf(node, now)));
  // A keyboard's place in the list outlives the refresh.
  if (focused)
    byId("node-list")
      .querySelector(`a[href="${CSS.escape(focused)}"]`)
      ?.focus();
  const more = total > nodes.length ? `, the first ${nodes.length} shown` : "";
  byId("node-count").textContent = `${total} ${total === 1 ? "node" : "nodes"}${more}`;
}

/** Offers the zones of a snapshot as a filter. */
export function offerZones(zones) {
  const select = byId("node-zone");
  const titles = zones.map(({ title }) => title);
  if (
    titles.join("\n") ===
    [...select.options]
      .slice(1)
      .map(({ value }) => value)
      .join("\n")
  )
    return;
  const chosen = select.value;
  const options = titles.map((title) => Object.assign(element("option", "", title), { value: title }));
  select.replaceChildren(select.options[0], ...options);
  select.value = titles.includes(chosen) ? chosen : "";
}

/** Lists nodes from now on. */
export function followNodes() {
  byId("node-search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), TYPED_MS);
  });
  for (const name of ["readiness", "zone"]) byId(`node-${name}`).addEventListener("change", () => void refresh());
  void refresh();
}
