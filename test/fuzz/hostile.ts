/** Draws unexpected values and puts them into JSON in place of the original ones. */
import type { Random } from "../../protocols/ports.ts";
import { leavesOf, withLeaf } from "../protocols/leaves.ts";

/** Numbers at the edges of what a shard, an int64, a double, a Date and RFC 3339 can hold. */
const NUMBERS: readonly number[] = [
  0,
  -1,
  0.5,
  63,
  64,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 63,
  -(2 ** 63),
  8.64e15,
  8.64e15 + 1,
  1e300,
  -1e300,
  5e-324,
  1_795_437_315_250,
  253_402_300_799_999,
  -62_135_596_800_000,
];
/** Texts with a meaning for a URL, a subject, a prototype, a clock or a rule, and texts that are too long. */
const TEXTS: readonly string[] = [
  " | \u0000|\ud800|a\nb|=002e|*|>|a.b|a/b|..|%s|NaN|1e999|99999999999999999999".split("|"),
  "|__proto__|constructor|prototype|toString|hasOwnProperty|Ready|True|NoExecute|Exists".split("|"),
  "2026-01-01T00:00:00Z|0001-01-01T00:00:00Z|9999-12-31T23:59:59Z|+275760-09-13T00:00:00Z|2026-13-45".split("|"),
  [64, 254, 318, 5000, 70_000].map((length) => "x".repeat(length)),
  ["\u{1f980}".repeat(300)],
].flat();
/** Shapes in place of a text, a number, a list or a record. */
const SHAPES: readonly unknown[] = [
  null,
  true,
  false,
  [],
  {},
  [null],
  [[]],
  [{}],
  { length: 1e9 },
  Array.from({ length: 1100 }, () => ({})),
];
const HOSTILE: readonly unknown[] = [NUMBERS, TEXTS, SHAPES].flat();

/** Keys that every object already has, or that are longer than any of ours. */
const HOSTILE_KEYS: readonly string[] = ["__proto__", "constructor", "toString", "", "k".repeat(400)];

/** One of a list. */
export function oneOf<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

/** A copy of a JSON value with a hostile value or key in up to three places. */
export function spoiled(whole: unknown, random: Random): unknown {
  let value = whole;
  for (let left = random() < 0.7 ? 1 : 3; left > 0; left--) value = spoiledOnce(value, random);
  return value;
}

function spoiledOnce(whole: unknown, random: Random): unknown {
  const leaves = leavesOf(whole);
  if (leaves.length === 0) return oneOf(random, HOSTILE);
  const { path } = oneOf(random, leaves);
  const place = path.slice(0, 1 + Math.floor(random() * path.length));
  if (random() < 0.8) return withLeaf(whole, place, oneOf(random, HOSTILE));
  // An own property of this name, as JSON.parse makes it, and no change of the prototype.
  const added = JSON.parse(
    `{${JSON.stringify(oneOf(random, HOSTILE_KEYS))}:${JSON.stringify(oneOf(random, HOSTILE))}}`,
  );
  return withLeaf(whole, path.slice(0, -1), added);
}
