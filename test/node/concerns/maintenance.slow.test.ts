/** Conditions that hold evictions: what is recorded, what countdowns keep, and all services over restarts. */
import { describe, expect, test } from "vitest";
import type { ConditionHold, ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import type { Maintenance } from "../../../protocols/policy-set.ts";
import { Urgency } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import { nodeFreezeOf } from "../../../services/domain/freeze.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { withObservations } from "../../../services/node/concerns/conditions/condition-observations.ts";
import { windowsChange } from "../../../services/node/concerns/maintenance/maintenance.policy.ts";
import { policyService } from "../../../services/policy/policy.service.ts";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../../support/eviction-world.ts";
import { HandPolicies, type PolicyFields } from "../../support/hand-policies.ts";
import { condition, nodeWith } from "../node-fixtures.ts";

const S = 1000;
const MINUTE = 60 * S;
const WALL = Date.UTC(2026, 0, 5, 12);
const NOW = 10_000_000;
const now = { nowMs: NOW, wallMs: WALL };
const DRAIN = "DrainInProgress";
const POLICY = nodePolicyOf("gpu", { selector: {}, maintenance: { hold: [DRAIN], atMost: "100s" } });
const MAINTENANCE: Maintenance = { hold: [DRAIN], atMostMs: 100 * S };
const SET = policySet([POLICY]);
const NO_EXECUTE = [{ key: UNREACHABLE, effect: "NoExecute" }];

/** A node in a drain, or not, with these holds, in seconds from now. */
function node(
  status: ConditionStatus | null,
  holds: readonly (readonly [fromS: number, toS: number | null])[] | null,
  fields: Partial<ObservedNode> = {},
): ObservedNode {
  const conditions = [condition("Ready", "True"), ...(status === null ? [] : [condition(DRAIN, status)])];
  const recorded = (holds ?? []).map(([fromS, toS]): ConditionHold => {
    return { type: DRAIN, fromAt: WALL + fromS * S, toAt: toS === null ? null : WALL + toS * S };
  });
  const records = holds === null ? {} : { holds: recorded };
  return { ...nodeWith(null), createdAt: 0, policyLabels: SET.labelsChecksum, conditions, ...records, ...fields };
}

describe("a node is frozen", () => {
  const seconds = (at: number | null) => (at === null ? null : (at - WALL) / S);
  test.each([
    ["from now while nothing is recorded", node("True", null), [[0, 100]], 100],
    ["from the first observation, for atMost", node("True", [[-60, null]]), [[-60, 40]], 40],
    ["to the last millisecond", node("True", [[-99.999, null]]), [[-99.999, 0.001]], 0.001],
    ["not longer than atMost", node("True", [[-100, null]]), [[-100, 0]], undefined],
    ["not with another status, once it ended", node("False", [[-60, null]]), [[-60, 0]], undefined],
    ["not without the condition", node(null, [[-60, -20]]), [[-60, -20]], undefined],
    ["not by a hold that ended in the future", node(null, [[-60, 3600]]), [[-60, 0]], undefined],
    [
      "again, after a hold that ended",
      node("True", [
        [-90, -80],
        [-10, null],
      ]),
      [
        [-90, -80],
        [-10, 90],
      ],
      90,
    ],
  ] as const)("%s", (_when, frozenNode, intervals, untilS) => {
    const { frozen, freeze } = nodeFreezeOf(frozenNode, SET, WALL);
    expect(frozen.map(({ fromAt, toAt }) => [seconds(fromAt), seconds(toAt)])).toEqual(intervals);
    expect(freeze === null ? undefined : seconds(freeze.untilAt)).toBe(untilS);
  });

  test("until the later end of a request and a hold", () => {
    const request = { name: "oncall", reason: null, sinceAt: WALL, untilAt: WALL + 10 * S };
    const frozen = [{ fromAt: WALL, toAt: WALL + 10 * S }];
    const both = policySet([{ ...POLICY, pauseRequests: [request], frozen }]);
    expect(
      nodeFreezeOf({ ...node("True", [[-60, null]]), policyLabels: both.labelsChecksum }, both, WALL).freeze,
    ).toEqual({
      field: "NodePolicy gpu: spec.pauseRequests (oncall)",
      untilAt: WALL + 40 * S,
    });
  });

  test("by its policy alone, which explain names", () => {
    expect(nodeFreezeOf(node("True", null), SET, WALL).freeze?.field).toBe(
      "NodePolicy gpu: spec.maintenance (DrainInProgress)",
    );
    const other = policySet([{ ...POLICY, selector: [{ key: "a", operator: "Exists", values: [] }] }]);
    expect(nodeFreezeOf({ ...node("True", null), policyLabels: other.labelsChecksum }, other, WALL).freeze).toBeNull();
  });
});

describe("the record of a hold", () => {
  const at = (fromS: number) => new Date(WALL + fromS * S).toISOString().replace("Z", "000Z");
  const change = (
    of: ObservedNode,
    maintenances: readonly Maintenance[] = [MAINTENANCE],
    evictionMode: Profile["evictionMode"] = "taint",
  ) => {
    const observations = withObservations(new Map(), of, [DRAIN], { ...now, isUnbroken: true });
    return windowsChange({ node: of, maintenances, observations, evictionMode, endedHoldsMax: 16, now });
  };
  const carrying = { taints: NO_EXECUTE };
  test.each([
    ["begins when it is first seen", node("True", null), `[{"type":"${DRAIN}","from":"${at(0)}"}]`],
    ["is not written again", node("True", [[-60, null]]), undefined],
    [
      "that ended in the future ends now",
      node("False", [[-60, 3600]], carrying),
      `[{"type":"${DRAIN}","from":"${at(-60)}","to":"${at(0)}"}]`,
    ],
    ["that ended by a clock slightly ahead stays", node("False", [[-60, 10]], carrying), undefined],
    ["goes when it is all in the future", node("False", [[60, 3600]], carrying), null],
    ["from the future begins now", node("True", [[5, null]]), `[{"type":"${DRAIN}","from":"${at(0)}"}]`],
    [
      "ends with the condition",
      node("False", [[-60, null]], carrying),
      `[{"type":"${DRAIN}","from":"${at(-60)}","to":"${at(0)}"}]`,
    ],
    [
      "ends after atMost",
      node("False", [[-130, null]], carrying),
      `[{"type":"${DRAIN}","from":"${at(-130)}","to":"${at(-30)}"}]`,
    ],
    ["goes where no countdown runs", node("False", [[-60, null]]), null],
    ["stays while one runs", node("False", [[-60, -20]], carrying), undefined],
    ["is none without the condition", node("False", null), undefined],
  ])("%s", (_what, of, text) => {
    expect(change(of)).toBe(text);
  });

  test("stays in direct mode while its node is not Ready", () => {
    const down = node("False", [[-60, -20]]);
    const conditions = [condition("Ready", "Unknown"), condition(DRAIN, "False")];
    expect(change({ ...down, conditions }, [MAINTENANCE], "direct")).toBeUndefined();
    expect(change(down, [MAINTENANCE], "direct")).toBeNull();
  });

  test("stays while its node is silent", () => {
    const down = node("False", [[-60, -20]]);
    const conditions = [condition("Ready", "Unknown"), condition(DRAIN, "False")];
    expect(change({ ...down, conditions })).toBeUndefined();
    expect(change({ ...down, conditions: [condition("Ready", "False"), condition(DRAIN, "False")] })).toBeNull();
  });

  test("ends when its policy goes", () => {
    expect(change(node("True", [[-60, null]], carrying), [])).toBe(
      `[{"type":"${DRAIN}","from":"${at(-60)}","to":"${at(0)}"}]`,
    );
  });

  test("of several policies ends after the longest atMost", () => {
    const longer = { hold: [DRAIN], atMostMs: 120 * S };
    expect(change(node("False", [[-130, null]], carrying), [MAINTENANCE, longer])).toBe(
      `[{"type":"${DRAIN}","from":"${at(-130)}","to":"${at(-10)}"}]`,
    );
  });
});

describe("with all services", () => {
  const maintenance: PolicyFields = { maintenance: { hold: [DRAIN], atMost: "10m" } };
  const run = (fields: PolicyFields = maintenance, conflicting: PolicyFields | null = null) => {
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
    world.addZone("a", 4);
    world.addZone("c", 3);
    world.addTolerantPod("a-0", "p");
    const policies = new HandPolicies(fields);
    if (conflicting !== null) policies.putConflicting(fields, conflicting);
    const start = () => world.start({ ...EVICTING, policy: policyService([]) }, { member: "vigil", policies });
    const process = start();
    world.advance(10 * S);
    return { world, process, start, policies };
  };
  /** An agent posts the condition, and nothing of the kubelet's. */
  const post = (world: EvictionWorld, status: ConditionStatus) => {
    const conditions = [{ type: DRAIN, status, lastTransitionTime: apiTime(world.clock.wallMs()) }];
    const ref = { kind: "Node", namespace: "", name: "a-0" } as const;
    const where = { ref, urgency: Urgency.status, subresource: "status" } as const;
    world.write({ ...where, verb: "patch", patch: "strategic", body: { status: { conditions } } });
  };
  /** Taints a-0 by silence and holds its evictions for a minute and on. Returns when it was tainted. */
  const taintAndHold = (world: EvictionWorld): number => {
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    const taintedMs = world.taintedAt("a-0") ?? Number.NaN;
    post(world, "True");
    world.advance(MINUTE);
    return taintedMs;
  };
  /** How long the pod stayed after that, in seconds; NaN while it is there. */
  const secondsStayed = (world: EvictionWorld, taintedMs: number): number =>
    ((world.deletedAt("p") ?? Number.NaN) - taintedMs) / S;
  const ready = (world: EvictionWorld) =>
    world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body;

  test.each([
    ["", null],
    [", in a conflict too", {}],
  ])("a silent node is judged, and not tainted NoExecute%s", (_where, conflicting) => {
    const { world } = run(maintenance, conflicting);
    post(world, "True");
    world.silence(["a-0"]);
    world.advance(5 * MINUTE);
    expect(world.taints("a-0")).toEqual([`${UNREACHABLE}:NoSchedule`]);
    expect(ready(world)).toMatchObject({ readiness: "unknown", maintenance: { types: [DRAIN] } });
    world.advance(6 * MINUTE);
    expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
    expect(ready(world)?.maintenance).toBeUndefined();
  });

  test("a hold that ended in the future delays no eviction until then", () => {
    const { world } = run();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    const taintedMs = world.taintedAt("a-0") ?? Number.NaN;
    const at = (inMs: number) => new Date(world.clock.wallMs() + inMs).toISOString();
    const holds = JSON.stringify([{ type: DRAIN, from: at(-MINUTE), to: at(100 * 24 * 60 * MINUTE) }]);
    const ref = { kind: "Node", namespace: "", name: "a-0" } as const;
    world.patch(ref, { metadata: { annotations: { "vigil.v1/holds": holds } } });
    world.advance(20 * MINUTE);
    expect(secondsStayed(world, taintedMs)).toBeLessThanOrEqual(300 + 120 + 3);
  });

  test("a hold ends on time while the policies are not known", () => {
    const { world, policies } = run();
    post(world, "True");
    world.advance(MINUTE);
    expect(ready(world)).toMatchObject({ maintenance: { types: [DRAIN] } });
    policies.forget();
    world.advance(10 * MINUTE);
    expect(ready(world)?.maintenance).toBeUndefined();
  });

  test("a type taken out of hold ends its hold, and no countdown", () => {
    const { world, policies } = run();
    const taintedMs = taintAndHold(world);
    world.advance(5 * MINUTE);
    policies.put({});
    world.advance(20 * MINUTE);
    const tookS = secondsStayed(world, taintedMs);
    expect(tookS).toBeGreaterThanOrEqual(300 + 360 - 1);
    expect(tookS).toBeLessThanOrEqual(300 + 360 + 3);
  });

  test.each([
    ["", false],
    [", over a restart", true],
  ])("in a conflict a hold ends atMost after its beginning%s", (_how, isRestarted) => {
    const { world, process, start } = run({}, maintenance);
    const taintedMs = taintAndHold(world);
    if (isRestarted) {
      process.kill();
      start();
    }
    world.advance(20 * MINUTE);
    const tookS = secondsStayed(world, taintedMs);
    expect(tookS).toBeGreaterThanOrEqual(300 + 600 - 1);
    expect(tookS).toBeLessThanOrEqual(300 + 600 + 3);
  });

  test("a hold that ended in a conflict counts up to its end", () => {
    const { world, policies } = run(maintenance, {});
    const taintedMs = taintAndHold(world);
    post(world, "False");
    world.advance(MINUTE);
    policies.put(maintenance);
    world.advance(10 * MINUTE);
    const tookS = secondsStayed(world, taintedMs);
    expect(tookS).toBeGreaterThanOrEqual(300 + 60 - 1);
    expect(tookS).toBeLessThanOrEqual(300 + 60 + 3);
  });

  test.each([
    ["", false],
    [", over restarts", true],
  ])("a countdown keeps what is left of it%s", (_how, isRestarted) => {
    const { world, process, start } = run();
    const taintedMs = taintAndHold(world);
    if (isRestarted) {
      process.kill();
      start();
    }
    world.advance(6 * MINUTE);
    expect(world.deletedAt("p")).toBeUndefined();
    post(world, "False");
    world.advance(10 * MINUTE);
    const tookS = secondsStayed(world, taintedMs);
    expect(tookS).toBeGreaterThanOrEqual(300 + 420 - 1);
    expect(tookS).toBeLessThanOrEqual(300 + 420 + 3);
  });
});
