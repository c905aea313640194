/** The word that was probably meant, for errors about misspelt flags, verbs and values. */

/** Edits beyond which two words have nothing to do with each other, as a share of the longer one. */
const STRANGE = 0.4;

/** The candidate nearest to a word: one that it begins, or one few edits away; null when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const begun = candidates.filter((candidate) => word.length > 2 && candidate.startsWith(word));
  if (begun.length === 1) return begun[0] ?? null;
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const edits = editsBetween(word, candidate);
    if (edits < fewest && edits <= STRANGE * Math.max(word.length, candidate.length))
      [best, fewest] = [candidate, edits];
  }
  return best;
}

/** How many letters must be put in, taken out or replaced to make one word of the other. */
export function editsBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let index = 0; index < left.length; index++) {
    const next = [index + 1];
    for (let column = 1; column <= right.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (right[column - 1] === left[index] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
