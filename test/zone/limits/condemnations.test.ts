/** When the nodes of a policy were condemned, by zone. */
import { describe, expect, test } from "vitest";
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

describe("what is handed on", () => {
  const ofSecond = (index: number): Condemnation => ({ node: `n-${index}`, zone: "a", atMs: index * 1000 });
  const ten = Array.from({ length: 10 }, (_, index) => ofSecond(index));
  const bounds = { condemnationsMax: 3, condemnationSpansMax: 2 };

  test("names the latest and counts all others", () => {
    const { named, earlier } = of(ten).handedOn(bounds);
    expect(named.map(({ node }) => node)).toEqual(["n-9", "n-8", "n-7"]);
    expect(earlier).toEqual([
      { fromAt: 0, toAt: 2000, count: 3 },
      { fromAt: 3000, toAt: 6000, count: 4 },
    ]);
  });

  test("counts as many in the next process, and in the one after", () => {
    const second = new Condemnations();
    second.inherit(of(ten).handedOn(bounds));
    second.add(ofSecond(20));
    const third = new Condemnations();
    third.inherit(second.handedOn(bounds));
    expect([second, third].map(({ size }) => size)).toEqual([11, 11]);
    expect(third.since(-1)).toEqual({ nodes: 11, earliestMs: 2000 });
    expect(third.since(5000).nodes).toBe(8);
  });

  test.each(["before", "after"])("counts a node once whose taint is found %s it", (when) => {
    const condemnations = new Condemnations();
    if (when === "before") condemnations.add(ofSecond(4));
    condemnations.inherit(of(ten).handedOn(bounds));
    if (when === "after") condemnations.add(ofSecond(4));
    expect(condemnations.size).toBe(10);
    condemnations.add(ofSecond(30));
    expect(condemnations.size).toBe(11);
  });

  test("counts in every zone until its last instant is over", () => {
    const condemnations = new Condemnations();
    condemnations.inherit({ named: [], earlier: [{ fromAt: 0, toAt: 2000, count: 3 }] });
    expect([condemnations.lastIn("a"), condemnations.size]).toEqual([2000, 3]);
    condemnations.forgetUntil(1999);
    expect(condemnations.size).toBe(3);
    condemnations.forgetUntil(2000);
    expect([condemnations.lastIn("a"), condemnations.size]).toEqual([null, 0]);
  });
});
