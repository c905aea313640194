/** When a silent node may be declared out of service: a table with both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { ConditionStatus, ObservedNode } from "../../protocols/objects.ts";
import { downProofText, PROOF_WORDS_MAX, readDownProof } from "../../services/domain/down-proof.ts";
import {
  OUT_OF_SERVICE,
  outOfServiceStage,
  ownOutOfServiceTaint,
  provableFrom,
} from "../../services/domain/out-of-service.ts";
import { condition, nodeWith } from "../node/node-fixtures.ts";

const S = 1000;
const SILENT_AT = Date.UTC(2026, 0, 1);
/** The condition has whole seconds, so a proof counts from the next one. */
const FROM = SILENT_AT + S;
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
const SETTINGS = { afterMs: 180 * S, proofs: ["Manual"] } as const;
const DUE_AT = FROM + 180 * S;

const proofOf = (at: number): NonNullable<ObservedNode["provedDown"]> => ({
  proof: "Manual",
  by: "oncall",
  at,
  reason: "power off",
});

function silent(fields: Partial<ObservedNode> = {}, status: ConditionStatus = "Unknown"): ObservedNode {
  const conditions = [condition("Ready", status, { transitionAt: SILENT_AT })];
  return nodeWith(null, { conditions, taints: [UNREACHABLE], provedDown: proofOf(FROM), ...fields });
}

const stateOf = (node: ObservedNode, wallMs = DUE_AT, settings: Parameters<typeof outOfServiceStage>[1] = SETTINGS) =>
  outOfServiceStage(node, settings, [], wallMs)?.state ?? null;

describe("a node is declared out of service", () => {
  test.each<[what: string, node: ObservedNode, wallMs: number, state: string | null]>([
    ["that is proved to be off, after its time", silent(), DUE_AT, "due"],
    ["a millisecond earlier", silent(), DUE_AT - 1, "waits"],
    ["without a proof, after a year", silent({ provedDown: undefined } as never), DUE_AT * 2, "unproved"],
    ["with a proof from before its silence", silent({ provedDown: proofOf(FROM - 1) }), DUE_AT, "outdated"],
    ["with a proof from the future", silent({ provedDown: proofOf(DUE_AT + S + 1) }), DUE_AT, "unproved"],
    ["that is Ready", silent({}, "True"), DUE_AT, null],
    ["whose kubelet reports NotReady", silent({}, "False"), DUE_AT, null],
    ["that was not admitted for eviction", silent({ taints: [] }), DUE_AT, "notAdmitted"],
    ["that has the taint", silent({ taints: [UNREACHABLE, OUT_OF_SERVICE] }), DUE_AT, "on"],
    ["whose taint somebody took off", silent({ outOfServiceAt: FROM + S }), DUE_AT, "takenOff"],
    ["whose taint was taken off and is proved again", silent({ outOfServiceAt: FROM - S }), DUE_AT, "due"],
    ["the same in the second of the taint", silent({ outOfServiceAt: FROM - S + 1 }), DUE_AT, "takenOff"],
  ])("%s: %#", (_what, node, wallMs, state) => {
    expect(stateOf(node, wallMs)).toBe(state);
  });

  test("only by a proof that its policy takes", () => {
    const settings = { ...SETTINGS, proofs: ["RemediationSucceeded"] } as const;
    expect(stateOf(silent(), DUE_AT, settings)).toBe("unproved");
    const remediated = { ...proofOf(FROM), proof: "RemediationSucceeded" } as const;
    expect(stateOf(silent({ provedDown: remediated }), DUE_AT, settings)).toBe("due");
  });

  test("not before a freeze has added its length", () => {
    const frozen = [{ fromAt: FROM + 10 * S, toAt: FROM + 40 * S }];
    const at = (wallMs: number) => outOfServiceStage(silent(), SETTINGS, frozen, wallMs);
    expect(at(DUE_AT)).toEqual({ state: "waits", fromAt: DUE_AT + 30 * S });
    expect(at(DUE_AT + 30 * S)).toEqual({ state: "due" });
  });
});

test("silence without its instant proves nothing", () => {
  const undated = [condition("Ready", "Unknown", { transitionAt: null })];
  expect(provableFrom({ conditions: undated })).toBeNull();
  expect(stateOf(silent({ conditions: undated }))).toBeNull();
});

describe("the taint that Vigil takes off", () => {
  const taint = { ...OUT_OF_SERVICE, timeAdded: "2026-01-01T00:05:00Z" };
  const own = Date.UTC(2026, 0, 1, 0, 5);

  test.each([
    ["is its own", silent({ taints: [taint], outOfServiceAt: own }), true],
    ["is none without a record", silent({ taints: [taint] }), false],
    ["is none with another stamp", silent({ taints: [taint], outOfServiceAt: own + S }), false],
    [
      "is none with the value of another",
      silent({ taints: [{ ...taint, value: "nodeshutdown" }], outOfServiceAt: own }),
      false,
    ],
    ["is none of another effect", silent({ taints: [{ ...taint, effect: "NoSchedule" }], outOfServiceAt: own }), false],
  ])("%s", (_what, node, isOwn) => {
    expect(ownOutOfServiceTaint(node) !== null).toBe(isOwn);
  });
});

describe("the annotation of a proof", () => {
  test("is read as it was written", () => {
    expect(readDownProof(downProofText(proofOf(FROM)))).toEqual(proofOf(FROM));
  });

  test.each([
    "",
    "yes",
    "[]",
    '{"proof":"Manual"}',
    '{"proof":"Time","by":"x","at":"2026-01-01T00:00:00Z"}',
    '{"proof":"Manual","by":"x","at":"soon"}',
  ])("of %j proves nothing", (text) => {
    expect(readDownProof(text)).toBeNull();
  });

  test("is cut where it is long", () => {
    const long = readDownProof(downProofText({ ...proofOf(FROM), reason: "x".repeat(PROOF_WORDS_MAX + 1) }));
    expect(long?.reason).toHaveLength(PROOF_WORDS_MAX);
    const whole = readDownProof(downProofText({ ...proofOf(FROM), reason: "x".repeat(PROOF_WORDS_MAX) }));
    expect(whole?.reason).toBe("x".repeat(PROOF_WORDS_MAX));
  });
});
