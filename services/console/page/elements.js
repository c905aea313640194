/** Builds what the dashboard shows: elements with text that is never markup, spans of time, and links to explanations. */

export const byId = (id) => document.getElementById(id);

/** An element with a class and children. */
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

let aheadMs = 0;

/** Records the console's time. Ages are counted by it, because this machine's clock may be wrong. */
export function setNow(at) {
  aheadMs = at - Date.now();
}

/** The console's time, in epoch milliseconds. */
export const now = () => Date.now() + aheadMs;

/** A span of time for people. */
export function span(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A time of day here, of 24 hours; `parts` says which parts of it. */
export const timeOfDay = (at, parts = { timeStyle: "medium" }) =>
  new Date(at).toLocaleTimeString(undefined, { ...parts, hourCycle: "h23" });

/** Whether the reader has stopped the page, to read what it shows. */
export const isPaused = () => byId("pause").ariaPressed === "true";

/** A local time of day, with its date unless that is today; the full instant, with its time zone, in a tooltip. */
export function timeOf(at, className = "quiet") {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(now()).toDateString();
  const text = isToday
    ? timeOfDay(at)
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
  const time = element("time", className, text);
  time.dateTime = date.toISOString();
  time.title = date.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long", hourCycle: "h23" });
  return time;
}

/** An instant in UTC, as sentences of the console have it. */
const INSTANT = /\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A text in parts, in which each instant is a time here. */
function withTimes(text) {
  return text.split(INSTANT).map((part, index) => (index % 2 === 0 ? part : timeOf(Date.parse(part), "")));
}

/** A zone key for people; `region/zone@policy` for the nodes of a policy with rates of its own. */
export function zoneTitle(key) {
  const [zone, policy] = key.split("\u0000@");
  const title = zone.split(":\u0000:").filter(Boolean).join("/") || "(no zone)";
  return policy === undefined ? title : `${title}@${policy}`;
}

/** A link to the explanation of a node, a zone, a policy or a pod, which has an address of its own. */
export function explained(kind, text, ...path) {
  const link = element("a", "", text);
  link.href = `#/${[kind, ...path].map(encodeURIComponent).join("/")}`;
  link.dataset.place = link.hash;
  return link;
}

/** A link to the explanation of an object of the API, with a text of its own or its name. */
export function explainedObject({ kind, namespace, name }, text) {
  if (kind === "Pod") return explained("pod", text ?? `${namespace}/${name}`, namespace, name);
  if (kind === "Zone") return explained("zone", text ?? zoneTitle(name), zoneTitle(name));
  return explained(kind === "Node" ? "node" : "policy", text ?? name, name);
}

/** A text in parts, in which each name that the console found is a link, and each instant a time here. */
export function withLinks(text, names = []) {
  const parts = names.flatMap((name, index) => [
    ...withTimes(text.slice(names[index - 1]?.to ?? 0, name.from)),
    explainedObject(name, text.slice(name.from, name.to)),
  ]);
  return [...parts, ...withTimes(text.slice(names.at(-1)?.to ?? 0))];
}

/** A policy in a sentence. */
export const policyParts = (name) => ["NodePolicy ", explained("policy", name, name)];

/** A cell that names its column where the table is folded. */
export function cell(label, className, ...children) {
  const made = element("td", className, ...children);
  made.dataset.label = label;
  return made;
}

/** The first cell of a row, which names its subject. */
export function rowHead(...children) {
  const made = element("th", "", ...children);
  made.scope = "row";
  return made;
}

/** The keyboard's places in a list, by the first place of their row and their own: many rows name the same zone. */
function placesIn(list) {
  const places = [...list.children].flatMap((row) => {
    const inRow = [...row.querySelectorAll("[data-place]")];
    return inRow.map((place) => ({ key: `${inRow[0].dataset.place} ${place.dataset.place}`, place }));
  });
  return Map.groupBy(places, ({ key }) => key);
}

/**
 * Replaces the rows of a list. The focused row keeps the focus if the new rows contain it. The page does not scroll to
 * it, because the reader may have moved to an explanation far away.
 */
export function replaceRows(list, rows) {
  const active = document.activeElement;
  const places = list.contains(active) ? [...placesIn(list)] : [];
  list.replaceChildren(...rows);
  for (const [key, alike] of places) {
    const index = alike.findIndex(({ place }) => place === active);
    if (index >= 0) placesIn(list).get(key)?.at(index)?.place.focus({ preventScroll: true });
  }
}

/** Offers values in a select behind its first option, which is for any. The chosen one stays while it is offered. */
export function offer(select, values) {
  const offered = [...select.options].slice(1).map(({ value }) => value);
  if (offered.join("\n") === values.join("\n")) return;
  const chosen = select.value;
  const options = values.map((value) => Object.assign(element("option", "", value), { value }));
  select.replaceChildren(select.options[0], ...options);
  select.value = values.includes(chosen) ? chosen : "";
}
