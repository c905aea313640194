/** What is left of unsent writes when the API changes, and what a node looks like with them. */
import { describe, expect, test } from "vitest";
import { Annotation } from "../../../../protocols/names.ts";
import type { NodeShadowChange, ObservedNode, Taint } from "../../../../protocols/objects.ts";
import {
  settledShadow,
  shadowedNode,
  shadowedNodeObject,
  withChange,
} from "../../../../services/platform/kube/shadow/node-shadow.policy.ts";
import { observedNode } from "../../../support/observed-objects.ts";

const AT = Date.UTC(2026, 0, 1);
const HEARTBEAT_AT = AT - 50_000;
const LEASE_AT = AT - 40_000;
const taint = (key: string, timeAdded?: string): Taint => ({
  key,
  effect: "NoExecute",
  ...(timeAdded && { timeAdded }),
});
const OURS = taint("unreachable", "2026-01-01T00:00:00Z");
const verdict = {
  at: AT,
  leaseRenewedAt: LEASE_AT,
  statusHeartbeatAt: HEARTBEAT_AT,
  conditions: [{ type: "Ready", status: "Unknown" as const, heartbeatAt: null, transitionAt: AT }],
};

/** A node whose Ready condition is as given. */
function node(ready: "True" | "False" | "Unknown" | null, changes: Partial<ObservedNode> = {}): ObservedNode {
  const condition = { type: "Ready", heartbeatAt: HEARTBEAT_AT, transitionAt: AT - 90_000 };
  return { ...observedNode("a"), conditions: ready === null ? [] : [{ ...condition, status: ready }], ...changes };
}

function posted(heartbeatAt: number | null): ObservedNode {
  return node(null, { conditions: [{ type: "Ready", status: "True", heartbeatAt, transitionAt: AT - 90_000 }] });
}

describe("a verdict", () => {
  test.each<[string, ObservedNode, number | null | undefined, boolean]>([
    ["stands while nothing is heard", node("True"), LEASE_AT, true],
    ["stands where the lease is not known", node("True"), undefined, true],
    ["stands where the lease was deleted", node("True"), null, true],
    ["ends with a renewed lease", node("True"), LEASE_AT + 1, false],
    ["ends with a lease set back", node("True"), LEASE_AT - 1, false],
    ["ends with a posted status", posted(HEARTBEAT_AT + 1), LEASE_AT, false],
    ["stands on a status without a time", posted(null), LEASE_AT, true],
    ["stands on a node without a Ready condition", node(null), LEASE_AT, true],
    ["ends when another controller wrote it", node("Unknown"), LEASE_AT, false],
  ])("%s", (_name, real, lease, stands) => {
    expect(settledShadow({ verdict }, real, lease).shadow).toEqual(stands ? { verdict } : null);
  });

  test("that another controller wrote says how much later", () => {
    const ready = { type: "Ready", status: "Unknown" as const, heartbeatAt: HEARTBEAT_AT, transitionAt: AT + 4_000 };
    expect(settledShadow({ verdict }, node(null, { conditions: [ready] }), LEASE_AT).made).toEqual([
      { what: "Ready=Unknown", laterMs: 4_000 },
    ]);
  });
});

describe("a taint", () => {
  test.each<[string, NodeShadowChange, Taint[], NodeShadowChange | null]>([
    ["added and not there stays", { added: [OURS] }, [], { added: [OURS] }],
    ["added by another controller too is real", { added: [OURS] }, [taint("unreachable")], null],
    ["removed and still there stays", { removed: [OURS] }, [OURS], { removed: [OURS] }],
    ["removed by another controller too is gone", { removed: [OURS] }, [], null],
    ["removed and set again is another one", { removed: [OURS] }, [taint("unreachable", "2026-01-01T00:01:00Z")], null],
  ])("%s", (_name, shadow, taints, left) => {
    expect(settledShadow(shadow, node("True", { taints }), LEASE_AT).shadow).toEqual(left);
  });

  test("reports how much later another controller added it, if both have stamps", () => {
    const made = (timeAdded?: string) =>
      settledShadow({ added: [OURS] }, node("True", { taints: [taint("unreachable", timeAdded)] }), null).made;
    expect(made("2026-01-01T00:00:04Z")).toEqual([{ what: "unreachable:NoExecute", laterMs: 4_000 }]);
    expect(made("2025-12-31T23:59:59Z")).toEqual([{ what: "unreachable:NoExecute", laterMs: -1_000 }]);
    expect(made()).toEqual([{ what: "unreachable:NoExecute", laterMs: null }]);
  });
});

