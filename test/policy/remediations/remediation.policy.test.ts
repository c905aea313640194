/** What comes next for a node under the remediations of its policy, as tables. */
import { describe, expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import {
  isOrphan,
  type LiveReads,
  liveRefusal,
  type RemediationObject,
  type RemediationSituation,
  remediationOf,
} from "../../../services/policy/remediations/remediation.policy.ts";
import { condition, nodeWith, taint } from "../../node/node-fixtures.ts";

const S = 1000;
const MINUTE = 60 * S;
const NOW = Date.UTC(2026, 0, 1, 1);
const SILENT_AT = NOW - 10 * MINUTE;
const UNREACHABLE = taint("node.kubernetes.io/unreachable", "NoExecute", { timeAdded: "2026-01-01T00:51:00Z" });
const STEPS = ["Reboot", "PowerOff"].map((name) => ({
  timeoutMs: 5 * MINUTE,
  dryRun: false,
  template: { apiVersion: "a.io/v1", kind: `${name}Template`, namespace: "ns", name: "t" },
}));

const DRY = STEPS.map((step) => ({ ...step, dryRun: true }));
const UNANSWERED = "its controller has reported nothing yet";

const silent = (fields: Partial<ObservedNode> = {}) =>
  nodeWith(null, {
    conditions: [condition("Ready", "Unknown", { transitionAt: SILENT_AT })],
    taints: [UNREACHABLE],
    ...fields,
  });
const reporting = (startAt: number) =>
  nodeWith("False", {
    taints: [taint("node.kubernetes.io/not-ready", "NoExecute", { timeAdded: new Date(startAt).toISOString() })],
  });
const objectWith = (fields: Partial<RemediationObject> = {}): RemediationObject => ({
  name: "node-1",
  uid: "object-1",
  resourceVersion: "7",
  createdAt: NOW - MINUTE,
  isOwn: true,
  isTimedOut: false,
  isEnding: false,
  isAnswered: true,
  succeeded: null,
  expectsDeletion: false,
  ...fields,
});
const decide = (fields: Partial<RemediationSituation> = {}) =>
  remediationOf({
    node: silent(),
    steps: STEPS,
    objects: [null, null],
    unread: null,
    problems: [null, null],
    outOfService: { afterMs: 0, proofs: ["RemediationSucceeded"], removeWhenReady: true },
    startupGraceMs: MINUTE,
    frozen: [],
    blockedBy: null,
    isShadow: false,
    accepted: [false, false],
    wallMs: NOW,
    ...fields,
  });

describe("a node without a remediation", () => {
  test.each<[string, Partial<RemediationSituation>, object | null]>([
    ["that is silent gets the first", {}, { state: "due", index: 0, act: { kind: "create", index: 0 } }],
    ["that is Ready needs none", { node: nodeWith("True", { taints: [UNREACHABLE] }) }, null],
    ["that has posted nothing yet needs none", { node: nodeWith(null, { taints: [UNREACHABLE] }) }, null],
    ["that was not admitted waits", { node: silent({ taints: [] }) }, { state: "notAdmitted", index: 0 }],
    ["that is held waits", { blockedBy: "budgets of gpu" }, { state: "held", index: 0, detail: "budgets of gpu" }],
    ["without a template waits", { problems: ["no", null] }, { state: "blocked", index: 0, detail: "no" }],
    ["without a later template goes on", { problems: [null, "no"] }, { state: "due", index: 0 }],
    ["waits while objects are not known", { unread: "403" }, { state: "blocked", index: 0, detail: "403" }],
    [
      "that reports waits for its grace",
      { node: reporting(NOW - MINUTE + 1) },
      { state: "waits", index: 0, untilAt: NOW + 1 },
    ],
    ["that has reported for its grace gets the first", { node: reporting(NOW - MINUTE) }, { state: "due" }],
    [
      "that was frozen meanwhile waits longer",
      { node: reporting(NOW - MINUTE), frozen: [{ fromAt: NOW - MINUTE, toAt: NOW }] },
      { state: "waits", untilAt: NOW + MINUTE },
    ],
  ])("%s", (_what, fields, expected) => {
    if (expected === null) expect(decide(fields)).toBeNull();
    else expect(decide(fields)).toMatchObject(expected);
  });
});

describe("a node whose next remediation is a dry run", () => {
  const accepted = { accepted: [true, false] };
  test.each<[string, Partial<RemediationSituation>, object]>([
    ["has it made", {}, { state: "dryRun", index: 0, act: { kind: "dryRun", index: 0 } }],
    ["has it made once", accepted, { state: "dryRun", index: 0, detail: "the API server accepts its object" }],
    ["has the next one made", { objects: [objectWith({ isTimedOut: true }), null] }, { index: 1, act: { index: 1 } }],
    ["has none made while it is held", { blockedBy: "x" }, { state: "held", index: 0, detail: "x" }],
    ["has none made without a template", { problems: ["no", null] }, { state: "blocked", index: 0, detail: "no" }],
    ["has none made in shadow mode", { isShadow: true }, { state: "dryRun", index: 0 }],
    ["is in shadow mode without one too", { isShadow: true, steps: STEPS }, { state: "dryRun", index: 0 }],
  ])("%s", (_what, fields, expected) => {
    const decision = decide({ steps: DRY, ...fields });
    expect(decision).toMatchObject(expected);
    expect(decision?.act?.kind).toBe("act" in expected ? "dryRun" : undefined);
  });
});

describe("a node with a remediation", () => {
  const late = objectWith({ createdAt: NOW - 5 * MINUTE });
  const over = objectWith({ isTimedOut: true });
  test.each<[string, Partial<RemediationSituation>, object | null]>([
    [
      "waits for its timeout",
      { objects: [objectWith(), null] },
      { state: "running", index: 0, untilAt: NOW + 4 * MINUTE },
    ],
    [
      "says that its controller is silent",
      { objects: [objectWith({ isAnswered: false }), null] },
      { detail: UNANSWERED },
    ],
    ["gives it up at its timeout", { objects: [late, null] }, { act: { kind: "timeOut", index: 0, object: late } }],
    ["gives up what has failed", { objects: [objectWith({ succeeded: "False" }), null] }, { act: { kind: "timeOut" } }],
    ["keeps a late one while it is held", { objects: [late, null], blockedBy: "x" }, { state: "held", detail: "x" }],
    [
      "counts no frozen time",
      { objects: [late, null], frozen: [{ fromAt: NOW - MINUTE, toAt: NOW }] },
      { state: "running", untilAt: NOW + MINUTE },
    ],
    ["goes on to the next", { objects: [over, null] }, { state: "due", act: { kind: "create", index: 1 } }],
    ["has none left", { objects: [over, over] }, { state: "exhausted", index: null }],
    ["never has two", { objects: [null, objectWith()] }, { state: "running", index: 1 }],
    ["waits for one that is being deleted", { objects: [objectWith({ isEnding: true }), null] }, { state: "ending" }],
    ["waits for one of another client", { objects: [null, objectWith({ isOwn: false })] }, { state: "foreign" }],
    [
      "loses it once it is Ready, whatever holds",
      { node: nodeWith("True"), objects: [objectWith(), null], blockedBy: "x", isShadow: true, unread: "403" },
      { act: { kind: "delete", index: 0 } },
    ],
    ["keeps that of another client", { node: nodeWith("True"), objects: [objectWith({ isOwn: false }), null] }, null],
    [
      "loses that of an earlier node of its name",
      { node: silent({ createdAt: NOW }), objects: [objectWith(), null] },
      { act: { kind: "delete", index: 0 } },
    ],
  ])("%s", (_what, fields, expected) => {
    if (expected === null) expect(decide(fields)).toBeNull();
    else expect(decide(fields)).toMatchObject(expected);
  });
});

describe("a remediation that has succeeded", () => {
  const succeeded = objectWith({ succeeded: "True", createdAt: NOW - 8 * MINUTE });
  const proved = { proof: "RemediationSucceeded", by: "x", at: NOW - MINUTE, reason: "" } as const;
  const acts = (fields: Partial<RemediationSituation>) => {
    const decision = decide({ objects: [succeeded, null], ...fields });
    expect(decision?.state).toBe("succeeded");
    return decision?.act?.kind;
  };

  test("proves a silent node down after its timeout", () => expect(acts({})).toBe("prove"));

  test.each<[string, Partial<RemediationSituation>]>([
    ["without outOfService", { outOfService: null }],
    ["that the policy does not take", { outOfService: { afterMs: 0, proofs: ["Manual"], removeWhenReady: true } }],
    ["of a node that reports", { node: reporting(NOW - 9 * MINUTE) }],
    ["from before the silence", { objects: [objectWith({ succeeded: "True", createdAt: SILENT_AT - 1 }), null] }],
    ["that is recorded", { node: silent({ provedDown: proved }) }],
  ])("proves nothing: %s", (_what, fields) => expect(acts(fields)).toBeUndefined());
});

test("the object of a node that is gone goes, unless it deletes nodes", () => {
  expect(isOrphan(objectWith())).toBe(true);
  expect(isOrphan(objectWith({ isOwn: false }))).toBe(false);
  expect(isOrphan(objectWith({ expectsDeletion: true }))).toBe(false);
  expect(isOrphan(objectWith({ expectsDeletion: true, succeeded: "True" }))).toBe(true);
});

describe("live reads just before the write", () => {
  const reads = (fields: Partial<LiveReads> = {}): LiveReads => ({
    node: silent(),
    frozenBy: null,
    leaseRenewedAt: NOW - 10 * MINUTE,
    graceMs: 50 * S,
    wallMs: NOW,
    ...fields,
  });
  const create = { kind: "create", index: 0 } as const;
  const prove = { kind: "prove", index: 0, object: objectWith() } as const;

  test.each<[string, Partial<LiveReads>, string | null]>([
    ["a node that is silent", {}, null],
    ["a node that is silent without a lease", { leaseRenewedAt: null }, null],
    ["a node that is Ready", { node: nodeWith("True", { taints: [UNREACHABLE] }) }, "the node is Ready again"],
    ["a node without the taint", { node: silent({ taints: [] }) }, "the node is not admitted for eviction any more"],
    ["another node", { node: silent({ uid: "other" }) }, "another node has this name now"],
    ["a frozen node", { frozenBy: "spec.mode" }, "the node is frozen: spec.mode"],
    ["a node with a fresh lease", { leaseRenewedAt: NOW - 49 * S }, "its kubelet renewed its lease"],
    ["a node with a lease as old as its grace", { leaseRenewedAt: NOW - 50 * S }, null],
    ["a node that reports, and renews its lease", { node: reporting(0), leaseRenewedAt: NOW }, null],
  ])("create for %s", (_what, fields, expected) => {
    expect(liveRefusal(create, reads(fields), "uid-1")).toBe(expected);
  });

  test("prove nothing of a kubelet that came back", () => {
    expect(liveRefusal(prove, reads(), "uid-1")).toBeNull();
    const leaseRenewedAt = NOW - MINUTE;
    expect(liveRefusal(prove, reads({ leaseRenewedAt }), "uid-1")).toContain("after the remediation began");
  });

  test("delete only for a node that is Ready or new", () => {
    const act = { kind: "delete", index: 0, object: objectWith() } as const;
    expect(liveRefusal(act, reads(), "uid-1")).toBe("the node is not Ready any more");
    expect(liveRefusal(act, reads({ node: nodeWith("True"), frozenBy: "x" }), "uid-1")).toBeNull();
    expect(liveRefusal(act, reads({ node: silent({ createdAt: NOW, uid: "new" }) }), "uid-1")).toBeNull();
  });
});
