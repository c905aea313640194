/** When a policy does what about the machine of a silent node, as a preview says it. */
import { expect, test } from "vitest";
import type { NodePolicySpec } from "../../../protocols/node-policy.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { recoveryOf } from "../../../services/cli/preview/recovery.policy.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { noExecute, observedNode } from "../../support/observed-objects.ts";

const S = 1000;
const TAKEN_AT = Date.UTC(2026, 0, 5, 12);
const UNREACHABLE = noExecute("node.kubernetes.io/unreachable");

const stepOf = (kind: string, dryRun = false) => {
  const template = { apiVersion: "example.com/v1", kind: `${kind}Template`, name: "t", namespace: "default" };
  return { template, timeout: "5m", ...(dryRun ? { dryRun } : {}) };
};

/** The recovery of a node that is Unknown after 50 s and admitted after 60 s, under a policy of these fields. */
function recovery(fields: Omit<NodePolicySpec, "selector">, profile = STANDARD_PROFILE) {
  const policy = nodePolicyOf("gpu", { selector: {}, ...fields });
  const conditions = [{ type: "Ready", status: "Unknown", heartbeatAt: 0, transitionAt: TAKEN_AT + 50 * S } as const];
  const shown = observedNode("n", { conditions, taints: [UNREACHABLE] });
  const silent = { shown, unknownMs: 50 * S, admittedMs: 60 * S };
  return recoveryOf(silent, policy, { policies: policySet([policy]), profile, snapshot: { takenAt: TAKEN_AT } });
}

test("each remediation comes once the one before has timed out", () => {
  expect(recovery({ remediations: [stepOf("Reboot"), stepOf("PowerOff")] })).toEqual({
    remediations: [
      { kind: "Reboot", createdAfterMs: 60 * S, timesOutAfterMs: 360 * S },
      { kind: "PowerOff", createdAfterMs: 360 * S, timesOutAfterMs: 660 * S },
    ],
  });
});

test("no remediation follows a dry run", () => {
  expect(recovery({ remediations: [stepOf("Reboot", true), stepOf("PowerOff")] })).toEqual({
    remediations: [{ kind: "Reboot", createdAfterMs: 60 * S, timesOutAfterMs: null, isDryRun: true }],
  });
});

test.each([
  ["3m", 231],
  ["5s", 60],
])("a proof counts %s after the silence, and not before the taint", (after, seconds) => {
  const outOfService = { after, proof: ["Manual" as const] };
  expect(recovery({ outOfService })).toEqual({ outOfService: { fromAfterMs: seconds * S, proofs: ["Manual"] } });
});

test("beside upstream no node is declared out of service", () => {
  const outOfService = { after: "3m", proof: ["Manual" as const] };
  expect(recovery({ outOfService }, { ...STANDARD_PROFILE, upstream: "beside" })).toEqual({});
});
