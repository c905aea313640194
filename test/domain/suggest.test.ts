/** Shows that a misspelt word gets the intended one as a suggestion, and an unrelated one none. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editsBetween, nearest } from "../../services/domain/suggest.ts";

const VERBS = ["run", "playground", "apiserver", "hollow", "agent", "machine", "get", "explain", "version"];

describe("nearest", () => {
  test.each([
    ["playgroud", "playground"],
    ["play", "playground"],
    ["aget", "agent"],
    ["explian", "explain"],
    ["rn", "run"],
    ["rnu", "run"],
    ["kubectl", null],
    ["", null],
  ])("for %j is %j", (word, expected) => expect(nearest(word, VERBS)).toBe(expected));
});

describe("editsBetween", () => {
  test.each([
    ["", "abc", 3],
    ["kitten", "sitting", 3],
    ["flaw", "lawn", 2],
    ["rnu", "run", 1],
    ["abcd", "badc", 2],
    ["same", "same", 0],
  ])("%j and %j is %d", (left, right, expected) => expect(editsBetween(left, right)).toBe(expected));

  test("is the same both ways and never more than the longer word", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (left, right) => {
        const edits = editsBetween(left, right);
        return edits === editsBetween(right, left) && edits <= Math.max(left.length, right.length);
      }),
    );
  });
});
