/** Reduced tolerations decide every eviction as the whole list does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import { evictionOf, reducedTolerations, unreadableTolerationOf } from "../../services/domain/toleration.ts";

const key = fc.constantFrom("", "a", "b", "c");
const value = fc.constantFrom("", "1", "2", "x");
const anyToleration = fc.record(
  {
    key,
    operator: fc.constantFrom("", "Exists", "Equal", "Lt", "Gt", "In"),
    value,
    effect: fc.constantFrom("", "NoExecute", "NoSchedule", "PreferNoSchedule", "NoAdmit"),
    tolerationSeconds: fc.constantFrom(-1, 0, 30, 300),
  },
  { requiredKeys: [] },
);
const anyTaint = fc.record({ key: fc.constantFrom("a", "b", "d"), value, effect: fc.constant("NoExecute") });

test("for any NoExecute taints and taint swaps, with or without comparisons", () => {
  fc.assert(
    fc.property(
      fc.array(anyToleration, { maxLength: 12 }),
      fc.array(anyTaint, { maxLength: 3 }),
      fc.boolean(),
      (tolerations, taints, comparisonOperators) => {
        const [first = { key: "a", effect: "NoExecute" }, second = { key: "b", effect: "NoExecute" }] = taints;
        const lineage = { first, second, since: 0, secondSince: 1000 };
        const standing = taints.map((taint, index) => ({ taint, since: 2000, ...(index === 0 ? { lineage } : {}) }));
        const decide = (list: readonly Toleration[]) => [
          evictionOf(standing, list, 500, { comparisonOperators }),
          unreadableTolerationOf(taints, list, { comparisonOperators }),
        ];
        const reduced = reducedTolerations(tolerations);
        expect(decide(reduced)).toEqual(decide(tolerations));
        expect(reducedTolerations(reduced)).toEqual(reduced);
        expect(tolerations.filter((each) => reduced.includes(each))).toEqual(reduced);
      },
    ),
    { numRuns: 5000 },
  );
});

test("of ten thousand repeated or irrelevant ones only the deciding few remain", () => {
  const many = Array.from({ length: 10_000 }, (_, index): Toleration[] => [
    { key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: index },
    { key: `k-${index}`, operator: "Exists", effect: "NoSchedule" },
    { key: "b", value: "x", effect: "" },
  ]).flat();
  expect(reducedTolerations(many)).toEqual([many[0], many[2]]);
});
