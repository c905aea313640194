/** The words for what a controller did. */
import { expect, test } from "vitest";
import type { Outcome } from "./judge.ts";
import { incidentTable, outcomeText, summaryTable } from "./report.ts";

const RIGHT: Outcome = {
  wrong: [],
  rightly: 2,
  missing: [],
  falseVerdicts: [],
  notFound: [],
  verdictSeconds: [12, 12.34],
  writes: 8,
  missed: [],
  worksAfter: true,
  nodeSeconds: 31_557.6,
};
const WRONG: Outcome = { ...RIGHT, rightly: 0, wrong: ["p"], falseVerdicts: ["n", "m"], worksAfter: false };
const PLAYED = [
  {
    incident: {
      name: "dies",
      title: "A machine dies",
      reports: ["kubernetes#55713", "k0sproject/k0s#6955"],
      seen: "",
      groups: {},
      timeline: [],
      right: {},
      because: "It died.",
    },
    outcomes: { "kube-controller-manager": WRONG, vigil: RIGHT },
  },
];

test("what is right is short, what is wrong comes first", () => {
  expect(outcomeText(RIGHT)).toBe("right, 2 evicted, 12.3 s, 8 w");
  expect(outcomeText(WRONG)).toBe("**1 wrongly**, **2 false**, **blind afterwards**, 12.3 s, 8 w");
});

test("a row links its reports", () => {
  const [, , row] = incidentTable(PLAYED).split("\n");
  expect(row).toContain("[kubernetes#55713](https://github.com/kubernetes/kubernetes/issues/55713)");
  expect(row).toContain("[k0s#6955](https://github.com/k0sproject/k0s/issues/6955)");
});

test("the summary counts by node-years", () => {
  const rows = summaryTable(PLAYED).split("\n");
  expect(rows).toContain("| kube-controller-manager | 0 of 1 | 1 (1,000) | 2 (2,000) | 0 |");
  expect(rows).toContain("| Vigil | 1 of 1 | 0 (0) | 0 (0) | 0 |");
});

test("a large cluster alone has no rate per node-year", () => {
  const large = PLAYED.map(({ incident, outcomes }) => ({
    incident: { ...incident, isLarge: true as const },
    outcomes,
  }));
  expect(summaryTable(large)).toContain("| Vigil | 1 of 1 | 0 | 0 | 0 |");
});