describe("labels and annotations", () => {
  test("end once the API shows them", () => {
    const shadow = { labels: { a: "1", b: "2" }, annotations: { [Annotation.taintSwap]: null } };
    expect(settledShadow(shadow, node("True", { labels: { a: "1" } }), null).shadow).toEqual({ labels: { b: "2" } });
  });
});

describe("one more write", () => {
  test.each<[string, NodeShadowChange, NodeShadowChange, NodeShadowChange]>([
    ["adds its taint to those before", { added: [taint("x")] }, { added: [OURS] }, { added: [taint("x"), OURS] }],
    ["takes an unsent taint back", { added: [OURS] }, { removed: [OURS] }, {}],
    ["removes a taint of the API", {}, { removed: [OURS] }, { removed: [OURS] }],
    ["adds again what it would have removed", { removed: [OURS] }, { added: [OURS] }, { added: [OURS] }],
    ["does not end the verdict", { verdict }, { added: [OURS] }, { verdict, added: [OURS] }],
    [
      "replaces the verdict",
      { verdict },
      { verdict: { ...verdict, at: AT + 1 } },
      { verdict: { ...verdict, at: AT + 1 } },
    ],
    [
      "combines labels and annotations",
      { labels: { a: "1" }, annotations: { x: "1" } },
      { labels: { b: "2" }, annotations: { x: null } },
      { labels: { a: "1", b: "2" }, annotations: { x: null } },
    ],
  ])("%s", (_name, before, change, after) => expect(withChange(before, change)).toEqual(after));
});

describe("a node with unsent writes", () => {
  const real = node("True", { resourceVersion: "7", taints: [taint("foreign"), taint("old")] });

  test("has their conditions, their taints and a version", () => {
    const shown = shadowedNode(real, { verdict, added: [OURS], removed: [taint("old")] }, 2);
    expect(shown.resourceVersion).toBe("7.shadow2");
    expect(shown.taints).toEqual([taint("foreign"), OURS]);
    expect(shown.conditions).toEqual([
      { type: "Ready", status: "Unknown", heartbeatAt: HEARTBEAT_AT, transitionAt: AT },
    ]);
    expect(shown.shadow).toEqual({ verdict, added: [OURS], removed: [taint("old")] });
  });

  test("shows a missing condition", () => {
    expect(shadowedNode(node(null), { verdict }, 1).conditions).toEqual(verdict.conditions);
  });

  test("keeps a taint's recorded start unless one changes it", () => {
    const seen = node("True", { taints: [OURS], taintsSeenAt: { "unreachable:NoExecute": AT } });
    const text = JSON.stringify({ "unreachable:NoExecute": "2026-01-01T00:00:09Z" });
    const recorded = (value: string | null) =>
      shadowedNode(seen, { annotations: { [Annotation.taintsSeen]: value } }, 1);
    expect(shadowedNode(seen, { labels: { a: "1" } }, 1).taintsSeenAt).toEqual({ "unreachable:NoExecute": AT });
    expect(recorded(text).taintsSeenAt).toEqual({ "unreachable:NoExecute": AT + 9_000 });
    expect(recorded(null).taintsSeenAt).toBeUndefined();
  });

  test("looks the same when it is read live", () => {
    const object = {
      metadata: { name: "a", annotations: { kept: "1", gone: "1" } },
      spec: { podCIDR: "10.0.0.0/24", taints: [taint("old"), { ...taint("foreign"), value: "v" }] },
      status: {
        conditions: [{ type: "Ready", status: "True", message: "m", lastHeartbeatTime: "2025-12-31T23:59:10Z" }],
      },
    };
    const change = { verdict, added: [OURS], removed: [taint("old")], annotations: { gone: null }, labels: { b: "2" } };
    expect(shadowedNodeObject(object, change)).toEqual({
      metadata: { name: "a", annotations: { kept: "1" }, labels: { b: "2" } },
      spec: { podCIDR: "10.0.0.0/24", taints: [{ ...taint("foreign"), value: "v" }, OURS] },
      status: {
        conditions: [
          {
            type: "Ready",
            status: "Unknown",
            message: "m",
            lastHeartbeatTime: "2025-12-31T23:59:10Z",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
      },
    });
  });
});
