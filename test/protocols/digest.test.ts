/**
 * Shows that a digest follows a changing map in any order, and that maps with one different pair have different
 * digests.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digestWith, digestWithout, EMPTY_DIGEST, nodeVersion, sameDigest } from "../../protocols/digest.ts";
import type { Digest } from "../../protocols/observed.ts";

const pairs = fc.uniqueArray(fc.tuple(fc.string(), fc.string()), { selector: ([name]) => name, maxLength: 30 });
const digestOf = (list: readonly (readonly [string, string])[]): Digest =>
  list.reduce((digest, [name, version]) => digestWith(digest, name, version), EMPTY_DIGEST);

describe("a digest", () => {
  test("does not depend on the order in which pairs were added", () => {
    fc.assert(
      fc.property(
        pairs.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([list, shuffled]) => sameDigest(digestOf(list), digestOf(shuffled)),
      ),
    );
  });

  test("is unchanged after a pair came and went", () => {
    fc.assert(
      fc.property(pairs, fc.string(), fc.string(), (list, name, version) => {
        const before = digestOf(list);
        expect(digestWithout(digestWith(before, name, version), name, version)).toEqual(before);
      }),
    );
  });

  test("is empty after every pair was removed", () => {
    fc.assert(
      fc.property(pairs, (list) => {
        const left = list.reduce((digest, [name, version]) => digestWithout(digest, name, version), digestOf(list));
        expect(left).toEqual(EMPTY_DIGEST);
      }),
    );
  });

  test("stays an unsigned 32-bit sum", () => {
    fc.assert(fc.property(pairs, (list) => digestOf(list).sum >= 0 && digestOf(list).sum <= 0xffffffff));
  });

  test.each([
    [
      "a missing node",
      [["a", "1"]],
      [
        ["a", "1"],
        ["b", "1"],
      ],
    ],
    ["an older version", [["a", "1"]], [["a", "2"]]],
    [
      "two versions swapped",
      [
        ["a", "1"],
        ["b", "2"],
      ],
      [
        ["a", "2"],
        ["b", "1"],
      ],
    ],
    ["a name that runs into its version", [["a", "b"]], [["ab", ""]]],
  ] as [string, [string, string][], [string, string][]][])("distinguishes %s", (_what, left, right) => {
    expect(sameDigest(digestOf(left), digestOf(right))).toBe(false);
  });
});

/** Digests of two nodes before and after both were written, for each pair of sixty nodes. */
function rewrittenPairs(): (readonly [Digest, Digest])[] {
  const names = Array.from({ length: 60 }, (_, index) => `node-${index}`);
  const ofBoth = (left: string, right: string, versions: readonly [string, string]): Digest =>
    digestOf([
      [left, `${left}@${versions[0]}`],
      [right, `${right}@${versions[1]}`],
    ]);
  return names.flatMap((left, index) =>
    names.slice(index + 1).map((right) => {
      return [ofBoth(left, right, ["105", "106"]), ofBoth(left, right, ["107", "108"])] as const;
    }),
  );
}

test("two nodes that change at once do not cancel each other out", () => {
  expect(rewrittenPairs().filter(([before, after]) => sameDigest(before, after))).toEqual([]);
});

test("with an older member the plain sum alone is compared", () => {
  const { mixed: _, ...older } = digestOf([["a", "1"]]);
  expect(sameDigest(older, digestOf([["a", "1"]]))).toBe(true);
  expect(sameDigest(digestOf([["a", "2"]]), older)).toBe(false);
});

test("a node's version covers what policies need of the node", () => {
  const node = { uid: "u1", resourceVersion: "7" };
  const others = [
    { ...node, uid: "u2" },
    { ...node, resourceVersion: "8" },
    { ...node, policyLabels: 1 },
  ];
  for (const other of others) expect(nodeVersion(other)).not.toBe(nodeVersion(node));
});

test("a node's version is its uid and resourceVersion while policies need nothing", () => {
  expect(nodeVersion({ uid: "u1", resourceVersion: "7" })).toBe("u1@7");
});
