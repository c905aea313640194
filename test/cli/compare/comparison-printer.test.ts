/** What `vigil compare` prints: statistics, differences, and the page for a change request. */
import { expect, test } from "vitest";
import type { ComparedStep, ComparisonReport } from "../../../protocols/ledger-reader.ts";
import { comparisonText } from "../../../services/cli/compare/comparison-printer.ts";
import { differencesOf, stepCounts } from "../../../services/cli/compare/comparison-summary.policy.ts";

const AT = Date.UTC(2026, 0, 1);
const NONE: ComparedStep = { vigil: null, others: null, leadMs: null, why: null };
const both = (leadMs: number): ComparedStep => ({
  vigil: { at: AT, id: "v" },
  others: { at: AT + leadMs, id: "o" },
  leadMs,
  why: null,
});
const alone: ComparedStep = {
  vigil: { at: AT, id: "node-writer@v:1" },
  others: null,
  leadMs: null,
  why: "it came | back",
};
const planned: ComparedStep = { vigil: { at: AT, id: "p", isPlanned: true }, others: null, leadMs: null, why: "x" };

const nodeOf = (node: string, unknown: ComparedStep, noExecute: ComparedStep) => ({
  node,
  from: AT,
  to: null,
  otherTaints: [],
  unknown,
  noExecute,
});
const REPORT: ComparisonReport = {
  from: AT,
  at: AT + 3_600_000,
  isCut: true,
  isKept: false,
  gaps: [],
  nodes: [nodeOf("a", both(10_000), both(-4_000)), nodeOf("b", both(20_000), NONE), nodeOf("c", alone, NONE)],
  pods: [{ namespace: "shop", name: "cart", uid: "u", node: "a", notReady: both(10_000), deleted: planned }],
};

test("figures count both sides and each alone, with the leads of both", () => {
  expect(stepCounts(REPORT)).toEqual([
    { what: "Ready=Unknown", both: 2, vigilOnly: 1, othersOnly: 0, leadP50Ms: 10_000, leadP99Ms: 20_000 },
    { what: "NoExecute taint", both: 1, vigilOnly: 0, othersOnly: 0, leadP50Ms: -4_000, leadP99Ms: -4_000 },
    { what: "pod NotReady", both: 1, vigilOnly: 0, othersOnly: 0, leadP50Ms: 10_000, leadP99Ms: 10_000 },
    { what: "pod deleted", both: 0, vigilOnly: 0, othersOnly: 0, leadP50Ms: null, leadP99Ms: null },
  ]);
});

test("a difference names object, side, reason and message; a plan is none", () => {
  expect(differencesOf(REPORT)).toEqual([
    { what: "Ready=Unknown", object: "node c", side: "vigil", at: AT, id: "node-writer@v:1", why: "it came | back" },
  ]);
});

test("the table begins with its time", () => {
  expect(comparisonText(REPORT, "table").split("\n").slice(0, 9)).toEqual([
    "From 2026-01-01T00:00:00Z, the start of the record, to 2026-01-01T01:00:00Z: 3 failed or tainted nodes. A lead is how much later the others did the same; it is negative where they were earlier.",
    "It begins again when Vigil restarts, because JetStream does not keep it.",
    "",
    "STEP              BOTH   VIGIL ONLY   OTHERS ONLY   LEAD P50   LEAD P99",
    "Ready=Unknown     2      1            0             10 s       20 s",
    "NoExecute taint   1      0            0             -4 s       -4 s",
    "pod NotReady      1      0            0             10 s       10 s",
    "pod deleted       0      0            0             -          -",
    "",
  ]);
});

test("the page is Markdown, and a bar in a reason does not end its cell", () => {
  const page = comparisonText(REPORT, "markdown");
  expect(page).toMatch(/^# Vigil compared with upstream\n/);
  expect(page).toContain("| Ready=Unknown | 2 | 1 | 0 | 10 s | 20 s |");
  expect(page).toContain("| node c | Ready=Unknown | vigil | it came \\| back | node-writer@v:1 |");
});

test("JSON holds the report with its figures and differences", () => {
  expect(JSON.parse(comparisonText(REPORT, "json"))).toEqual({
    ...REPORT,
    isOtherSeen: true,
    figures: stepCounts(REPORT),
    differences: differencesOf(REPORT),
  });
});

test("without a difference both sides did the same", () => {
  const report = { ...REPORT, nodes: [nodeOf("a", both(10_000), NONE)], pods: [] };
  expect(comparisonText(report, "table")).toContain("Both sides did the same.");
});

test("where no other controller was seen, Vigil's steps are compared with nothing", () => {
  const report = { ...REPORT, nodes: [nodeOf("c", alone, alone)], pods: [] };
  expect(comparisonText(report, "table").split("\n")).toEqual([
    "From 2026-01-01T00:00:00Z, the start of the record, to 2026-01-01T01:00:00Z: 1 failed or tainted node.",
    "It begins again when Vigil restarts, because JetStream does not keep it.",
    "",
    "STEP              VIGIL",
    "Ready=Unknown     1",
    "NoExecute taint   1",
    "pod NotReady      0",
    "pod deleted       0",
    "",
    "No other controller was seen: nothing that the API showed was another client's.",
    "",
  ]);
});

test("what is recorded of pods in place of upstream is said", () => {
  expect(comparisonText({ ...REPORT, ownPodsFrom: AT }, "table")).toContain(
    "Of pods it has what Vigil did from 2026-01-01T00:00:00Z on, and no more.",
  );
});

test("steps without a known author are counted apart", () => {
  const authorless = { ...NONE, why: "not known: nothing shows who wrote it" };
  const report = { ...REPORT, nodes: [nodeOf("a", authorless, authorless)], pods: [] };
  expect(comparisonText(report, "table")).toContain("Nothing shows who took 2 steps more.");
});
