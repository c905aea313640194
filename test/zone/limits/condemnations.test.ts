/** When the nodes of a policy were condemned, by zone. */
import { expect, test } from "vitest";
import { type Condemnation, Condemnations } from "../../../services/zone/limits/condemnations.ts";

function of(all: readonly Condemnation[]): Condemnations {
  const condemnations = new Condemnations();
  for (const each of all) condemnations.add(each);
  return condemnations;
}

test("a node whose zone is not known counts in every zone", () => {
  const condemnations = of([
    { node: "n", zone: "a", atMs: 1 },
    { node: "gone", zone: null, atMs: 2 },
  ]);
  expect([condemnations.lastIn("a"), condemnations.lastIn("b")]).toEqual([2, 2]);
});

test.each([
  [
    { zone: null, atMs: 2 },
    { zone: "a", atMs: 1 },
  ],
  [
    { zone: "a", atMs: 1 },
    { zone: null, atMs: 2 },
  ],
  [
    { zone: "b", atMs: 1 },
    { zone: "a", atMs: 2 },
  ],
  [
    { zone: "a", atMs: 2 },
    { zone: "b", atMs: 1 },
  ],
])("of %j and %j the later one counts, in the zone that is known", (first, second) => {
  const condemnations = of([first, second].map((each) => ({ node: "n", ...each })));
  expect([condemnations.lastIn("a"), condemnations.lastIn("b")]).toEqual([2, null]);
});
