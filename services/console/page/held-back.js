/** The banner: what is held back at present and why, in words. */
import { byId, element, explained, policyParts, replaceRows, span, timeOf } from "/elements.js";
import { freezeSentences } from "/zone-rate.js";

/** The sentences about a snapshot, each a list of texts and elements. */
function heldBack({ zones, watchHealth }) {
  const { blindShards, shards, watches } = watchHealth;
  const unsynced = Object.keys(watches).filter((name) => watches[name] === null);
  const why = unsynced.length === 0 ? "" : `: the watch of ${unsynced.join(" and ")} is not synced`;
  const blind = blindShards === 0 ? [] : [[`Nothing harmful is decided in ${blindShards} of ${shards} shards${why}.`]];
  const frozen = freezeSentences(zones).map((text) => [text]);
  return [...blind, ...frozen, ...zones.flatMap((zone) => [...ofZone(zone), ...ofLimits(zone)])];
}

/** What node policies and freezes hold back in a zone. */
function ofLimits({ title, heldBack: holds = [] }) {
  return holds.map(({ policy, field, nodes }) => {
    const limit = [`${field} of `, ...(policy === "" ? ["the cluster"] : policyParts(policy))];
    const what = `${nodes} ${nodes === 1 ? "node is" : "nodes are"} held back by `;
    return ["Zone ", explained("zone", title, title), `: ${what}`, ...(field === null ? ["a freeze"] : limit), "."];
  });
}

function ofZone(zone) {
  const { title, state, since, halted, taintsPerSecond, queueLength } = zone;
  if (!halted && state !== "PartialDisruption" && state !== "FullDisruption") return [];
  const head = ["Zone ", explained("zone", title, title), ` ${state} since `, timeOf(since)];
  if (halted) return [[...head, ": evictions are halted, because every zone is disrupted."]];
  const waiting = queueLength === 0 ? "" : `; ${queueLength} nodes wait`;
  if (taintsPerSecond <= 0) return [[...head, `: no node is evicted${waiting}.`]];
  const perNodeMs = 1000 / Number(taintsPerSecond.toPrecision(6));
  const pace = perNodeMs >= 1000 ? `1 node per ${span(perNodeMs)}` : `${Math.round(1000 / perNodeMs)} nodes per second`;
  const total = queueLength === 0 ? "" : `; ${queueLength} nodes would take ${span(queueLength * perNodeMs)}`;
  return [[...head, `: ${pace}${total}.`]];
}

let shown = "";

/** Shows the banner of a snapshot, or none. It changes only with its words, so that it is read out once. */
export function showHeldBack(snapshot) {
  const banner = byId("held-back");
  const lines = heldBack(snapshot).map((parts) => element("p", "", ...parts));
  const words = lines.map(({ textContent }) => textContent).join("\n");
  if (words === shown) return;
  shown = words;
  banner.hidden = lines.length === 0;
  replaceRows(banner, lines);
}
