/** The dashboard in the browser: shows the console's event stream. It is read-only. */
import { byId, cell, element, explained, isPaused, replaceRows, rowHead, setNow, span } from "/elements.js";
import { showEvictions } from "/evictions.js";
import { decisionRow, followSearch, showExplanation } from "/explain.js";
import { followFleet } from "/fleet.js";
import { showHeldBack } from "/held-back.js";
import { followFilters, offerFilters, showNodesOf } from "/nodes.js";
import { showPolicies } from "/policies.js";
import { followTimeline } from "/timeline.js";
import { followAddress } from "/views.js";
import { showWrong } from "/wrong.js";
import { rateOf, zonesByTrouble } from "/zone-rate.js";

const DECISIONS_SHOWN = 200;
/** Zones at the start, those in trouble first; the others are in the view of zones. */
const ZONES_SHOWN = 4;
/** A standby may lead by then. */
const RETRY_MS = 5_000;
const DISCONNECTED = "disconnected, retrying…";
/** The list shows judgements and results; observations and requests would only repeat them. */
const SHOWN_TYPES = /^(?:judged|done)\./;
/** Well before a zone counts as disrupted: half of its nodes are no small matter. */
const ALARM_SHARE = 0.3;
const STATE_MOOD = { Initial: "quiet", Normal: "well", PartialDisruption: "care", FullDisruption: "harm" };
const READINESS = [
  ["ready", "ready", "well"],
  ["starting", "starting", "quiet"],
  ["notReady", "not ready", "care"],
  ["unknown", "unknown", "harm"],
];

function stat(name, value, mood) {
  return element("div", "", element("dt", "", name), element("dd", mood, value));
}

function showNodes(nodes) {
  byId("nodes").replaceChildren(
    ...READINESS.map(([key, name, mood]) => stat(name, String(nodes[key]), nodes[key] > 0 ? mood : "quiet")),
  );
}

function showWatchHealth({ shards, blindShards, oldestPulseMs, watches }) {
  const synced = blindShards === 0;
  const pulse = oldestPulseMs === null ? "none yet" : span(oldestPulseMs);
  byId("watch-health").replaceChildren(
    stat("shards", synced ? "synced" : `blind in ${blindShards} of ${shards}`, synced ? "well" : "harm"),
    stat("oldest pulse", pulse, synced ? "" : "harm"),
    ...Object.entries(watches).map(([name, ms]) =>
      stat(`${name} synced for`, ms === null ? "not synced" : span(ms), ms === null ? "harm" : ""),
    ),
  );
}

function rate(zone) {
  const { text, mood } = rateOf(zone, span);
  return mood === "" ? text : element("span", mood, text);
}

/** How bad the share of nodes that are not ready is. */
function alarm({ notReady, size }) {
  if (notReady === 0) return "";
  return notReady >= size * ALARM_SHARE ? "harm" : "care";
}

function showZones(zones) {
  const rows = zonesByTrouble(zones).map((zone, index) => {
    const share = element("meter", "");
    share.ariaLabel = `not ready in ${zone.title}`;
    // The meter is green up to `low`, then yellow, and red from `high`.
    const max = Math.max(1, zone.size);
    Object.assign(share, { min: 0, max, low: max * 0.1, high: max * ALARM_SHARE, optimum: 0, value: zone.notReady });
    return element(
      "tr",
      index < ZONES_SHOWN ? "" : "more",
      rowHead(explained("zone", zone.title, zone.title)),
      cell("State", STATE_MOOD[zone.state], zone.state),
      cell("Not ready", alarm(zone), share, `${zone.notReady} of ${zone.size}`),
      cell("Eviction rate", "", rate(zone)),
      cell("Tokens", "", zone.tokens.toFixed(2)),
      cell("Queue", zone.queueLength > 0 ? "care" : "none", String(zone.queueLength)),
    );
  });
  replaceRows(byId("zones"), rows);
  byId("zones-rest").hidden = zones.length <= ZONES_SHOWN;
  byId("zones-count").textContent = String(zones.length);
}

function showDecision(decision) {
  if (isPaused() || !SHOWN_TYPES.test(decision.type)) return;
  const list = byId("decisions");
  list.prepend(decisionRow(decision));
  while (list.children.length > DECISIONS_SHOWN) list.lastElementChild.remove();
}

function showLink(text, mood) {
  byId("link").textContent = text;
  byId("link").className = mood;
}

/** Shows why this process has no stream: it runs no ledger, or is a standby. Follows again later. */
async function retryRefused() {
  const response = await fetch("/api/overview").catch(() => null);
  const answer = response === null || response.ok ? {} : await response.json();
  showLink(answer.error ?? DISCONNECTED, "harm");
  setTimeout(follow, RETRY_MS);
}

function follow() {
  const source = new EventSource("/api/stream");
  source.addEventListener("open", () => {
    byId("decisions").replaceChildren();
    showLink("live", "well");
  });
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) void retryRefused();
    else showLink(DISCONNECTED, "harm");
  });
  source.addEventListener("full", () => {
    source.close();
    showLink("too many dashboards are open; close one and reload", "harm");
  });
  source.addEventListener("decision", ({ data }) => showDecision(JSON.parse(data)));
  source.addEventListener("snapshot", ({ data }) => {
    if (isPaused()) return;
    const snapshot = JSON.parse(data);
    setNow(snapshot.at);
    showNodes(snapshot.nodes);
    showWatchHealth(snapshot.watchHealth);
    showZones(snapshot.zones);
    showWrong(snapshot, showHeldBack(snapshot));
    showPolicies(snapshot.policies);
    offerFilters(snapshot);
    showEvictions(snapshot);
  });
}

function grafanaLink(href) {
  return Object.assign(element("a", "", "Grafana"), { href, rel: "noreferrer" });
}

const about = await (await fetch("/api/about")).json();
byId("about").textContent = `cluster ${about.cluster}, member ${about.member}`;
byId("badges").replaceChildren(
  ...(about.shadow ? [element("span", "badge", "shadow: nothing is written")] : []),
  ...(about.beside ? [element("span", "badge", "beside kube-controller-manager: no pod is evicted")] : []),
);
byId("pause").addEventListener("click", ({ currentTarget }) => {
  currentTarget.ariaPressed = String(!isPaused());
  showLink("paused", "care");
  // The decisions that were left out are not sent again.
  if (!isPaused()) location.reload();
});
if (about.grafanaUrl !== undefined) byId("grafana").replaceChildren(grafanaLink(about.grafanaUrl));
byId("time-zone").textContent = `times in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
follow();
followFilters();
followSearch();
followFleet();
followTimeline();
followAddress((named) => {
  const { view, names } = named;
  const name = view === "explanation" ? names.join("/") : view;
  document.title = view === "start" ? `Vigil: ${about.cluster}` : `${name} – Vigil: ${about.cluster}`;
  if (view === "explanation") void showExplanation(named);
  else showNodesOf(named);
});
