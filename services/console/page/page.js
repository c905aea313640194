/** The dashboard in the browser: shows the console's event stream. It is read-only. */

const DECISIONS_SHOWN = 200;
/** The list shows judgements and results; observations and requests would only repeat them. */
const SHOWN_TYPES = /^(?:judged|done)\./;
const STATE_MOOD = { Initial: "quiet", Normal: "well", PartialDisruption: "care", FullDisruption: "harm" };
const READINESS = [
  ["ready", "ready", "well"],
  ["starting", "starting", "quiet"],
  ["notReady", "not ready", "care"],
  ["unknown", "unknown", "harm"],
];

const byId = (id) => document.getElementById(id);

/** An element with a class and children; text is always text, never markup. */
function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function stat(name, value, mood) {
  return element("div", "", element("dt", "", name), element("dd", mood, value));
}

function span(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
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
  if (zone.halted) return element("span", "harm", "halted: all zones are disrupted");
  if (zone.taintsPerSecond <= 0) return element("span", "care", "0 nodes a second");
  // The rate is a float32: 0.01 arrives as slightly less, which must not round up to another second.
  const perSecond = Number(zone.taintsPerSecond.toPrecision(6));
  return perSecond >= 1 ? `${perSecond} nodes a second` : `one node every ${span(1000 / perSecond)}`;
}

function showZones(zones) {
  const rows = zones.map((zone) => {
    const share = element("meter", "");
    // The meter is green up to `low`, then yellow, and red from `high`.
    const max = Math.max(1, zone.size);
    Object.assign(share, { min: 0, max, low: max * 0.2, high: max * 0.55, optimum: 0, value: zone.notReady });
    return element(
      "tr",
      "",
      element("th", "", zone.title),
      element("td", STATE_MOOD[zone.state], zone.state),
      element("td", "", share, `${zone.notReady} of ${zone.size}`),
      element("td", "", rate(zone)),
      element("td", "", zone.tokens.toFixed(2)),
      element("td", zone.queueLength > 0 ? "care" : "", String(zone.queueLength)),
    );
  });
  byId("zones").replaceChildren(...rows);
}

function dueText(eviction, now) {
  const isAhead = eviction.deadlineAt !== null && eviction.deadlineAt > now;
  const would = eviction.isShadow ? "would be " : "";
  if (!isAhead && eviction.isEarliest) return element("strong", "care", `${would}once its node is admitted`);
  if (!isAhead) return element("strong", eviction.isShadow ? "care" : "harm", `${would}now`);
  const earliest = eviction.isEarliest ? " at the earliest" : "";
  return element("strong", "care", `${would}in ${span(eviction.deadlineAt - now)}${earliest}`);
}

function showEvictions({ evictions, pendingEvictions, at }) {
  byId("evictions-count").textContent = pendingEvictions === 0 ? "" : `(${pendingEvictions})`;
  const rows = evictions.map((eviction) => {
    const why = eviction.taint === null ? "drained" : `${eviction.taint.key}:${eviction.taint.effect}`;
    const pod = `${eviction.namespace}/${eviction.name}`;
    return element(
      "li",
      "",
      dueText(eviction, at),
      ` ${pod} `,
      element("span", "quiet", `on ${eviction.node}, ${why}`),
    );
  });
  byId("evictions").replaceChildren(...(rows.length > 0 ? rows : [element("li", "quiet", "none")]));
}

function decisionRow({ at, object, text, times }) {
  const name =
    object.kind === "Zone" ? object.name.split(":\u0000:").filter(Boolean).join("/") || "(no zone)" : object.name;
  const full = object.namespace === "" ? name : `${object.namespace}/${name}`;
  return element(
    "li",
    "",
    element("span", "quiet", new Date(at).toISOString().slice(11, 19)),
    ` ${object.kind.toLowerCase()} `,
    element("strong", "", full),
    ` ${text}`,
    ...(times > 1 ? [element("span", "quiet", ` (${times} times)`)] : []),
  );
}

function showDecision(decision) {
  if (!SHOWN_TYPES.test(decision.type)) return;
  const list = byId("decisions");
  list.prepend(decisionRow(decision));
  while (list.children.length > DECISIONS_SHOWN) list.lastElementChild.remove();
}

function showLink(text, mood) {
  byId("link").textContent = text;
  byId("link").className = mood;
}

function follow() {
  const source = new EventSource("/api/stream");
  source.addEventListener("open", () => {
    byId("decisions").replaceChildren();
    showLink("live", "well");
  });
  source.addEventListener("error", () => {
    const refused = source.readyState === EventSource.CLOSED;
    showLink(refused ? "this process runs no ledger" : "disconnected, retrying…", "harm");
  });
  source.addEventListener("full", () => {
    source.close();
    showLink("too many dashboards are open; close one and reload", "harm");
  });
  source.addEventListener("decision", ({ data }) => showDecision(JSON.parse(data)));
  source.addEventListener("snapshot", ({ data }) => {
    const snapshot = JSON.parse(data);
    showNodes(snapshot.nodes);
    showWatchHealth(snapshot.watchHealth);
    showZones(snapshot.zones);
    showEvictions(snapshot);
  });
}

async function explain(subject) {
  const path = subject.split("/").map(encodeURIComponent);
  const kind = path.length > 1 ? "pod" : "node";
  const response = await fetch(`/api/explain/${kind}/${path.join("/")}`);
  const answer = await response.json();
  if (!response.ok) return [element("p", "care", answer.error)];
  const sentences = answer.sentences.map((sentence) => element("p", "", sentence));
  return [...sentences, element("ol", "rows", ...answer.timeline.map(decisionRow))];
}

byId("explain").addEventListener("submit", (event) => {
  event.preventDefault();
  const show = (parts) => byId("explanation").replaceChildren(...parts);
  explain(byId("subject").value.trim()).then(show, () =>
    show([element("p", "harm", "no answer from the console: check that its process still runs")]),
  );
});

const about = await (await fetch("/api/about")).json();
byId("about").textContent =
  `cluster ${about.cluster}, member ${about.member}${about.shadow ? ", shadow: nothing is written" : ""}`;
document.title = `Vigil: ${about.cluster}`;
follow();
