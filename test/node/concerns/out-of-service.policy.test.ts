/** What a node needs about the out-of-service taint, and what limits hold it back. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { OUT_OF_SERVICE } from "../../../services/domain/out-of-service.ts";
import { type TaintFinding, together } from "../../../services/node/concerns/concern.ts";
import {
  endedRecords,
  isTaintOver,
  outOfServiceReport,
} from "../../../services/node/concerns/out-of-service/out-of-service.policy.ts";
import { taintChangeOf } from "../../../services/node/taint.policy.ts";
import { LimitBlocks, limitBlock } from "../../../services/platform/node-policies/limit-blocks.ts";
import { condition, nodeWith, taint } from "../node-fixtures.ts";

const NOW = Date.UTC(2026, 0, 1, 1);
/** How long limits count that are published again every 10 s. */
const KNOWN_MS = STANDARD_PROFILE.pulseTimeoutMs + 10_000;
const UNREACHABLE = taint("node.kubernetes.io/unreachable", "NoExecute");
const OWN = { ...OUT_OF_SERVICE, timeAdded: "2026-01-01T00:30:00Z" };
const OWN_AT = Date.UTC(2026, 0, 1, 0, 30);
const PROOF = { proof: "Manual", by: "oncall", at: NOW - 600_000, reason: "off" } as const;
const SILENT = [condition("Ready", "Unknown", { transitionAt: NOW - 1_200_000 })];

const policyWith = (outOfService: object): NodePolicy =>
  nodePolicyOf("gpu", { selector: {}, outOfService: { after: "3m", proof: ["Manual"], ...outOfService } });
const silent = (fields: Partial<ObservedNode> = {}) =>
  nodeWith(null, { conditions: SILENT, taints: [UNREACHABLE], provedDown: PROOF, ...fields });
const declared = (fields: Partial<ObservedNode> = {}, ready: "True" | null = null) =>
  nodeWith(ready, {
    ...(ready === null ? { conditions: SILENT } : {}),
    taints: [OWN],
    outOfServiceAt: OWN_AT,
    provedDown: PROOF,
    ...fields,
  });

describe("what is published of a node", () => {
  const report = (node: ObservedNode, policy: NodePolicy | null, heldBy: string | null = null) =>
    outOfServiceReport({ node, policy, frozen: [], blockedBy: heldBy, wallMs: NOW });

  test.each([
    ["without a policy", silent(), null, undefined],
    ["with a policy without the field", silent(), nodePolicyOf("gpu", { selector: {} }), undefined],
    ["that is due", silent(), policyWith({}), { state: "due" }],
    ["that is not due", silent(), policyWith({ after: "1h" }), { state: "waits", fromAt: NOW + 2_401_000 }],
    [
      "without a proof",
      silent({ provedDown: undefined } as never),
      policyWith({}),
      { state: "unproved", acceptsManual: true },
    ],
    [
      "that only a remediation proves",
      silent(),
      policyWith({ proof: ["RemediationSucceeded"] }),
      { state: "unproved", acceptsManual: false },
    ],
    ["that is Ready", declared({}, "True"), policyWith({}), undefined],
    ["that is Ready and kept", declared({}, "True"), policyWith({ removeWhenReady: false }), { state: "kept" }],
  ])("%s", (_what, node, policy, expected) => {
    expect(report(node, policy)).toEqual(expected);
  });

  test("is held only once it is due", () => {
    expect(report(silent(), policyWith({}), "spec.mode")).toEqual({ state: "held", heldBy: "spec.mode" });
    expect(report(silent(), policyWith({ after: "1h" }), "spec.mode")?.state).toBe("waits");
  });

  test("has no instant while a freeze has no end", () => {
    const frozen = [{ fromAt: NOW - 1_100_000, toAt: null }];
    const situation = { node: silent(), policy: policyWith({}), frozen, blockedBy: null, wallMs: NOW };
    expect(outOfServiceReport(situation)).toEqual({ state: "waits" });
  });
});

describe("Vigil's own taint is over", () => {
  test.each([
    ["while the node is silent and proved", declared(), false, false],
    ["when its proof was withdrawn", declared({ provedDown: undefined } as never), false, true],
    ["when the node is Ready", declared({}, "True"), false, true],
    ["not where people take it off", declared({}, "True"), true, false],
    ["never of another client", declared({ outOfServiceAt: undefined } as never, "True"), false, false],
  ])("%s: %#", (_what, node, keepsReady, isOver) => {
    expect(isTaintOver(node, keepsReady)).toBe(isOver);
  });
});

