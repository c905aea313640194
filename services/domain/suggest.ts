/** Suggests the word that a misspelt flag, verb or value was meant to be. */
import { listText } from "./format.ts";

/** Two words are unrelated beyond this number of edits, as a share of the longer one. */
const UNRELATED_EDITS = 0.4;

/** The one candidate that begins with the word, or the nearest within few edits; null when there is none. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const begun = candidates.filter((candidate) => word.length > 2 && candidate.startsWith(word));
  if (begun.length === 1) return begun[0] ?? null;
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const edits = editsBetween(word, candidate);
    if (edits < fewest && edits <= UNRELATED_EDITS * Math.max(word.length, candidate.length))
      [best, fewest] = [candidate, edits];
  }
  return best;
}

/** The number of characters to insert, delete, replace or swap with their neighbour to turn one word into the other. */
export function editsBetween(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let index = 0; index < left.length; index++) {
    const next = [index + 1];
    for (let column = 1; column <= right.length; column++) {
      const replaced = at(row, column - 1) + (right[column - 1] === left[index] ? 0 : 1);
      const swaps = right[column - 1] === left[index - 1] && right[column - 2] === left[index];
      const swapped = swaps ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(replaced, swapped, at(row, column) + 1, at(next, column - 1) + 1));
    }
    [before, row] = [row, next];
  }
  return at(row, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/** Most names that an error lists. */
const LISTED_MAX = 20;

/** That a name is not among those of a topic of `vigil get`, with these names where they are few enough for a line. */
export function unknownNameText(topic: string, names: readonly string[]): string {
  if (names.length > LISTED_MAX) return `not found; vigil get ${topic} lists all`;
  return `not found; ${names.length === 0 ? `there are no ${topic}` : `the ${topic} are ${listText(names)}`}`;
}
