/** The order of zones, the eviction rate of each, and a freeze of all nodes, which comes before it. It needs no page. */

const BY_TROUBLE = ["FullDisruption", "PartialDisruption", "Initial", "Normal"];

/** Zones in trouble first, and among equals those with more nodes that are not ready. */
export function zonesByTrouble(zones) {
  const rank = ({ state }) => BY_TROUBLE.indexOf(state);
  return zones.toSorted((left, right) => rank(left) - rank(right) || (right.notReady ?? 0) - (left.notReady ?? 0));
}

/** The rate in words, and how bad it is; `span` writes a span of time. */
export function rateOf({ frozenBy, halted, taintsPerSecond }, span) {
  if (frozenBy !== undefined) return { text: `frozen by ${frozenBy}`, mood: "harm" };
  if (halted) return { text: "halted: all zones are disrupted", mood: "harm" };
  if (taintsPerSecond <= 0) return { text: "0 nodes a second", mood: "care" };
  // The rate is a float32: 0.01 arrives as slightly less, which must not round up to another second.
  const perSecond = Number(taintsPerSecond.toPrecision(6));
  return {
    text: perSecond >= 1 ? `${perSecond} nodes a second` : `one node every ${span(1000 / perSecond)}`,
    mood: "",
  };
}

/** The sentence about a freeze of all nodes, once for all zones; none without one. */
export function freezeSentences(zones) {
  const { frozenBy } = zones.find((zone) => zone.frozenBy !== undefined) ?? {};
  return frozenBy === undefined ? [] : [`All nodes are frozen by ${frozenBy}: none is tainted and no pod is evicted.`];
}
