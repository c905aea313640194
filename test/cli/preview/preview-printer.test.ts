/** What a preview prints of its nodes. */
import { expect, test } from "vitest";
import type { PreviewedNodeReport, PreviewedPodReport } from "../../../services/cli/preview/preview.ts";
import { previewText } from "../../../services/cli/preview/preview-printer.ts";

const STAYS = { zone: "a", unknownAfterMs: null, admittedAfterMs: null, heldBy: null, pods: 1, podsDeleted: 0 };

const RATES = { nodeEvictionsPerSecond: 0.1, secondaryNodeEvictionsPerSecond: 0.01 };
const NOTHING = { fault: "n-0 is down", at: 0, zones: [], pods: [], overAfterMs: 0, unread: [] };
const ASSUMES = { nodeMonitorGraceMs: 50_000, ...RATES, source: "flags" };

/** The policies that a preview prints, one of each node; null without the column. */
function printedPolicies(...nodes: readonly Pick<PreviewedNodeReport, "policy" | "conflict">[]): string[] | null {
  const reports = nodes.map((node, index) => ({ node: `n-${index}`, ...STAYS, ...node }));
  const preview = { ...NOTHING, nodes: reports, assumes: ASSUMES };
  const [heading = "", ...rows] = previewText(preview, 20)
    .split("\n")
    .filter((line) => /^(?:NODE|n-)/.test(line));
  const from = heading.indexOf("POLICY");
  return from < 0 ? null : rows.map((row) => row.slice(from, heading.indexOf("UNKNOWN")).trim());
}

test("the policies of nodes are printed where a node has one, or a conflict", () => {
  expect(printedPolicies({ policy: null }, { policy: null })).toBeNull();
  expect(printedPolicies({ policy: "gpu" }, { policy: null })).toEqual(["gpu", "-"]);
  // Of policies in conflict none applies.
  const conflict = ["gpu", "spot"];
  expect(printedPolicies({ policy: null, conflict })).toEqual(["gpu and spot conflict"]);
});

test("the earliest time is printed of a pod without a known one", () => {
  const pod = { namespace: "shop", node: "n-0", why: "tainted" };
  const pods: PreviewedPodReport[] = [
    { ...pod, name: "cart", deletedAfterMs: 45_900, earliestAfterMs: 45_900 },
    { ...pod, name: "till", deletedAfterMs: null, earliestAfterMs: 45_900 },
    { ...pod, name: "proxy", deletedAfterMs: null },
  ];
  const nodes = [{ node: "n-0", policy: "gpu", ...STAYS }];
  const lines = previewText({ ...NOTHING, nodes, pods, overAfterMs: 45_900, assumes: ASSUMES }, 20).split("\n");
  expect(lines[1]).toContain(
    "1 pod would be deleted and 1 would stay; all of it within 46s, but for 2 pods without a known time.",
  );
  expect(lines.filter((line) => line.startsWith("shop"))).toEqual([
    "shop        cart    n-0    in 45s at the earliest   tainted",
    "shop        till    n-0    not known                tainted",
    "shop        proxy   n-0    stays                    tainted",
  ]);
});
