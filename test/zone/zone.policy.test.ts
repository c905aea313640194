/** Disruption states, eviction rates, the all-zones rule, and the requests that a grant leads to. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ZoneState } from "../../protocols/judged.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import {
  allZonesStateOf,
  byTransition,
  byWaitingTime,
  type Damage,
  damageOf,
  damageOfState,
  grantRequest,
  isNewlyTainted,
  newestTaintAt,
  taintRemovalRequest,
  taintRequest,
  taintsPerSecondOf,
  waitsForGrant,
} from "../../services/zone/zone.policy.ts";
import { judgedNode, noExecute, observedNode } from "../support/observed-objects.ts";

const THRESHOLD = STANDARD_PROFILE.unhealthyZoneThreshold;
const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";
const RATE = Math.fround(0.1);
const SECONDARY = Math.fround(0.01);

describe("a zone's damage", () => {
  test.each<[ready: number, notReady: number, Damage, ZoneState, perSecond: number]>([
    [0, 0, "empty", "Initial", RATE],
    [1, 0, "normal", "Normal", RATE],
    [0, 1, "full", "FullDisruption", RATE],
    [1, 2, "normal", "Normal", RATE],
    [2, 3, "partial", "PartialDisruption", 0],
    [3, 3, "normal", "Normal", RATE],
    [9, 11, "partial", "PartialDisruption", 0],
    [22, 28, "partial", "PartialDisruption", 0],
    [22, 29, "partial", "PartialDisruption", SECONDARY],
    [0, 51, "full", "FullDisruption", RATE],
  ])("of %i ready, %i not ready is %s: %s at %f per second", (ready, notReady, damage, state, perSecond) => {
    const size = ready + notReady;
    expect(damageOf({ size, notReady }, THRESHOLD)).toBe(damage);
    expect(taintsPerSecondOf(state, size, STANDARD_PROFILE)).toBe(perSecond);
  });

  test("is none in a halt (R6.10)", () => {
    expect(taintsPerSecondOf("Halted", 51, STANDARD_PROFILE)).toBe(0);
  });

  test("is none with fewer than three nodes down (R6.4)", () => {
    expect(damageOf({ size: 3, notReady: 2 }, 0.1)).toBe("normal");
    expect(damageOf({ size: 30, notReady: 3 }, 0.1)).toBe("partial");
  });

  test("is compared in float32: 3 of 9 reaches 0.33333334 (R6.2)", () => {
    expect(3 / 9).toBeLessThan(0.33333334);
    expect(damageOf({ size: 9, notReady: 3 }, 0.33333334)).toBe("partial");
    expect(damageOf({ size: 20, notReady: 11 }, 0.55)).toBe("partial");
  });

  test("is upstream's for every count and threshold (R6.1, R6.2)", () => {
    const single = (value: number) => new Float32Array([value])[0] ?? 0;
    fc.assert(
      fc.property(
        fc.nat(5000),
        fc.nat(5000),
        fc.float({ min: 0, max: 1, noNaN: true }),
        (ready, notReady, threshold) => {
          const size = ready + notReady;
          const isFull = ready === 0 && notReady > 0;
          const share = single(single(notReady) / single(size));
          const isPartial = notReady > 2 && share >= single(threshold);
          const expected = size === 0 ? "empty" : isFull ? "full" : isPartial ? "partial" : "normal";
          expect(damageOf({ size, notReady }, threshold)).toBe(expected);
        },
      ),
    );
  });

  test("at the large-cluster threshold is a small zone's (R6.5)", () => {
    expect(taintsPerSecondOf("PartialDisruption", 50, STANDARD_PROFILE)).toBe(0);
    expect(taintsPerSecondOf("PartialDisruption", 51, STANDARD_PROFILE)).toBe(SECONDARY);
  });
});

describe("all zones together (R6.7–R6.12)", () => {
  test.each<[string, (Damage | null)[], string]>([
    ["no zone at all (R6.9)", [], "healthy"],
    ["no zone with counted nodes", ["empty"], "healthy"],
    ["one healthy zone among zones that are down", ["full", "normal", null], "healthy"],
    ["one partially disrupted zone", ["full", "partial"], "healthy"],
    ["every zone down (R6.10)", ["full", "full"], "disrupted"],
    ["the only zone down (R6.14)", ["full"], "disrupted"],
    ["all known zones down and one unknown", ["full", null], "notKnown"],
    ["only an unknown zone", [null], "notKnown"],
  ])("%s: %j is %s", (_what, damages, allZones) => {
    expect(allZonesStateOf(damages)).toBe(allZones);
  });

  test.each([
    ["Initial", null],
    ["Normal", "normal"],
    ["PartialDisruption", "partial"],
    ["FullDisruption", "full"],
  ] as const)("the damage of a zone announced as %s is %s", (state, damage) => {
    expect(damageOfState(state)).toBe(damage);
  });

  test("one unknown: no grants, no taint removed", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<Damage | null>("full", "empty", null)), (damages) => {
        const allZones = allZonesStateOf([...damages, null]);
        expect(allZones).toBe("notKnown");
      }),
    );
  });
});

describe("a grant", () => {
  const due = (node: string) => judgedNode(node, { eviction: "toBeEvicted", readiness: "unknown", ready: "Unknown" });

  test("is due for a node to be evicted that the API shows as not ready", () => {
    const observed = observedNode("a", { ready: "Unknown" });
    expect(waitsForGrant({ observed, judged: due("a") }, "taint")).toBe(true);
    expect(waitsForGrant({ observed: observedNode("a"), judged: due("a") }, "taint")).toBe(false);
    expect(waitsForGrant({ observed: observedNode("a", { ready: null }), judged: due("a") }, "taint")).toBe(false);
    expect(waitsForGrant({ observed, judged: judgedNode("a", { eviction: "evicted" }) }, "taint")).toBe(false);
    expect(waitsForGrant({ observed, judged: judgedNode("a") }, "taint")).toBe(false);
  });

  test("is not due in a zone that the node's labels have left", () => {
    const moved = observedNode("a", { ready: "Unknown", labels: { "topology.kubernetes.io/zone": "z2" } });
    expect(waitsForGrant({ observed: moved, judged: due("a") }, "taint")).toBe(false);
    expect(waitsForGrant({ observed: moved, judged: due("a") }, "direct")).toBe(false);
    expect(waitsForGrant({ observed: moved, judged: { ...due("a"), zone: ":\0:z2" } }, "taint")).toBe(true);
  });

  test("is due in direct mode no matter what the API shows", () => {
    expect(waitsForGrant({ observed: observedNode("a"), judged: due("a") }, "direct")).toBe(true);
  });

  test("adds the taint of the Ready status, removes the opposite (R4.36)", () => {
    const foreign = noExecute("maintenance", { value: "x" });
    const silent = observedNode("a", { ready: "Unknown", taints: [foreign, noExecute(NOT_READY)] });
    expect(taintRequest(silent)).toEqual({
      node: "a",
      uid: "uid-a",
      resourceVersion: "1",
      taints: [foreign, noExecute(NOT_READY)],
      ready: "Unknown",
      add: [{ key: UNREACHABLE, effect: "NoExecute" }],
      remove: [{ key: NOT_READY, effect: "NoExecute" }],
      why: "granted",
    });
    expect(taintRequest(observedNode("a", { ready: "False" }))?.add).toEqual([{ key: NOT_READY, effect: "NoExecute" }]);
    expect(taintRequest(observedNode("a"))).toBeNull();
    expect(taintRequest(observedNode("a", { ready: null }))).toBeNull();
  });

  test("changes only our two NoExecute taints (P4, R4.41)", () => {
    const keys = fc.constantFrom(NOT_READY, UNREACHABLE, "maintenance", "node.kubernetes.io/out-of-service");
    const taint = fc.record({ key: keys, effect: fc.constantFrom("NoExecute", "NoSchedule"), value: fc.string() });
    const ready = fc.constantFrom<"True" | "False" | "Unknown" | null>("True", "False", "Unknown", null);
    fc.assert(
      fc.property(fc.array(taint), ready, (taints, status) => {
        const node = observedNode("a", { taints, ready: status });
        for (const request of [taintRequest(node), taintRemovalRequest(node)]) {
          const touched = [...(request?.add ?? []), ...(request?.remove ?? [])];
          expect(
            touched.every(({ key, effect }) => effect === "NoExecute" && [NOT_READY, UNREACHABLE].includes(key)),
          ).toBe(true);
          expect(request?.add.some(({ key }) => request.remove.some((removed) => removed.key === key)) ?? false).toBe(
            false,
          );
        }
      }),
    );
  });

  test("is undone by removing both our NoExecute taints (R6.10)", () => {
    const taints = [noExecute(NOT_READY), noExecute("foreign"), noExecute(UNREACHABLE)];
    const request = taintRemovalRequest(observedNode("a", { ready: "Unknown", taints }));
    expect(request).toMatchObject({ add: [], remove: [{ key: NOT_READY }, { key: UNREACHABLE }], why: "healing" });
    expect(taintRemovalRequest(observedNode("a", { taints: [noExecute("foreign")] }))).toBeNull();
  });
});

test("limits order nodes by their Ready condition in the API, then by name", () => {
  const member = (node: string, since: number, transitionAt: number) => {
    const observed = observedNode(node, { ready: "False" });
    const conditions = observed.conditions.map((each) => ({ ...each, transitionAt }));
    return { observed: { ...observed, conditions }, judged: judgedNode(node, { since }) };
  };
  const members = [member("b", 1, 2000), member("a", 3, 2000), member("c", 9, 1000)];
  expect(members.toSorted(byTransition).map(({ judged }) => judged.node)).toEqual(["c", "a", "b"]);
});

describe("taking a zone over", () => {
  test("nodes are queued by how long they were down, then by name", () => {
    const member = (node: string, since: number) => ({
      observed: observedNode(node),
      judged: judgedNode(node, { since }),
    });
    const members = [member("c", 5), member("b", 9), member("a", 9), member("d", 1)];
    for (const waiting of [members, members.toReversed()]) {
      const order = waiting.toSorted(byWaitingTime).map(({ observed }) => observed.node);
      expect(order).toEqual(["d", "c", "a", "b"]);
    }
  });

  test("our newest taint counts, as the last instant of its second", () => {
    const at = (timeAdded: string, key = UNREACHABLE) => observedNode(key, { taints: [noExecute(key, { timeAdded })] });
    const nodes = [
      at("2026-01-01T00:00:05Z"),
      at("2026-01-01T00:00:09Z", NOT_READY),
      at("2026-01-01T00:00:30Z", "foreign"),
      observedNode("none"),
    ];
    expect(newestTaintAt(nodes)).toBe(Date.UTC(2026, 0, 1, 0, 0, 10));
    expect(newestTaintAt([observedNode("none")])).toBeNull();
  });

  test("a taint's recorded appearance counts, not a later timeAdded", () => {
    const taintsSeenAt = { [`${UNREACHABLE}:NoExecute`]: Date.UTC(2026, 0, 1) };
    const taints = [noExecute(UNREACHABLE, { timeAdded: "2026-01-01T00:05:00Z" })];
    expect(newestTaintAt([observedNode("a", { taints, taintsSeenAt })])).toBe(Date.UTC(2026, 0, 1, 0, 0, 1));
  });
});

describe("a node with a due NoExecute rule", () => {
  const taint = { key: "vigil.io/deadlock", effect: "NoExecute" };
  const dueWith = (state: "due" | "waiting" | "tainted", fields = {}) =>
    judgedNode("a", { conditions: [{ type: "Deadlock", status: "True", since: 5000, taint, state }], ...fields });
  const carried = {
    taints: [{ ...taint, value: "vigil" }],
    conditionTaints: { "vigil.io/deadlock:NoExecute": "Deadlock" },
  };

  test.each([
    ["waits for a grant", observedNode("a"), dueWith("due"), true],
    ["not before its duration is over", observedNode("a"), dueWith("waiting"), false],
    ["not once it carries the taint", observedNode("a", carried), dueWith("due"), false],
  ] as const)("%s", (_what, observed, judged, waits) => {
    expect(waitsForGrant({ observed, judged }, "taint")).toBe(waits);
    expect(waitsForGrant({ observed, judged }, "direct")).toBe(false);
  });

  test("gets the taint of its readiness first", () => {
    const keys = (ready: "True" | "Unknown", taints = [] as ReturnType<typeof noExecute>[]) =>
      grantRequest({ observed: observedNode("a", { ready, taints }), judged: dueWith("due") })?.add.map(
        ({ key }) => key,
      );
    expect(keys("True")).toEqual([taint.key]);
    expect(keys("Unknown")).toEqual([UNREACHABLE]);
    expect(keys("Unknown", [noExecute(UNREACHABLE)])).toEqual([taint.key]);
  });

  test("spends a token when the taint lands", () => {
    const [before, after] = [observedNode("a"), observedNode("a", carried)];
    expect(isNewlyTainted(before, after)).toBe(true);
    expect(isNewlyTainted(after, after)).toBe(false);
    expect(isNewlyTainted(before, observedNode("a", { taints: [taint] }))).toBe(false);
    const down = observedNode("a", { taints: [noExecute(NOT_READY)] });
    expect(isNewlyTainted(down, observedNode("a", { taints: [noExecute(UNREACHABLE)] }))).toBe(false);
  });

  test("loses the taint in a halt", () => {
    expect(taintRemovalRequest(observedNode("a", carried))?.remove).toEqual([taint]);
    expect(taintRemovalRequest(observedNode("a", { taints: [taint] }))).toBeNull();
  });

  test("is queued by the time of its condition", () => {
    const observed = observedNode("a");
    const late = {
      observed: observedNode("b", { ready: "Unknown" }),
      judged: { ...judgedNode("b", { eviction: "toBeEvicted" }), since: 4000 },
    };
    expect(byWaitingTime({ observed, judged: dueWith("due", { since: 0 }) }, late)).toBe(1000);
  });
});
