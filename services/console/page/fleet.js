/** The processes of the fleet, requested periodically: the console listens for their pulses each time. */
import { byId, cell, element, now, replaceRows, rowHead, span } from "/elements.js";

const REFRESH_MS = 15_000;

function stateOf({ unableSince, withheld }) {
  if (unableSince !== null) return ["harm", `cannot reach the API server for ${span(now() - unableSince)}`];
  return withheld.length > 0 ? ["care", `leaves ${withheld.join(", ")} to others for now`] : ["well", "able"];
}

function rowOf(member) {
  const { member: name, shards, services, since, lagMs } = member;
  const [mood, state] = stateOf(member);
  return element(
    "tr",
    "",
    rowHead(name),
    cell("State", mood, state),
    cell("Shards", "", String(shards)),
    cell("Up for", "", span(now() - since)),
    cell("Lag", "", lagMs === null ? "–" : `${lagMs} ms`),
    cell("Services", "quiet", services.join(", ")),
  );
}

async function refresh() {
  const answer = await fetch("/api/fleet").then(
    (response) => response.json(),
    () => ({ error: "no answer from the console" }),
  );
  setTimeout(() => void refresh(), REFRESH_MS);
  byId("fleet-problem").textContent = answer.error ?? "";
  if (answer.error === undefined) replaceRows(byId("fleet"), answer.map(rowOf));
}

/** Lists the members from now on. */
export function followFleet() {
  void refresh();
}
