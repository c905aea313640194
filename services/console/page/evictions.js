/** The pods that will be deleted, folded by node: those of a node are mostly due together. */
import { byId, element, explained, policyParts, replaceRows, span, timeOfDay } from "/elements.js";

/** The nodes whose pods are unfolded. */
const unfolded = new Set();

function frozenText({ untilAt, remainingMs }) {
  const until = untilAt === null ? "frozen" : `frozen until ${timeOfDay(untilAt)}`;
  return remainingMs === null ? until : `${until}, ${span(remainingMs)} left`;
}

function waitingText({ place, expectedAt }, now) {
  if (expectedAt === null) return "waits";
  return `waits, in ${place === null ? "more than " : ""}${span(Math.max(0, expectedAt - now))}`;
}

/** What a pod waits for, in parts; nothing where it waits for no eviction rate. */
function reason({ waits }) {
  if (waits === undefined) return [];
  const { policy, field, place, waiting, behind, lease } = waits;
  if (field === null) return [", for the eviction rate of ", ...policyParts(policy)];
  const where = place === null ? `behind ${behind} of ${waiting}` : `number ${place} of ${waiting}`;
  const holder = lease === undefined ? [] : [`; ${lease.holder ?? "no process"} holds the Lease`];
  return [`, ${where} for ${field} of `, ...policyParts(policy), ...holder];
}

/** When a pod is due, and what decides that. */
export function dueText(eviction, now) {
  const isAhead = eviction.deadlineAt !== null && eviction.deadlineAt > now;
  const would = eviction.isShadow ? "would be " : "";
  if (eviction.frozen !== undefined) return element("strong", "care", frozenText(eviction.frozen));
  if (eviction.waits !== undefined) return element("strong", "care", waitingText(eviction.waits, now));
  if (eviction.isBeforeFreeze) return element("strong", "care", "after a planned freeze");
  if (!isAhead && eviction.isEarliest) return element("strong", "care", `${would}once its node is admitted`);
  if (!isAhead) return element("strong", eviction.isShadow ? "care" : "harm", `${would}now`);
  const earliest = eviction.isEarliest ? " at the earliest" : "";
  return element("strong", "care", `${would}in ${span(eviction.deadlineAt - now)}${earliest}`);
}

function podRow(eviction, now) {
  const pod = `${eviction.namespace}/${eviction.name}`;
  const link = explained("pod", pod, eviction.namespace, eviction.name);
  return element("li", "", dueText(eviction, now), " ", link, ...reason(eviction));
}

/** One row for a node: its next pod, and all of them where it is unfolded. */
function nodeRow(node, evictions, now) {
  const [next] = evictions;
  const why = next.taint === null ? "drained" : `${next.taint.key}:${next.taint.effect}`;
  const head = element(
    "summary",
    "",
    dueText(next, now),
    ` ${evictions.length} ${evictions.length === 1 ? "pod" : "pods"}`,
  );
  head.dataset.place = node;
  const fold = element("details", "", head, element("ul", "rows", ...evictions.map((each) => podRow(each, now))));
  fold.open = unfolded.has(node);
  fold.addEventListener("toggle", () => (fold.open ? unfolded.add(node) : unfolded.delete(node)));
  const about = ["on ", explained("node", node, node), `, ${why}`, ...reason(next)];
  return element("li", "", fold, element("span", "quiet", ...about));
}

/** Shows the pending evictions of a snapshot: the soonest, by node. */
export function showEvictions({ evictions, pendingEvictions, at }) {
  const more = pendingEvictions > evictions.length ? `, the first ${evictions.length} shown` : "";
  byId("evictions-count").textContent = pendingEvictions === 0 ? "" : `(${pendingEvictions}${more})`;
  const byNode = Map.groupBy(evictions, ({ node }) => node);
  for (const node of unfolded) if (!byNode.has(node)) unfolded.delete(node);
  const rows = [...byNode].map(([node, ofNode]) => nodeRow(node, ofNode, at));
  replaceRows(byId("evictions"), rows.length > 0 ? rows : [element("li", "quiet", "none")]);
}