describe("the records of a node", () => {
  const PROVED_DOWN = "vigil.v1/proved-down";
  const RECORD = "vigil.v1/out-of-service";
  test.each([
    ["stay while it is silent", declared(), false, null],
    ["go when it is Ready, that of the taint with the taint", declared({}, "True"), false, { [PROVED_DOWN]: null }],
    ["go together without the taint", declared({ taints: [] }, "True"), false, { [PROVED_DOWN]: null, [RECORD]: null }],
    ["stay where people take the taint off", declared({}, "True"), true, null],
    ["are none of an ordinary node", nodeWith("True"), false, null],
  ])("%s", (_what, node, keepsReady, ended) => {
    expect(endedRecords(node, keepsReady)).toEqual(ended);
  });
});

describe("the change of the taints", () => {
  const ID = { key: OUT_OF_SERVICE.key, effect: OUT_OF_SERVICE.effect };
  const alone = {
    add: [ID],
    remove: [],
    why: "conditions" as const,
    outOfService: { provedAt: 1, leaseRenewedAt: null },
  };
  const change = (taints: Partial<TaintFinding>, on = nodeWith("True")) =>
    taintChangeOf(on, "taint", together([{ taints }]).taints);

  test("puts it on alone, after any other change", () => {
    expect(change({ alone })).toEqual(alone);
    expect(change({ alone }, nodeWith("False"))?.add.map(({ effect }) => effect)).toEqual(["NoSchedule"]);
  });

  test("takes it off with any other change, and as healing", () => {
    expect(change({ remove: [ID] })).toEqual({ add: [], remove: [ID], why: "healing" });
    const tainted = nodeWith("True", { taints: [taint(UNREACHABLE.key, "NoExecute")] });
    expect(change({ remove: [ID] }, tainted)).toEqual({
      add: [],
      remove: [ID, { key: UNREACHABLE.key, effect: UNREACHABLE.effect }],
      why: "healing",
    });
  });

  test("is none otherwise", () => {
    expect(change({})).toBeNull();
  });
});

describe("limits", () => {
  const CALM = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
  const limits = (fields: object, memory: object = {}) => ({ condemned: 1, memory: { ...CALM, ...memory }, ...fields });

  test.each([
    ["nothing", limits({}), null],
    ["an open breaker", limits({}, { trippedAt: NOW, isStorm: true }), "circuitBreaker"],
    ["a storm", limits({}, { isStorm: true }), "maxUnhealthy, or a halt"],
    ["the time after a storm", limits({}, { stormEndedAt: NOW - 59_999 }), "stormCooldownDuration"],
    ["nothing once that is over", limits({}, { stormEndedAt: NOW - 60_000 }), null],
    ["a full budget, which counts the node", limits({ budget: 1 }), null],
    ["a budget that became smaller", limits({ budget: 0 }), "budgets"],
  ])("hold a condemned node back: %s", (_what, present, field) => {
    expect(limitBlock(present, 60_000, NOW)).toBe(field);
  });

  const at = (nowMs: number) => ({ nowMs, wallMs: NOW });
  const body: BodyOf<"judged.limits"> = {
    policy: "gpu",
    selected: 2,
    unhealthy: 1,
    inWindow: 0,
    permits: [],
    holds: [],
    ...limits({ budget: 0 }),
  };
  const limited = nodePolicyOf("gpu", { selector: {}, budgets: [{ nodes: 1 }] });

  test("that are not known, or not any more, hold it back", () => {
    const holds = new LimitBlocks(STANDARD_PROFILE);
    expect(holds.blockedBy(limited, at(0))).toBe("limits not known yet of gpu");
    holds.onLimits({ body }, 0);
    expect(holds.blockedBy(limited, at(KNOWN_MS - 1))).toBe("budgets of gpu");
    expect(holds.blockedBy(limited, at(KNOWN_MS))).toBe("limits not known yet of gpu");
  });

  test("of nobody hold nothing back", () => {
    const free = nodePolicyOf("gpu", { selector: {} });
    expect(new LimitBlocks(STANDARD_PROFILE).blockedBy(free, at(0))).toBeNull();
    const breaker = { ...STANDARD_PROFILE, circuitBreakerNodesMax: 2 };
    expect(new LimitBlocks(breaker).blockedBy(free, at(0))).toBe("limits not known yet of the cluster");
  });

  test("of a policy that is gone are forgotten", () => {
    const holds = new LimitBlocks(STANDARD_PROFILE);
    holds.onLimits({ body }, 0);
    holds.keep(new Set());
    expect(holds.blockedBy(limited, at(1))).toBe("limits not known yet of gpu");
  });
});
