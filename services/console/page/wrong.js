/** What is wrong at present: how many nodes are in trouble, and how many pods wait for their eviction. */
import { byId, element, replaceRows } from "/elements.js";
import { dueText } from "/evictions.js";
import { linkTo } from "/views.js";

const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** The counts of nodes in trouble, each a link to those nodes. */
function ofNodes({ unknown, notReady }) {
  const counts = [
    [unknown, "unknown", "unknown"],
    [notReady, "not ready", "notReady"],
  ].filter(([count]) => count > 0);
  return counts.map(([count, text, readiness], index) => {
    const link = linkTo("nodes", `${counted(count, "node")} ${text}`, { readiness });
    return element("span", "", index === 0 ? "" : ", ", link);
  });
}

function ofPods({ pendingEvictions, evictions: [next], at }) {
  if (next === undefined) return [];
  const link = linkTo("evictions", counted(pendingEvictions, "pending eviction"));
  return [element("span", "", link, ", the next ", dueText(next, at))];
}

/** Shows what is wrong in a snapshot. If nothing is wrong and nothing is blocked, it shows that. */
export function showWrong(snapshot, isHeldBack) {
  const { unknown, notReady, ready, starting } = snapshot.nodes;
  const isCalm = unknown + notReady + snapshot.pendingEvictions === 0 && !isHeldBack;
  const all = counted(unknown + notReady + ready + starting, "node");
  byId("wrong-none").textContent = isCalm ? `Nothing is wrong with ${all}.` : "";
  replaceRows(byId("wrong-nodes"), ofNodes(snapshot.nodes));
  replaceRows(byId("wrong-pods"), ofPods(snapshot));
  byId("nodes-alarm").textContent = unknown + notReady || "";
  byId("evictions-alarm").textContent = snapshot.pendingEvictions || "";
}
