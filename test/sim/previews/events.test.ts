/** Whether a preview that did not come true is found, and one that did is not. */
import { expect, test } from "vitest";
import { type PreviewedEvent, previewedEvents, previewProblem } from "./events.ts";

const UNTIL_MS = 100_000;
const TAINTED: PreviewedEvent = { what: "n-1 is tainted", afterMs: 40_000 };

function after(afterMs: number): PreviewedEvent {
  return { ...TAINTED, afterMs };
}

function unknown(afterMs: number): PreviewedEvent {
  return { what: "n-2 becomes Unknown", afterMs };
}

test.each<[string, readonly PreviewedEvent[], readonly PreviewedEvent[], string | null]>([
  ["what came true", [TAINTED], [after(40_900)], null],
  ["what comes later than the run lasts", [after(150_000)], [], null],
  ["what comes as the run ends", [after(99_500)], [], null],
  ["what did not happen", [TAINTED], [], "n-1 is tainted after 40.0 s, as previewed, did not happen within 100.0 s"],
  ["what happened late", [TAINTED], [after(42_000)], "n-1 is tainted after 42.0 s, and was previewed after 40.0 s"],
  ["what happened early", [TAINTED], [after(38_000)], "n-1 is tainted after 38.0 s, and was previewed after 40.0 s"],
  ["what comes later than the earliest", [{ ...TAINTED, isEarliest: true }], [after(70_000)], null],
  ["what does not come, and has only an earliest", [{ ...TAINTED, isEarliest: true }], [], null],
  [
    "what comes before the earliest",
    [{ ...TAINTED, isEarliest: true }],
    [after(38_000)],
    "n-1 is tainted after 38.0 s, and was previewed after 40.0 s",
  ],
  ["what ties with a verdict of another node", [unknown(40_004), TAINTED], [unknown(40_010), after(45_000)], null],
  [
    "what comes well before a verdict of another node",
    [TAINTED, unknown(40_100)],
    [unknown(40_110), after(45_000)],
    "n-1 is tainted after 45.0 s, and was previewed after 40.0 s",
  ],
  ["what was missed", [], [TAINTED], "n-1 is tainted after 40.0 s, which was not previewed"],
])("reports %s", (_what, previewed, seen, problem) => {
  expect(previewProblem(previewed, seen, UNTIL_MS)).toBe(problem);
});

test("takes the events of nodes and pods, of taints only where nodes are tainted", () => {
  const node = { node: "n-1", zone: "z", policy: null, heldBy: null, pods: 2, podsDeleted: 1 };
  const nodes = [{ ...node, unknownAfterMs: 30_000, admittedAfterMs: 31_000 }];
  const pod = { namespace: "default", node: "n-1", why: "" };
  const pods = [
    { ...pod, name: "web", deletedAfterMs: 61_000 },
    { ...pod, name: "stays", deletedAfterMs: null },
    { ...pod, name: "shop", deletedAfterMs: null, earliestAfterMs: 61_000 },
  ];
  const whats = (isDirect: boolean) => previewedEvents({ nodes, pods }, isDirect).map(({ what }) => what);
  const deleted = ["web is deleted", "shop is deleted"];
  expect(whats(false)).toEqual(["n-1 becomes Unknown", "n-1 is tainted", ...deleted]);
  expect(whats(true)).toEqual(["n-1 becomes Unknown", ...deleted]);
});
