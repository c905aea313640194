/** Explains the object that the address names, such as #/node/worker-7, and the one that is typed. */
import { byId, element, explainedObject, now, timeOf, withLinks } from "/elements.js";
import { addressed } from "/views.js";

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

async function explanationOf(path) {
  const response = await fetch(`/api/explain/${path.map(encodeURIComponent).join("/")}`);
  const answer = await response.json();
  if (!response.ok) return [element("p", "care", answer.error)];
  const sentences = answer.sentences.map((text, index) => element("p", "", ...withLinks(text, answer.names[index])));
  return [...sentences, element("ol", "rows", ...answer.timeline.map(decisionRow))];
}

/** Shows the explanation of an object. */
export async function showExplanation({ kind, names }) {
  const { hash } = location;
  const name = names.join("/");
  byId("subject").value = TYPED.includes(kind) ? `${kind} ${name}` : name;
  byId("explanation-title").textContent = `${kind} ${name}`;
  byId("explanation-time").replaceChildren();
  byId("explanation").replaceChildren();
  const parts = await explanationOf([kind, ...names]).catch(() => [
    element("p", "harm", "no answer from the console: check that its process still runs"),
  ]);
  // The reader may have gone on meanwhile.
  if (location.hash !== hash) return;
  byId("explanation-time").replaceChildren("as of ", timeOf(now()));
  byId("explanation").replaceChildren(...parts);
}

/** Explains what is typed from now on. */
export function followSearch() {
  byId("explain").addEventListener("submit", (event) => {
    event.preventDefault();
    const subject = byId("subject").value.trim();
    const typed = TYPED.find((word) => subject.startsWith(`${word} `));
    const names = typed ? [subject.slice(typed.length).trim()] : subject.split("/");
    const kind = typed ?? (names.length > 1 ? "pod" : "node");
    const address = `#/${[kind, ...names].map(encodeURIComponent).join("/")}`;
    // The same subject is requested again.
    if (location.hash === address) void showExplanation(addressed());
    else location.hash = address;
  });
}
