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

/** Takes the console's time. Ages are counted by it, because this machine's clock may be wrong. */
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
  return minutes < 120 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A time of day here; the whole instant, with its time zone, in a tooltip. */
export function timeOf(at) {
  const date = new Date(at);
  const time = element("time", "quiet", date.toLocaleTimeString());
  time.dateTime = date.toISOString();
  time.title = date.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  return time;
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

/** A sentence whose node policies are links, in parts. */
export function withPolicies(text) {
  return text
    .split(/(?<=\bNodePolicy )([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)/)
    .map((part, index) => (index % 2 === 0 ? part : explained("policy", part, part)));
}

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

/** Replaces the rows of a list. A keyboard's place in it outlives that, where the new rows have it too. */
export function replaceRows(list, rows) {
  const place = list.contains(document.activeElement) ? document.activeElement.dataset.place : undefined;
  list.replaceChildren(...rows);
  if (place !== undefined) list.querySelector(`[data-place="${CSS.escape(place)}"]`)?.focus();
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
