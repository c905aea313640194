/** What is said where nothing shows the answer: that it is not known, and never a guess. */
import { describe, expect, test } from "vitest";
import type { RemediatedNode } from "../../../protocols/judged.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { evictionReason, rateText, reasonToStay } from "../../../services/cli/preview/pod-reasons.policy.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { Incident } from "../../../services/ledger/compare/incident.ts";
import { fixedPolicies } from "../../../services/platform/node-policies/policy-receiver.ts";
import { noExecute, observedNode, observedPod } from "../../support/observed-objects.ts";
import { judgedNode, ledgerWorld, seePulses } from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const UNREACHABLE = "node.kubernetes.io/unreachable";

/** An incident whose steps the others took, and Vigil took no part in. */
function takenByOthers(): Incident {
  const incident = new Incident("n-1", "uid-n-1", 0);
  const { notReady, deleted } = incident.podOf(observedPod("web"));
  for (const step of [incident.unknown, incident.noExecute, notReady, deleted]) step.shown({ at: 1, id: "o" });
  return incident;
}

test("a comparison does not guess why Vigil did nothing", () => {
  const incident = takenByOthers();
  const { unknown, noExecute: taint } = incident.report() ?? {};
  const [pod] = incident.podReports();
  for (const step of [unknown, taint, pod?.notReady, pod?.deleted]) expect(step?.why).toMatch(/^not known: /);
});

describe("a preview does not guess", () => {
  const stays = { held: null, profile: STANDARD_PROFILE };

  test("why a pod of a tainted node stays", () => {
    expect(reasonToStay({ pod: observedPod("web") }, { ...stays, taints: [noExecute(UNREACHABLE)] })).toBe("not known");
    const tolerations = [{ operator: "Exists" }];
    const tolerant = reasonToStay(
      { pod: observedPod("web", { tolerations }) },
      { ...stays, taints: [noExecute(UNREACHABLE)] },
    );
    expect(tolerant).toBe(`tolerates ${UNREACHABLE}:NoExecute`);
  });

  test("why a pod is evicted that no taint evicts", () => {
    expect(evictionReason({}, { evictionMode: "taint" })).toBe("not known");
    expect(evictionReason({}, { evictionMode: "direct" })).toBe("its node is drained");
  });

  test.each([
    [{ maxPerMinute: 1, maxPerNamespacePerMinute: 1 }, "a rate of evictions of gpu, which one is not known"],
    [{ maxPerNamespacePerMinute: 1 }, "evictions.maxPerNamespacePerMinute of gpu"],
    [{ maxPerMinute: 1 }, "evictions.maxPerMinute of gpu"],
  ])("which rate a pod waits for (%o)", (evictions, text) => {
    expect(rateText(nodePolicyOf("gpu", { selector: { matchLabels: { pool: "gpu" } }, evictions }))).toBe(text);
  });
});

describe("a judgement without its instants", () => {
  const said = (judged: Parameters<typeof judgedNode>[1]): string => {
    const world = ledgerWorld();
    seePulses(world);
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1", judged), null);
    return world.ledger.reader.explainNode("n-1")?.sentences.join("\n") ?? "";
  };

  test("has a condition that heals, without a date", () => {
    const taint = { key: "disk", effect: "NoExecute" as const };
    const conditions = [{ type: "DiskOk", status: "True" as const, taint, state: "healing" as const }];
    expect(said({ conditions })).toMatch(
      /since an instant that is not known, so the taint \S+ has to go at an instant that is not known\./,
    );
  });

  test("has a proof that something blocks", () => {
    const outOfService = { state: "held" as const };
    expect(said({ readiness: "unknown", outOfService })).toMatch(/, and something that is not known blocks /);
  });
});

describe("a remediation", () => {
  const spec = { selector: { matchLabels: { pool: "gpu" } } };
  const said = (report: Partial<RemediatedNode>): string => {
    const world = ledgerWorld({ policies: fixedPolicies(policySet([nodePolicyOf("gpu", spec)])) });
    seePulses(world);
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    world.receive("judged.node", judgedNode("n-1", { readiness: "unknown", policy: "gpu" }), null);
    const nodes = [{ node: "n-1", state: "running" as const, kind: "Reboot", ...report }];
    world.receive("judged.remediations", { policy: "gpu", nodes }, null);
    return world.ledger.reader.explainNode("n-1")?.sentences.find((text) => text.includes("Reboot")) ?? "";
  };

  test.each<[string, Partial<RemediatedNode>, string]>([
    ["that is due has not run", { state: "due" }, "Its remediation by Reboot is due: its object is created next."],
    [
      "has no beginning that is not known",
      {},
      "Its remediation by Reboot has run since an instant that is not known, its end is not known.",
    ],
    [
      "whose time is over does not last until then",
      { sinceAt: START_AT - 120_000, untilAt: START_AT - 60_000 },
      "Its remediation by Reboot has run since 2025-12-31T23:58:00Z, its time was over at 2025-12-31T23:59:00Z.",
    ],
  ])("%s", (_what, report, text) => expect(said(report)).toBe(text));
});
