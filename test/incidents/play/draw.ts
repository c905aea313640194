/** Turns the ranges of an incident into numbers, the same ones for the same seed. Pure. */
import type { Random } from "../../../protocols/ports.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import type { Incident, Range } from "../incident.ts";

/** Something with numbers in place of its ranges. */
export type Drawn<T> = T extends Range ? number : T extends object ? { readonly [K in keyof T]: Drawn<T[K]> } : T;
/** An incident as one run plays it. */
export type DrawnIncident = Drawn<Incident>;

/** Times have a fraction, sizes have none. */
const TIME = "after";
const TENTHS = 10;

/** The incident of this seed. Every range has chance of its own, so a further one shifts no other. */
export function drawIncident(incident: Incident, seed: number): DrawnIncident {
  return drawn(incident, `${seed}/${incident.name}`) as DrawnIncident;
}

function drawn(value: unknown, place: string): unknown {
  if (Array.isArray(value)) return value.map((each, index) => drawn(each, `${place}/${index}`));
  if (value === null || typeof value !== "object") return value;
  if (isRange(value)) return pickFrom(value, seededRandom(place), place.endsWith(`/${TIME}`) ? TENTHS : 1);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, drawn(each, `${place}/${key}`)]));
}

function isRange(value: object): value is Range {
  return "from" in value && "to" in value;
}

function pickFrom({ from, to }: Range, random: Random, parts: number): number {
  return from + Math.floor(random() * ((to - from) * parts + 1)) / parts;
}
