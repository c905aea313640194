/** When the nodes of a policy were admitted for eviction, by zone. */
import { describe, expect, test } from "vitest";
import { type Admission, Admissions } from "../../../services/zone/limits/admissions.ts";

function of(all: readonly Admission[]): Admissions {
  const admissions = new Admissions();
  for (const each of all) admissions.add(each);
  return admissions;
}

test("a node whose zone is not known counts in every zone", () => {
  const admissions = of([
    { node: "n", zone: "a", atMs: 1 },
    { node: "gone", zone: null, atMs: 2 },
  ]);
  expect([admissions.lastIn("a"), admissions.lastIn("b")]).toEqual([2, 2]);
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
  const admissions = of([first, second].map((each) => ({ node: "n", ...each })));
  expect([admissions.lastIn("a"), admissions.lastIn("b")]).toEqual([2, null]);
});

describe("what is handed on", () => {
  const ofSecond = (index: number): Admission => ({ node: `n-${index}`, zone: "a", atMs: index * 1000 });
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
    const second = new Admissions();
    second.inherit(of(ten).handedOn(bounds));
    second.add(ofSecond(20));
    const third = new Admissions();
    third.inherit(second.handedOn(bounds));
    expect([second, third].map(({ size }) => size)).toEqual([11, 11]);
    expect(third.since(-1)).toEqual({ nodes: 11, earliestMs: 2000 });
    expect(third.since(5000).nodes).toBe(8);
  });

  test.each(["before", "after"])("counts a node once whose taint is found %s it", (when) => {
    const admissions = new Admissions();
    if (when === "before") admissions.add(ofSecond(4));
    admissions.inherit(of(ten).handedOn(bounds));
    if (when === "after") admissions.add(ofSecond(4));
    expect(admissions.size).toBe(10);
    admissions.add(ofSecond(30));
    expect(admissions.size).toBe(11);
  });

  test("counts in every zone until its last instant is over", () => {
    const admissions = new Admissions();
    admissions.inherit({ named: [], earlier: [{ fromAt: 0, toAt: 2000, count: 3 }] });
    expect([admissions.lastIn("a"), admissions.size]).toEqual([2000, 3]);
    admissions.forgetUntil(1999);
    expect(admissions.size).toBe(3);
    admissions.forgetUntil(2000);
    expect([admissions.lastIn("a"), admissions.size]).toEqual([null, 0]);
  });
});
