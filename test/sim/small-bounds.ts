/**
 * Bounds of lists, so small that eight nodes reach what thousands would: the class `smallBounds`. Whatever they are, no
 * invariant changes: a bound makes something later, or kept for longer, and never earlier or more.
 */
import { type Bounds, STANDARD_BOUNDS } from "../../protocols/profile.ts";
import { chanceOf, oneOf } from "./chance.ts";
import type { Swarm } from "./swarm.ts";

const FEW: readonly number[] = [1, 2, 3];

/** Reads of one resource from which on its watch is proven, in every run: eight nodes read few objects at once. */
function provenReadsOf(seed: number): number {
  return oneOf(chanceOf(seed, "bounds/provenReadsMin"), [1, 1, 1, STANDARD_BOUNDS.provenReadsMin]);
}

/** The bounds of a run. */
export function boundsOf({ seed, faults }: Pick<Swarm, "seed" | "faults">): Bounds {
  const provenReadsMin = provenReadsOf(seed);
  if (!faults.has("smallBounds")) return { ...STANDARD_BOUNDS, provenReadsMin };
  const one = (what: keyof Bounds, choices: readonly number[]): number =>
    oneOf(chanceOf(seed, `bounds/${what}`), choices);
  const orStandard = (what: keyof Bounds, small: number): number => one(what, [small, STANDARD_BOUNDS[what]]);
  return {
    condemnationsMax: one("condemnationsMax", FEW),
    condemnationSpansMax: one("condemnationSpansMax", FEW),
    limitMemoryCharactersMax: orStandard("limitMemoryCharactersMax", 200),
    permitsMax: one("permitsMax", FEW),
    evictionPermitsMax: one("evictionPermitsMax", FEW),
    handedOverPodsMax: one("handedOverPodsMax", FEW),
    handoverCharactersMax: orStandard("handoverCharactersMax", 400),
    frozenIntervalsMax: orStandard("frozenIntervalsMax", 4),
    endedHoldsMax: one("endedHoldsMax", [2, 3]),
    provenReadsMin,
  };
}
