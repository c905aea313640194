/** Whether the live node may be declared out of service: anything that is not known refuses it. */
import { expect, test } from "vitest";
import type { ObservedNode } from "../../protocols/objects.ts";
import { NO_FREEZES } from "../../protocols/policy-set.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";
import { forbiddenChange } from "../../services/node-writer/allowed-changes.policy.ts";
import { outOfServiceRefusal } from "../../services/node-writer/rules/out-of-service.policy.ts";
import { condition, nodeWith } from "../node/node-fixtures.ts";

const S = 1000;
const NOW = Date.UTC(2026, 0, 1, 1);
const SILENT_AT = NOW - 600 * S;
const PROVED_AT = NOW - 540 * S;
const RENEWED_AT = NOW - 660 * S;
const GRACE_MS = 50 * S;
const ASK = { provedAt: PROVED_AT, leaseRenewedAt: RENEWED_AT };
const TAINT = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };

const POLICY = nodePolicyOf("gpu", { selector: {}, outOfService: { after: "3m", proof: ["Manual"] } });
const LIVE = nodeWith(null, {
  conditions: [condition("Ready", "Unknown", { transitionAt: SILENT_AT })],
  taints: [UNREACHABLE],
  provedDown: { proof: "Manual", by: "oncall", at: PROVED_AT, reason: "off" },
});
const SITUATION = {
  live: LIVE as ObservedNode | null,
  leaseRenewedAt: RENEWED_AT as number | null | undefined,
  policies: policySet([POLICY]),
  wallMs: NOW,
  profile: { nodeStartupGraceMs: 60_000, nodeMonitorGraceMs: GRACE_MS },
};
const frozen = { ...NO_FREEZES, frozen: [{ fromAt: NOW - S, toAt: null }] };
const unproved = nodeWith(null, { conditions: LIVE.conditions, taints: LIVE.taints });

test.each<[string, Partial<Parameters<typeof outOfServiceRefusal>[1]>, RegExp | null]>([
  ["by all that it needs", {}, null],
  ["again, where the taint is on", { live: { ...LIVE, taints: [UNREACHABLE, TAINT] } }, null],
  ["without a lease", { leaseRenewedAt: null }, null],
  ["unread", { live: null }, /were not read/],
  ["with its lease unread", { leaseRenewedAt: undefined }, /were not read/],
  ["by a renewal meanwhile", { leaseRenewedAt: RENEWED_AT + S }, /renewed its lease meanwhile/],
  ["without a proof", { live: unproved }, /: unproved/],
  ["that is Ready", { live: { ...LIVE, conditions: [condition("Ready", "True")] } }, /is not silent/],
  ["that is NotReady", { live: { ...LIVE, conditions: [condition("Ready", "False")] } }, /is not silent/],
  ["that was not admitted", { live: { ...LIVE, taints: [] } }, /: notAdmitted/],
  ["before its time", { wallMs: SILENT_AT + 181 * S - 1 }, /: waits/],
  ["at its time", { wallMs: SILENT_AT + 181 * S }, null],
  ["of no policy", { policies: policySet([]) }, /no policy/],
  ["of policies that are not known", { policies: null }, /frozen: the node's policy is not known yet/],
  ["of a policy without the field", { policies: policySet([{ ...POLICY, outOfService: null }]) }, /no policy/],
  ["that is frozen", { policies: policySet([POLICY], frozen) }, /is frozen/],
])("a node %s", (_what, fields, refusal) => {
  const found = outOfServiceRefusal(ASK, { ...SITUATION, ...fields });
  if (refusal === null) expect(found).toBeNull();
  else expect(found).toMatch(refusal);
});

test.each([
  ["within the grace", { leaseRenewedAt: NOW - GRACE_MS + 1, provedAt: NOW }, /within its grace/],
  ["as old as the grace", { leaseRenewedAt: NOW - GRACE_MS, provedAt: NOW }, null],
  ["at the proof", { leaseRenewedAt: PROVED_AT, provedAt: PROVED_AT }, /after the proof/],
])("a lease that was renewed %s", (_what, ask, refusal) => {
  const live = { ...LIVE, provedDown: { ...LIVE.provedDown, at: ask.provedAt } } as ObservedNode;
  const found = outOfServiceRefusal(ask, { ...SITUATION, live, leaseRenewedAt: ask.leaseRenewedAt });
  if (refusal === null) expect(found).toBeNull();
  else expect(found).toMatch(refusal);
});

test("another proof than the one that was requested refuses it", () => {
  expect(outOfServiceRefusal({ ...ASK, provedAt: PROVED_AT - 1 }, SITUATION)).toBe("the proof was replaced");
});

const BASIS = { node: "n", uid: "u", resourceVersion: "1", taints: [], ready: "Unknown" } as const;
const TAINT_MODE = { evictionMode: "taint", upstream: "replace" } as const;

test.each([
  ["by a proof", { add: [TAINT], remove: [], why: "conditions", outOfService: ASK }, TAINT_MODE, true],
  ["without a proof", { add: [TAINT], remove: [], why: "conditions" }, TAINT_MODE, false],
  [
    "with another taint",
    { add: [TAINT, UNREACHABLE], remove: [], why: "conditions", outOfService: ASK },
    TAINT_MODE,
    false,
  ],
  ["as a grant", { add: [TAINT], remove: [], why: "granted", outOfService: ASK }, TAINT_MODE, false],
  [
    "in direct mode",
    { add: [TAINT], remove: [], why: "conditions", outOfService: ASK },
    { ...TAINT_MODE, evictionMode: "direct" },
    false,
  ],
  ["off", { add: [], remove: [TAINT], why: "healing" }, TAINT_MODE, true],
  ["off with a grant", { add: [UNREACHABLE], remove: [TAINT], why: "granted" }, TAINT_MODE, false],
] as const)("a service may ask for the taint %s: %#", (_what, change, mode, isAllowed) => {
  const body = { ...BASIS, ...change, add: [...change.add], remove: [...change.remove] };
  expect(forbiddenChange({ type: "asked.taint", body: { ...body, taints: [] } }, mode) === null).toBe(isAllowed);
});

test.each([
  ["vigil.v1/proved-down", null, true],
  ["vigil.v1/out-of-service", null, true],
  ["vigil.v1/proved-down", "{}", false],
  ["vigil.v1/out-of-service", "2026-01-01T00:00:00Z", false],
])("a service may set annotation %s to %j: %s", (name, text, isAllowed) => {
  const body = { node: "n", uid: "u", resourceVersion: "1", labels: {}, annotations: { [name]: text } };
  expect(forbiddenChange({ type: "asked.label", body }, TAINT_MODE) === null).toBe(isAllowed);
});
