/** Explains the object that the address names, such as #/node/worker-7, and the one that is typed. */
import { byId, element, explainedObject, timeOf, withLinks } from "/elements.js";

const KINDS = { node: 1, zone: 1, policy: 1, pod: 2 };
/** The kinds that are typed before the name. */
const TYPED = ["zone", "policy"];

/** One line of a history. */
export function decisionRow({ at, object, text, names, times }) {
  return element(
    "li",
    "",
    timeOf(at),
    ` ${object.kind.toLowerCase()} `,
    explainedObject(object),
    " ",
    ...withLinks(text, names),
    ...(times > 1 ? [element("span", "quiet", ` (${times} times)`)] : []),
  );
}

async function explanationOf(kind, path) {
  const response = await fetch(`/api/explain/${[kind, ...path].map(encodeURIComponent).join("/")}`);
  const answer = await response.json();
  if (!response.ok) return [element("p", "care", answer.error)];
  const sentences = answer.sentences.map((text, index) => element("p", "", ...withLinks(text, answer.names[index])));
  return [...sentences, element("ol", "rows", ...answer.timeline.map(decisionRow))];
}

async function showAddressed() {
  const [kind, ...path] = location.hash.slice(2).split("/").map(decodeURIComponent);
  if (!location.hash.startsWith("#/") || KINDS[kind] !== path.length) return;
  byId("subject").value = TYPED.includes(kind) ? `${kind} ${path[0]}` : path.join("/");
  const parts = await explanationOf(kind, path).catch(() => [
    element("p", "harm", "no answer from the console: check that its process still runs"),
  ]);
  byId("explanation").replaceChildren(...parts);
  byId("explain-title").scrollIntoView({ block: "start" });
}

/** Follows the address from now on. */
export function followAddress() {
  byId("explain").addEventListener("submit", (event) => {
    event.preventDefault();
    const subject = byId("subject").value.trim();
    const typed = TYPED.find((word) => subject.startsWith(`${word} `));
    const path = typed ? [subject.slice(typed.length).trim()] : subject.split("/");
    const kind = typed ?? (path.length > 1 ? "pod" : "node");
    const address = `#/${[kind, ...path].map(encodeURIComponent).join("/")}`;
    // The same subject again is asked for again.
    if (location.hash === address) void showAddressed();
    else location.hash = address;
  });
  addEventListener("hashchange", () => void showAddressed());
  void showAddressed();
}
