/** What is blocked at present and why, as sentences. Those about all nodes appear in every view. */
import { byId, element, explained, policyParts, replaceRows, span, timeOf } from "/elements.js";
import { linkTo } from "/views.js";
import { freezeSentences, zonesByTrouble } from "/zone-rate.js";

/** Sentences at the start; the others are in the view of zones. */
const SENTENCES_SHOWN = 3;

/** The sentences about all nodes, each a list of texts and elements. */
function ofAll({ zones, watchHealth }) {
  const { blindShards, shards, watches } = watchHealth;
  const unsynced = Object.keys(watches).filter((name) => watches[name] === null);
  const why = unsynced.length === 0 ? "" : `: the watch of ${unsynced.join(" and ")} is not synced`;
  const blind = blindShards === 0 ? [] : [[`Nothing harmful is decided in ${blindShards} of ${shards} shards${why}.`]];
  const frozen = freezeSentences(zones).map((text) => [text]);
  return [...blind, ...frozen];
}

/** What node policies and freezes block in a zone. */
function ofLimits({ title, heldBack: holds = [] }) {
  return holds.map(({ policy, field, nodes }) => {
    const limit = [`${field} of `, ...(policy === "" ? ["the cluster"] : policyParts(policy))];
    const what = `${nodes} ${nodes === 1 ? "node is" : "nodes are"} held back by `;
    return ["Zone ", explained("zone", title, title), `: ${what}`, ...(field === null ? ["a freeze"] : limit), "."];
  });
}

function ofZone(zone) {
  const { title, state, since, halted, taintsPerSecond, queueLength, notReady, size } = zone;
  if (!halted && state !== "PartialDisruption" && state !== "FullDisruption") return [];
  const head = [
    "Zone ",
    explained("zone", title, title),
    ` ${state} since `,
    timeOf(since),
    `, ${notReady} of ${size} nodes not ready`,
  ];
  if (halted) return [[...head, ": evictions are halted, because every zone is disrupted."]];
  const waiting = queueLength === 0 ? "" : `; ${queueLength} nodes wait`;
  if (taintsPerSecond <= 0) return [[...head, `: no node is evicted${waiting}.`]];
  const perNodeMs = 1000 / Number(taintsPerSecond.toPrecision(6));
  const pace = perNodeMs >= 1000 ? `1 node per ${span(perNodeMs)}` : `${Math.round(1000 / perNodeMs)} nodes per second`;
  const total = queueLength === 0 ? "" : `; ${queueLength} nodes would take ${span(queueLength * perNodeMs)}`;
  return [[...head, `: ${pace}${total}.`]];
}

let shown = "";

/**
 * Shows what is blocked in a snapshot, and returns whether anything is. The page changes only with the text, so a
 * screen reader reads it once.
 */
export function showHeldBack(snapshot) {
  const everywhere = ofAll(snapshot).map((parts) => element("p", "everywhere", ...parts));
  const sentences = zonesByTrouble(snapshot.zones).flatMap((zone) => [...ofZone(zone), ...ofLimits(zone)]);
  const ofZones = sentences.map((parts, index) => element("p", index < SENTENCES_SHOWN ? "" : "more", ...parts));
  const more = sentences.length - SENTENCES_SHOWN;
  const rest = more > 0 ? [element("p", "rest", linkTo("zones", `${more} more about zones`))] : [];
  const lines = [...everywhere, ...ofZones, ...rest];
  const words = lines.map(({ textContent }) => textContent).join("\n");
  if (words !== shown) {
    byId("held-back").hidden = lines.length === 0;
    replaceRows(byId("held-back"), lines);
  }
  shown = words;
  return lines.length > 0;
}
