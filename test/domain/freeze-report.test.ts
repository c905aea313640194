/** Who freezes nodes, and until when, as people read it. */
import { expect, test } from "vitest";
import { type Freezes, NO_FREEZES, type NodePolicy, type PauseRequest } from "../../protocols/policy-set.ts";
import { freezeReport, freezeText } from "../../services/domain/freeze-report.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";

const NOW = 1000;
const alice: PauseRequest = { name: "alice", reason: "switch maintenance", sinceAt: 500, untilAt: 2000 };
const bob: PauseRequest = { name: "bob", reason: null, sinceAt: 1500, untilAt: null };

const everywhere = (toAt: number | null): Freezes => ({ pauseRequests: [alice], frozen: [{ fromAt: 500, toAt }] });
function policy(name: string, mode: NodePolicy["mode"], fromAt: number | null = 800): NodePolicy {
  const frozen = fromAt === null ? [] : [{ fromAt, toAt: null }];
  return { ...nodePolicyOf(name, { selector: {}, mode }, frozen), pauseRequests: [bob] };
}

test.each([
  ["nothing", [policy("gpu", "Enforce", null)], NO_FREEZES, null],
  ["a freeze to come", [policy("gpu", "Enforce", 1001)], NO_FREEZES, null],
  ["a freeze that has just ended", [], everywhere(1000), null],
  ["all nodes", [], everywhere(2000), "alice (switch maintenance) through vigil freeze --all"],
  ["the mode of a policy", [policy("gpu", "Freeze")], NO_FREEZES, "mode Freeze through NodePolicy gpu"],
  ["a request that was removed just now", [policy("gpu", "Enforce")], NO_FREEZES, "a request that has ended"],
  [
    "both",
    [policy("gpu", "Freeze")],
    everywhere(2000),
    "alice (switch maintenance) through vigil freeze --all and mode Freeze through NodePolicy gpu",
  ],
] as const)("nodes are frozen by %s", (_what, policies, all, text) => {
  const report = freezeReport(policies, all, NOW);
  expect(report && freezeText(report).text).toBe(text);
});

test("a freeze that others continue has their end", () => {
  expect(freezeReport([policy("gpu", "Freeze", 900)], everywhere(2000), NOW)).toMatchObject({
    sinceAt: 500,
    untilAt: null,
  });
  expect(freezeReport([], everywhere(2000), NOW)).toMatchObject({ sinceAt: 500, untilAt: 2000 });
});
