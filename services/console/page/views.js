/** The views: the address names the one that is shown. The way back leads to where the reader left it. */
import { element } from "/elements.js";

/** The kinds that have explanations, with the number of names in the address of each. */
const EXPLAINED = new Map(Object.entries({ node: 1, zone: 1, policy: 1, pod: 2 }));
const START = "start";

/** The places in the browser's history that were left, by their mark. */
const left = new Map();
let present = null;

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** What the address names: a view with its filters, or what is explained; the start where it names nothing. */
export function addressed() {
  const [path, query] = location.hash.slice(2).split("?");
  const [first, ...names] = path.split("/").map(decoded);
  if (names.length > 0 && EXPLAINED.get(first) === names.length) return { view: "explanation", kind: first, names };
  const known = [...document.querySelectorAll("nav a")].map(({ hash }) => hash.slice(2));
  const view = names.length === 0 && known.includes(first) ? first || START : START;
  return { view, filters: new URLSearchParams(query) };
}

/** The address of a view whose rows pass these filters. */
export const addressOf = (view, filters) => `#/${view}${filters.size > 0 ? `?${filters}` : ""}`;

/** A link to a view. */
export function linkTo(view, text, filters = {}) {
  const link = Object.assign(element("a", "", text), { href: addressOf(view, new URLSearchParams(filters)) });
  link.dataset.place = link.hash;
  return link;
}

function show(view) {
  document.body.dataset.view = view;
  // The style decides what every view shows of what is wrong.
  const sections = document.querySelectorAll("section[data-views]");
  for (const section of sections) section.hidden = !section.dataset.views.split(" ").includes(view);
  for (const link of document.querySelectorAll("nav a")) {
    const isShown = link.hash.slice(2) === (view === START ? "" : view);
    if (isShown) link.ariaCurrent = "page";
    else link.removeAttribute("aria-current");
  }
}

/** Moves the focus to the heading of a view, or to the reader's earlier place in it. */
function enter(was) {
  const heading = [...document.querySelectorAll("section h2")].find((each) => each.checkVisibility());
  const places = [...document.querySelectorAll("[data-place]")];
  const place = places.find((each) => each.checkVisibility() && each.dataset.place === was?.place);
  (place ?? heading).focus({ preventScroll: true });
  scrollTo(0, was?.y ?? 0);
}

/** Shows what the address names, now and whenever it changes. */
export function followAddress(onView) {
  history.scrollRestoration = "manual";
  const arrive = () => {
    // A place of the history that has a mark was left before.
    if (history.state === null) history.replaceState(Math.random(), "");
    const was = left.get(history.state);
    const isFirst = present === null;
    present = history.state;
    const named = addressed();
    show(named.view);
    onView(named);
    if (!isFirst) enter(was);
  };
  addEventListener("hashchange", () => {
    left.set(present, { y: scrollY, place: document.activeElement.dataset.place });
    arrive();
  });
  arrive();
}
