/** Selects the hollow nodes of an order. Pure. */
import type { Random } from "../../../protocols/ports.ts";
import type { HollowNodeSpec } from "./hollow-stats.ts";

/** A selector of hollow nodes: all given terms must match; an empty one selects all. */
export interface HollowSelector {
  readonly names?: readonly string[];
  /** A regular expression that must match the complete name. */
  readonly match?: string;
  readonly zone?: string;
  /** A random share of the selected nodes: 0.3 for three in ten, rounded up. */
  readonly fraction?: number;
}

/** The selected nodes. Throws a SyntaxError when `match` is not a regular expression. */
export function select<N extends { readonly spec: HollowNodeSpec }>(
  nodes: Iterable<N>,
  selector: HollowSelector,
  random: Random,
): readonly N[] {
  const { names, match, zone, fraction } = selector;
  const pattern = match === undefined ? null : new RegExp(`^(?:${match})$`);
  const wanted = names === undefined ? null : new Set(names);
  const selected = [...nodes].filter(
    ({ spec }) =>
      (wanted === null || wanted.has(spec.name)) &&
      (pattern === null || pattern.test(spec.name)) &&
      (zone === undefined || (spec.zone ?? "") === zone),
  );
  return fraction === undefined ? selected : sample(selected, Math.ceil(selected.length * fraction), random);
}

function sample<N>(nodes: N[], count: number, random: Random): readonly N[] {
  const drawn = nodes.map((node) => ({ node, lot: random() })).sort((left, right) => left.lot - right.lot);
  return drawn.slice(0, count).map(({ node }) => node);
}
