/** What is shown of the eviction of a node. It needs no page. */

/** The text of an eviction status; a dash while a node is not to be evicted. */
const EVICTION = { unmarked: "–", toBeEvicted: "to be evicted", evicted: "evicted" };

/** The eviction status of a node, and what it waits for. */
export function evictionText(node) {
  const { eviction, isShadow } = node;
  const status = isShadow && eviction === "evicted" ? "would be evicted" : EVICTION[eviction];
  const wait = waitText(node);
  if (wait === null) return status;
  return eviction === "unmarked" ? wait : `${status} (${wait})`;
}

/** A node that is frozen or blocked by a limit is not admitted, whatever its place in the queue. */
function waitText({ isFrozen, heldBy, queuePlace }) {
  if (isFrozen) return "frozen";
  if (heldBy !== undefined) return `held back by ${heldBy}`;
  return queuePlace === undefined ? null : `number ${queuePlace}`;
}
