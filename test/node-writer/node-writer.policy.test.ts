/** Whether a request about a node still holds, and its patch, as tables. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, ConditionStatus as ReadyStatus, Taint } from "../../protocols/objects.ts";
import { refutesSilence } from "../../services/domain/node-conditions.ts";
import { taintSwapText } from "../../services/domain/taint-swap.ts";
import { decideConditions, decideTaints } from "../../services/node-writer/node-writer.policy.ts";
import { condition, nodeWith, taint } from "../node/node-fixtures.ts";

const NOW = Date.UTC(2026, 0, 1, 0, 0, 5, 999);
const NOW_TEXT = "2026-01-01T00:00:05Z";
const SWAP = "vigil.v1/taint-swap";
const STOPPED = { reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };

function conditionAsk(fields: Partial<BodyOf<"asked.condition">> = {}): BodyOf<"asked.condition"> {
  return {
    node: "node-1",
    uid: "uid-1",
    resourceVersion: "1",
    basis: { leaseRenewedAt: 100, statusHeartbeatAt: 50 },
    conditions: [
      { type: "Ready", status: "Unknown", ...STOPPED, heartbeatAt: null },
      { type: "PIDPressure", status: "Unknown", reason: "never", message: "m", heartbeatAt: Date.UTC(2025, 0, 1) },
    ],
    ...fields,
  };
}

function taintAsk(fields: Partial<BodyOf<"asked.taint">> = {}): BodyOf<"asked.taint"> {
  const [add, remove] = [[], []];
  return {
    node: "node-1",
    uid: "uid-1",
    resourceVersion: "1",
    taints: [],
    add,
    remove,
    ready: "False",
    why: "conditions",
    ...fields,
  };
}

function live(fields: Partial<ObservedNode> = {}): ObservedNode {
  return nodeWith("True", {
    resourceVersion: "7",
    conditions: [condition("Ready", "True", { heartbeatAt: 50 })],
    ...fields,
  });
}

test.each([
  ["the known lease", 100, 100, false],
  ["one with an earlier time", 100, 99.999, true],
  ["a newer one", 100, 100.001, true],
  ["any lease if none was known", null, 1, true],
  ["one without a time", null, null, false],
  ["one that lost its time", 100, null, false],
])("silence is refuted by a live lease: %s", (_what, leaseRenewedAt, renewedAt, isRefuted) => {
  expect(refutesSilence({ leaseRenewedAt }, renewedAt)).toBe(isRefuted);
});

describe("asked.condition", () => {
  test("becomes one patch of status, bound to the version of the verdict", () => {
    expect(decideConditions(conditionAsk(), null, NOW)).toEqual({
      kind: "write",
      change: "conditions: Ready=Unknown PIDPressure=Unknown",
      body: {
        metadata: { resourceVersion: "1", uid: "uid-1" },
        status: {
          conditions: [
            { type: "Ready", status: "Unknown", ...STOPPED, lastTransitionTime: NOW_TEXT },
            {
              type: "PIDPressure",
              status: "Unknown",
              reason: "never",
              message: "m",
              lastHeartbeatTime: "2025-01-01T00:00:00Z",
              lastTransitionTime: NOW_TEXT,
            },
          ],
        },
      },
      shadow: {
        verdict: {
          at: NOW,
          ...conditionAsk().basis,
          conditions: [
            expect.objectContaining({ type: "Ready", status: "Unknown", transitionAt: Date.parse(NOW_TEXT) }),
            expect.objectContaining({ type: "PIDPressure", heartbeatAt: Date.UTC(2025, 0, 1) }),
          ],
        },
      },
    });
  });

  test("names the version of the live node if there is one", () => {
    expect(decideConditions(conditionAsk(), live(), NOW)).toMatchObject({
      kind: "write",
      body: { metadata: { resourceVersion: "7", uid: "uid-1" } },
    });
  });

  test("gives a new condition no heartbeat and leaves an Unknown one", () => {
    const conditions = [
      condition("Ready", "True", { heartbeatAt: 50 }),
      condition("PIDPressure", "False", { heartbeatAt: 50 }),
    ];
    const decision = decideConditions(conditionAsk(), live({ conditions }), NOW);
    expect(JSON.stringify(decision)).not.toContain("lastHeartbeatTime");
    const unknown = [condition("Ready", "True", { heartbeatAt: 50 }), condition("PIDPressure", "Unknown")];
    expect(decideConditions(conditionAsk(), live({ conditions: unknown }), NOW)).toMatchObject({
      change: "conditions: Ready=Unknown",
    });
  });

  test.each([
    ["ok when Ready is Unknown (R2.45)", live({ conditions: [condition("Ready", "Unknown")] }), "ok"],
    [
      "refused when the kubelet posted since, later",
      live({ conditions: [condition("Ready", "True", { heartbeatAt: 51 })] }),
      "refused",
    ],
    [
      "refused when the kubelet posted since, earlier",
      live({ conditions: [condition("Ready", "True", { heartbeatAt: 49 })] }),
      "refused",
    ],
    ["refused when Ready is gone", live({ conditions: [] }), "refused"],
    ["gone if another node has the name", live({ uid: "uid-2" }), "gone"],
  ])("is %s", (_what, node, kind) => {
    expect(decideConditions(conditionAsk(), node, NOW).kind).toBe(kind);
  });

  test("of a node that never posted holds until it posts", () => {
    const never = { type: "Ready", status: "Unknown" as const, reason: "never", message: "m", heartbeatAt: 1_000 };
    const ask = conditionAsk({ basis: { leaseRenewedAt: null, statusHeartbeatAt: null }, conditions: [never] });
    expect(decideConditions(ask, live({ conditions: [] }), NOW).kind).toBe("write");
    expect(decideConditions(ask, live(), NOW).kind).toBe("refused");
  });

  test("is refused if Ready without heartbeat was added or removed", () => {
    const basis = { leaseRenewedAt: 100, statusHeartbeatAt: null };
    const without = live({ conditions: [condition("Ready", "True", { heartbeatAt: null })] });
    const never = { type: "Ready", status: "Unknown" as const, reason: "never", message: "m", heartbeatAt: 1_000 };
    const saw = conditionAsk({ basis });
    const sawNone = conditionAsk({ basis, conditions: [never] });
    expect(decideConditions(saw, without, NOW).kind).toBe("write");
    expect(decideConditions(saw, live({ conditions: [] }), NOW).kind).toBe("refused");
    expect(decideConditions(sawNone, live({ conditions: [] }), NOW).kind).toBe("write");
    expect(decideConditions(sawNone, without, NOW).kind).toBe("refused");
  });
});

describe("asked.taint", () => {
  const foreign = [taint("a", "NoSchedule", { value: "1" }), taint("b", "NoExecute", { timeAdded: "t" })];
  const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
  const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };
  const taintsOf = (decision: ReturnType<typeof decideTaints>): Taint[] | null =>
    decision.kind === "write" ? (decision.body as { spec: { taints: Taint[] | null } }).spec.taints : [];

  const annotationsOf = (decision: ReturnType<typeof decideTaints>): Record<string, unknown> | undefined =>
    decision.kind === "write"
      ? (decision.body as { metadata: { annotations?: Record<string, unknown> } }).metadata.annotations
      : undefined;

  test("swaps in one patch: foreign ones in place, new one last (L20, P4)", () => {
    const [first, last] = foreign as [Taint, Taint];
    const standing = { ...unreachable, timeAdded: "2025-12-31T00:00:00Z" };
    const taints = [first, standing, last];
    const ask = taintAsk({ taints, add: [notReady], remove: [unreachable], why: "swap" });
    expect(decideTaints(ask, live({ conditions: [condition("Ready", "False")], taints }), NOW)).toEqual({
      kind: "write",
      change: "taints: +node.kubernetes.io/not-ready:NoExecute -node.kubernetes.io/unreachable:NoExecute",
      body: {
        metadata: { resourceVersion: "7", uid: "uid-1", annotations: { [SWAP]: expect.any(String) } },
        spec: { taints: [first, last, { ...notReady, timeAdded: NOW_TEXT }] },
      },
      shadow: {
        added: [{ ...notReady, timeAdded: NOW_TEXT }],
        removed: [standing],
        annotations: { [SWAP]: expect.any(String) },
      },
    });
  });

  test("records when a swap happened and both taints began (R8.18)", () => {
    const ask = taintAsk({ add: [notReady], remove: [unreachable], why: "swap" });
    const writtenOn = (node: Partial<ObservedNode>): unknown => {
      const decision = decideTaints(ask, live({ conditions: [condition("Ready", "False")], ...node }), NOW);
      return annotationsOf(decision)?.[SWAP] ?? null;
    };
    const [at, before] = [Date.UTC(2025, 11, 31), Date.UTC(2025, 11, 30)];
    const stamped = { ...unreachable, timeAdded: "2025-12-31T00:00:00Z" };
    const text = (key: string, firstAt: number, secondAt: number) =>
      taintSwapText({ at: NOW, firstKey: key, firstAt, secondAt });
    const swapAt = Date.parse(NOW_TEXT);
    expect(writtenOn({ taints: [stamped] })).toBe(text(unreachable.key, at, swapAt));
    const taintSwap = { at, firstKey: notReady.key, firstAt: before, secondAt: at };
    expect(writtenOn({ taints: [stamped], taintSwap })).toBe(text(notReady.key, before, at));
    expect(writtenOn({ taints: [stamped], taintSwap: { ...taintSwap, at: before } })).toBe(
      text(unreachable.key, at, swapAt),
    );
    expect(writtenOn({ taints: [unreachable] })).toBeNull();
  });

  test("removes the record of a swap with the last of the two taints", () => {
    const taintSwap = { at: 0, firstKey: notReady.key, firstAt: 0, secondAt: 0 };
    const stamped = { ...notReady, timeAdded: "2025-12-31T00:00:00Z" };
    const healing = (fields: Partial<BodyOf<"asked.taint">>) =>
      annotationsOf(
        decideTaints(taintAsk({ remove: [notReady], ready: "True", why: "healing", ...fields }), null, NOW),
      );
    expect(healing({ taints: [stamped], taintSwap })).toEqual({ [SWAP]: null });
    expect(healing({ taints: [stamped, unreachable], taintSwap })).toBeUndefined();
    expect(healing({ taints: [stamped] })).toBeUndefined();
  });

  test("puts no taint on beside a record of an earlier one with its name", () => {
    const of = ({ key, effect }: { key: string; effect: string }): string => `${key}:${effect}`;
    const [standing] = foreign.slice(1) as [Taint];
    const at = Date.UTC(2025, 11, 31, 0, 0, 0, 250);
    const recordOn = (node: Partial<ObservedNode>): unknown => {
      const ask = taintAsk({ add: [unreachable], ready: "Unknown", why: "granted" });
      const decision = decideTaints(ask, live({ conditions: [condition("Ready", "Unknown")], ...node }), NOW);
      return annotationsOf(decision)?.["vigil.v1/taints-seen"];
    };
    expect(recordOn({ taints: [], taintsSeenAt: {}, taintsSeenStale: true })).toBeNull();
    const recorded = { taints: [standing], taintsSeenAt: { [of(standing)]: at } };
    expect(recordOn({ ...recorded, taintsSeenStale: true })).toBe(`{"b:NoExecute":"2025-12-31T00:00:00.250000Z"}`);
    expect(recordOn(recorded)).toBeUndefined();
    expect(recordOn({ taints: [standing] })).toBeUndefined();
  });

  test.each<[string, ReadyStatus, ReadyStatus, string]>([
    ["that was ready and is not any more", "True", "Unknown", "refused"],
    ["that was NotReady and is Unknown (R6.10)", "False", "Unknown", "write"],
    ["that was NotReady and is ready", "False", "True", "write"],
  ])("that heals a node %s", (_what, asked, now, kind) => {
    const ask = taintAsk({ remove: [notReady], ready: asked, why: "healing" });
    expect(decideTaints(ask, live({ conditions: [condition("Ready", now)], taints: [notReady] }), NOW).kind).toBe(kind);
  });

  test("adds no NoExecute taint in a swap whose opposite is gone (P5)", () => {
    const ask = taintAsk({ taints: [unreachable], add: [notReady], remove: [unreachable], why: "swap" });
    const node = live({ conditions: [condition("Ready", "False")], taints: [] });
    expect(decideTaints(ask, node, NOW).kind).toBe("ok");
    expect(taintsOf(decideTaints(ask, { ...node, taints: [unreachable] }, NOW))).toMatchObject([notReady]);
  });

  test("swaps NoSchedule taints without NoExecute taints too", () => {
    const both = ({ key }: { key: string }) => ["NoExecute", "NoSchedule"].map((effect) => ({ key, effect }));
    const ask = taintAsk({ add: both(notReady), remove: both(unreachable), why: "swap" });
    const conditions = [condition("Ready", "False")];
    const swapped = (...taints: Taint[]) => taintsOf(decideTaints(ask, live({ conditions, taints }), NOW));
    const [maintained, repels] = [taint("maintenance", "NoExecute"), { ...unreachable, effect: "NoSchedule" }];
    expect(swapped(maintained, repels)).toMatchObject([maintained, { ...notReady, effect: "NoSchedule" }]);
    expect(swapped(unreachable, repels)).toMatchObject(both(notReady));
    const ofOneKey = taintAsk({ taints: [unreachable, repels], remove: [repels] });
    expect(taintsOf(decideTaints(ofOneKey, null, NOW))).toEqual([unreachable]);
  });

  test("writes null if no taint is left", () => {
    expect(taintsOf(decideTaints(taintAsk({ taints: [notReady], remove: [notReady] }), null, NOW))).toBeNull();
  });

  test("leaves a present taint as it is, with its timeAdded", () => {
    const standing = { ...notReady, timeAdded: "before" };
    const ask = taintAsk({ add: [notReady], why: "granted" });
    const node = live({ conditions: [condition("Ready", "False")], taints: [standing] });
    expect(decideTaints(ask, node, NOW).kind).toBe("ok");
  });

  test("uses the live taints after a conflict, and loses none (L44)", () => {
    const ask = taintAsk({ add: [notReady] });
    const node = live({ conditions: [condition("Ready", "False")], taints: foreign });
    const decision = decideTaints(ask, node, NOW);
    expect(taintsOf(decision)).toEqual([...foreign, { ...notReady, timeAdded: NOW_TEXT }]);
    expect(decision).toMatchObject({ body: { metadata: { resourceVersion: "7" } } });
  });

  test.each([
    ["refused when Ready has changed", live(), "refused"],
    ["refused when Ready is gone", live({ conditions: [] }), "refused"],
    ["gone if another node has the name", live({ uid: "uid-2" }), "gone"],
    [
      "ok when nothing is left to change",
      live({ conditions: [condition("Ready", "False")], taints: [notReady] }),
      "ok",
    ],
  ])("is %s", (_what, node, kind) => {
    expect(decideTaints(taintAsk({ add: [notReady] }), node, NOW).kind).toBe(kind);
  });

  test.each<[string, ObservedNode | null, string]>([
    ["not read", null, "False"],
    ["Ready", live(), "True"],
    ["Unknown if the taint is not-ready", live({ conditions: [condition("Ready", "Unknown")] }), "Unknown"],
    ["without Ready", live({ conditions: [] }), "missing"],
  ])("that adds NoExecute is refused for a node that is %s", (_what, node, ready) => {
    const asked = ready === "missing" ? null : (ready as ReadyStatus);
    const ask = taintAsk({ add: [notReady], ready: asked, why: "granted" });
    expect(decideTaints(ask, node, NOW)).toMatchObject({ kind: "refused", detail: expect.stringContaining(ready) });
  });

  test("of a node without Ready holds while it has none", () => {
    const ask = taintAsk({ ready: null, taints: [notReady], remove: [notReady] });
    expect(decideTaints(ask, live({ conditions: [], taints: [notReady] }), NOW).kind).toBe("write");
    expect(decideTaints(ask, live({ taints: [notReady] }), NOW).kind).toBe("refused");
  });
});
