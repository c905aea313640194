/** When a node has been silent too long, and what is then forced, as tables with both sides of each boundary. */
import { describe, expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { graceMsOf } from "../../services/domain/node-conditions.ts";
import { conditionsToForce, isFresh, silentFromMs } from "../../services/node/silence.policy.ts";
import { condition, nodeWith } from "./node-fixtures.ts";

describe("a heartbeat is fresh:", () => {
  const nothingKnown = { leaseRenewedAt: undefined, statusHeartbeatAt: undefined };
  test.each([
    ["the first lease", "lease", 5, nothingKnown, true],
    ["the first lease though it was never renewed (R2.41)", "lease", null, nothingKnown, true],
    ["a lease renewed later (R2.38)", "lease", 5.001, { ...nothingKnown, leaseRenewedAt: 5 }, true],
    ["not the same lease", "lease", 5, { ...nothingKnown, leaseRenewedAt: 5 }, false],
    ["a lease whose time went back (better than R2.38)", "lease", 4.999, { ...nothingKnown, leaseRenewedAt: 5 }, true],
    ["a lease that gained a time", "lease", 5, { ...nothingKnown, leaseRenewedAt: null }, true],
    ["not a lease that lost its time", "lease", null, { ...nothingKnown, leaseRenewedAt: 5 }, false],
    [
      "not the same lease after a status heartbeat (L14)",
      "lease",
      5,
      { leaseRenewedAt: 5, statusHeartbeatAt: 6 },
      false,
    ],
    ["the first status", "status", 5, nothingKnown, true],
    ["the first status of a node without Ready", "status", null, nothingKnown, true],
    ["a later status", "status", 6, { ...nothingKnown, statusHeartbeatAt: 5 }, true],
    ["an earlier status too (R2.34)", "status", 4, { ...nothingKnown, statusHeartbeatAt: 5 }, true],
    ["not the same status", "status", 5, { ...nothingKnown, statusHeartbeatAt: 5 }, false],
    ["the first Ready of a known node (C2)", "status", 5, { ...nothingKnown, statusHeartbeatAt: null }, true],
    ["not the loss of Ready (R2.36)", "status", null, { ...nothingKnown, statusHeartbeatAt: 5 }, false],
  ] as const)("%s", (_what, kind, renewedAt, known, isFreshNow) => {
    expect(isFresh(renewedAt, kind === "lease" ? known.leaseRenewedAt : known.statusHeartbeatAt)).toBe(isFreshNow);
  });
});

describe("the grace", () => {
  test.each([
    ["startup without Ready (R2.32)", nodeWith(null), STANDARD_PROFILE.nodeStartupGraceMs],
    ["startup with other conditions only", nodeWith(null, { conditions: [condition("Custom", "True")] }), 60_000],
    ["monitor with Ready (R2.33)", nodeWith("True"), STANDARD_PROFILE.nodeMonitorGraceMs],
    ["monitor with Ready False", nodeWith("False"), 50_000],
  ])("is that of %s", (_what, node, graceMs) => {
    expect(graceMsOf(node, STANDARD_PROFILE)).toBe(graceMs);
  });
});

describe("a node is silent", () => {
  test.each([
    ["a millisecond after its last heartbeat plus the grace", 10, null, 61],
    ["counted from the last heartbeat when the view was synced before", 10, 5, 61],
    ["counted from when the view was synced if that is later", 10, 20, 71],
  ])("%s", (_what, lastHeartbeatMs, syncedSinceMs, fromMs) => {
    expect(silentFromMs(lastHeartbeatMs, syncedSinceMs, 50)).toBe(fromMs);
  });
});

describe("on a silent node", () => {
  const stopped = { status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
  const never = {
    status: "Unknown",
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
    heartbeatAt: 1_000,
  };

  test("four conditions are forced in upstream's order, not the node's", () => {
    const conditions = ["PIDPressure", "Ready", "DiskPressure", "MemoryPressure"].map((type) =>
      condition(type, "False"),
    );
    expect(conditionsToForce(nodeWith(null, { conditions }))).toEqual(
      ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => ({
        type,
        ...stopped,
        heartbeatAt: null,
      })),
    );
  });

  test("a missing condition was never posted, since the node's creation", () => {
    const types = conditionsToForce(nodeWith(null));
    expect(types).toEqual(
      ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => ({ type, ...never })),
    );
    expect(conditionsToForce(nodeWith("True")).slice(0, 2)).toEqual([
      { type: "Ready", ...stopped, heartbeatAt: null },
      { type: "MemoryPressure", ...never },
    ]);
  });

  test("a condition that is Unknown already stays as it is", () => {
    const conditions = [condition("Ready", "True"), condition("MemoryPressure", "Unknown")];
    const forced = conditionsToForce(nodeWith(null, { conditions }));
    expect(forced.map(({ type }) => type)).toEqual(["Ready", "DiskPressure", "PIDPressure"]);
  });

  test("nothing is forced when Ready is Unknown already (R2.45)", () => {
    const conditions = [condition("Ready", "Unknown"), condition("MemoryPressure", "False")];
    expect(conditionsToForce(nodeWith(null, { conditions }))).toEqual([]);
  });

  test("NetworkUnavailable and foreign conditions stay untouched (P2)", () => {
    const conditions = [condition("NetworkUnavailable", "True"), condition("example.com/Custom", "True")];
    const forced = conditionsToForce(nodeWith(null, { conditions })).map(({ type }) => type);
    expect(forced).toEqual(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]);
  });
});
