/** How long a Ready node keeps its NoSchedule taint: the rules, and all services over flaps and restarts. */
import { describe, expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import {
  flappingUntilAt,
  foundTransitions,
  publishedDelay,
  taintDelayOf,
  transitionsChangeOf,
  unknownDelay,
  withRecorded,
  withTransitions,
} from "../../../services/node/concerns/taint-delay/taint-delay.policy.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { ApiPath } from "../../sim/api-path.ts";
import { EVICTING, EvictionWorld, NOT_READY, UNREACHABLE } from "../../support/eviction-world.ts";
import { HandPolicies, type PolicyFields } from "../../support/hand-policies.ts";
import { nodeWith, taint } from "../node-fixtures.ts";

const S = 1000;
const MINUTE = 60 * S;
const WALL = Date.UTC(2026, 0, 5, 12);
const NOW = 10_000_000;
const AT = { nowMs: NOW, wallMs: WALL };
const flapping = { transitions: 4, windowMs: 30 * MINUTE, holdDownMs: 60 * MINUTE };
const RECORD = "vigil.v1/ready-transitions";
const NO_SCHEDULE = `${UNREACHABLE}:NoSchedule`;
/** A record of the transition five seconds ago. */
const RECENT = `["2026-01-05T11:59:55Z"]`;

describe("a NoSchedule taint stays", () => {
  const settings = { healthyDelayMs: 2 * MINUTE, flapping };
  test.each([
    ["just before healthyDelay is over", NOW - 2 * MINUTE + 1, [], "healthyDelay", NOW + 1],
    ["no longer once it is over", NOW - 2 * MINUTE, [], null, null],
    ["for holdDown after the fourth transition", 0, [-3, -2, -1, 0], "flapping", NOW + 60 * MINUTE],
    ["for no transition in the future", 0, [-2, -1, 0, 1], null, null],
    ["for the longer of the two", NOW, [-90, -80, -70, -59], "healthyDelay", NOW + 2 * MINUTE],
  ])("%s", (_when, sinceMs, minutes, field, untilMs) => {
    const transitionsAt = minutes.map((minute) => WALL + minute * MINUTE);
    const hold = taintDelayOf(nodeWith("True"), settings, { sinceMs, transitionsAt }, AT);
    expect([hold?.field ?? null, hold?.untilMs ?? null]).toEqual([field, untilMs]);
  });

  test("only while it is Ready", () => {
    expect(taintDelayOf(nodeWith("False"), settings, { sinceMs: NOW, transitionsAt: [] }, AT)).toBeNull();
  });

  test("while its policy is unknown, at first", () => {
    expect(unknownDelay(nodeWith("True"), { beganMs: NOW - 29_999, nowMs: NOW })?.untilMs).toBe(NOW + 1);
    expect(unknownDelay(nodeWith("True"), { beganMs: NOW - 30_000, nowMs: NOW })).toBeNull();
  });
});

describe("the published hold", () => {
  const hold = (untilMs: number) => ({ field: "flapping", untilMs }) as const;

  test.each([
    ["by a part of a second", 999, WALL + MINUTE],
    ["by a second", 1000, WALL + MINUTE + 1000],
    ["back by a second", -1000, WALL + MINUTE - 1000],
  ])("whose end moves %s names %i ms more as %i", (_how, ms, untilAt) => {
    const before = publishedDelay(null, hold(NOW + MINUTE), AT);
    expect(before).toEqual({ field: "flapping", untilAt: WALL + MINUTE });
    expect(publishedDelay(before, hold(NOW + MINUTE + ms), AT)).toEqual({ field: "flapping", untilAt });
  });

  test("is that of the present field", () => {
    const before = { field: "healthyDelay", untilAt: WALL + MINUTE };
    expect(publishedDelay(before, hold(NOW + MINUTE + 1), AT)?.untilAt).toBe(WALL + MINUTE + 1);
    expect(publishedDelay(before, null, AT)).toBeNull();
  });
});

describe("flapping", () => {
  test.each([
    ["three transitions", [0, 1, 2], null],
    ["four in a window", [0, 10, 20, 29], 29 + 60],
    ["four in exactly a window", [0, 10, 20, 30], null],
    ["the last four that fit", [0, 1, 2, 3, 60], 3 + 60],
    ["each further one", [0, 1, 2, 3, 20], 20 + 60],
  ])("with %s at minutes %j holds until %s", (_what, minutes, until) => {
    const heldAt = flappingUntilAt(
      minutes.map((minute) => WALL + minute * MINUTE),
      flapping,
    );
    expect(heldAt === null ? null : (heldAt - WALL) / MINUTE).toBe(until);
  });

  test("keeps the latest transitions, in order and once", () => {
    expect(withTransitions([1000, 5000], [3999, 5400])).toEqual([1000, 3000, 5000]);
    const many = Array.from({ length: 64 }, (_, index) => index * 1000);
    expect(withTransitions(many, [64_000])).toEqual([...many.slice(1), 64_000]);
  });

  test.each([
    ["as the same by two processes, the earlier instant", [0, 36], [0, 30], [0], [0, 30]],
    ["as the same, its own being the earlier one", [0, 30], [0, 36], [0], [0, 30]],
    ["as another one, too far apart", [0, 30], [0, 41], [0], [0, 30, 41]],
    ["as another one, since the record names both", [0, 30], [0, 30, 36], [0], [0, 30, 36]],
    ["as the same as the nearest one", [0, 30, 36], [0, 31], [0], [0, 30, 36]],
    ["as the same once", [0, 30], [0, 31, 36], [0], [0, 30, 36]],
    ["as before, from a record that is known", [0, 30], [0, 36], [0, 36], [0, 30]],
    ["of another process alone", [0], [0, 30, 60], [0], [0, 30, 60]],
  ])("takes a recorded transition %s", (_how, known, recorded, before, expected) => {
    const at = (seconds: readonly number[]): number[] => seconds.map((second) => WALL + second * S);
    expect(withRecorded(at(known), at(recorded), at(before))).toEqual(at(expected));
  });

  test.each([
    ["later than the record", "True", 11, [0], [0, 11]],
    ["as recorded, by a clock that is off", "True", 10, [0], [0]],
    ["by a clock that is ahead", "True", 21, [0], [0]],
    ["without recorded ones in the future", "True", 15, [0, 31, 32], [0, 15]],
    ["of a node without a record", "True", 15, [], []],
    ["of a node that is down and not tainted yet", "False", 15, [], [15]],
    ["of one that is down, later than the record", "Unknown", 11, [0], [0, 11]],
    ["of one that is down, as recorded", "False", 10, [0], [0]],
    ["of one that is down, by a clock that is ahead", "False", 21, [], []],
  ] as const)("finds the last transition %s", (_what, status, atS, recorded, found) => {
    expect(foundAfter(nodeWith(status), atS, recorded)).toEqual(found);
  });

  test("finds no transition of a node that is down and tainted for it", () => {
    const taints = (effect: string) => ({ taints: [taint(NOT_READY, effect)] });
    expect(foundAfter(nodeWith("False", taints("NoSchedule")), 15, [])).toEqual([]);
    // The zone adds this one, and records nothing.
    expect(foundAfter(nodeWith("False", taints("NoExecute")), 15, [])).toEqual([15]);
  });

  /** The transitions that are found at second 20 of a node whose condition changed at `atS`. */
  function foundAfter(node: ObservedNode, atS: number, recorded: readonly number[]): number[] {
    const at = (second: number): number => WALL + second * S;
    const conditions = node.conditions.map((each) => ({ ...each, transitionAt: at(atS) }));
    const found = { ...node, conditions, readyTransitionsAt: recorded.map(at) };
    return foundTransitions(found, at(20)).map((each) => (each - WALL) / S);
  }

  test.each([
    ["a new transition is recorded", [WALL - 5000], [], flapping, RECENT],
    ["a known one is not written again", [WALL - 5000], [WALL - 5000], flapping, undefined],
    ["one in the future is taken off", [WALL - 5000], [WALL - 5000, WALL + 11_000], flapping, RECENT],
    ["old ones alone leave no record", [WALL - 90 * MINUTE], [WALL - 90 * MINUTE], flapping, null],
    ["without the setting the record goes", [WALL - 5000], [WALL - 5000], null, null],
  ] as const)("%s", (_what, transitionsAt, readyTransitionsAt, setting, text) => {
    const node = readyTransitionsAt.length === 0 ? {} : { readyTransitionsAt: [...readyTransitionsAt] };
    const change = transitionsChangeOf(node, setting, transitionsAt, WALL);
    expect(change).toEqual(text === undefined ? null : { [RECORD]: text });
  });
});

describe("with all services", () => {
  const run = (fields: PolicyFields) => {
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
    world.addZone("a", 3);
    world.addZone("c", 3);
    const policies = new HandPolicies(fields);
    const start = () => world.start(EVICTING, { member: "vigil", policies });
    const process = start();
    world.advance(10 * S);
    return { world, process, start, policies };
  };
  const flap = (world: EvictionWorld, node: string, times: number): void => {
    for (let index = 0; index < times; index++) {
      world.silence([node]);
      world.advance(70 * S);
      world.revive([node]);
      world.advance(5 * S);
    }
  };
  const annotations = (world: EvictionWorld, node: string): unknown =>
    Object.entries(world.node(node).metadata).find(([field]) => field === "annotations")?.[1] ?? {};

  test("only NoSchedule waits for healthyDelay", () => {
    const { world } = run({ healthyDelay: "2m" });
    world.addTolerantPod("a-0", "p");
    flap(world, "a-0", 1);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    expect(world.published("judged.node").at(-1)?.body.taintHold?.field).toBe("healthyDelay");
    world.advance(2 * MINUTE - 6 * S);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    world.advance(2 * S);
    expect(world.taints("a-0")).toEqual([]);
    world.advance(4 * MINUTE);
    expect(world.deletedAt("p")).toBeUndefined();
    expect(world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body.taintHold).toBeUndefined();
  });

  test("another end of it is published", () => {
    const { world, policies } = run({ healthyDelay: "2m" });
    flap(world, "a-0", 1);
    const held = () => world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body.taintHold;
    const before = held()?.untilAt ?? 0;
    policies.put({ healthyDelay: "10m" });
    world.advance(S);
    expect(held()).toEqual({ field: "healthyDelay", untilAt: before + 8 * MINUTE });
  });

  test.each([
    ["a day ahead", (wallMs: number) => wallMs + 24 * 60 * MINUTE],
    ["in the year 9999", () => Date.UTC(9999, 11, 31, 23, 59)],
  ])("transitions recorded by a clock %s keep no taint on", (_what, aheadOf) => {
    const { world } = run({ flapping: { transitions: 4, window: "10m", holdDown: "10m" } });
    const recorded = [0, 1, 2, 3].map((index) => apiTime(aheadOf(world.clock.wallMs()) + index * 5 * S));
    const ref = { kind: "Node", namespace: "", name: "a-0" } as const;
    world.patch(ref, { metadata: { annotations: { [RECORD]: JSON.stringify(recorded) } } });
    world.advance(10 * S);
    flap(world, "a-0", 1);
    expect(world.published("judged.node").findLast(({ body }) => body.node === "a-0")?.body.readiness).toBe("ready");
    expect(world.taints("a-0")).toEqual([]);
  });

  test("a node of another pool loses its taint at once", () => {
    const { world } = run({ healthyDelay: "2m" });
    flap(world, "c-0", 1);
    expect(world.taints("c-0")).toEqual([]);
  });

  test("a flapping node is held down over a restart", () => {
    const { world, process, start, policies } = run({
      flapping: { transitions: 4, window: "10m", holdDown: "10m" },
    });
    flap(world, "a-0", 1);
    expect(world.taints("a-0")).toEqual([]);
    flap(world, "a-0", 1);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    process.kill();
    start();
    world.advance(9 * MINUTE);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    expect(annotations(world, "a-0")).toHaveProperty([RECORD]);
    policies.put(null);
    world.advance(5 * S);
    expect(world.taints("a-0")).toEqual([]);
    expect(annotations(world, "a-0")).not.toHaveProperty([RECORD]);
  });

  test("a transition without an owner counts for the next one", () => {
    const { world, process, start } = run({ flapping: { transitions: 2, window: "10m", holdDown: "10m" } });
    world.kubelet("a-0").report("Ready", "False");
    world.advance(70 * S);
    process.kill();
    world.kubelet("a-0").report("Ready", "True");
    world.advance(5 * S);
    start();
    world.advance(9 * MINUTE);
    expect(world.taints("a-0")).toEqual([`${NOT_READY}:NoSchedule`]);
    world.advance(MINUTE);
    expect(world.taints("a-0")).toEqual([]);
  });

  test("a failure without an owner counts for the next one", () => {
    const { world, process, start } = run({ flapping: { transitions: 2, window: "10m", holdDown: "10m" } });
    process.kill();
    world.kubelet("a-0").report("Ready", "False");
    world.advance(5 * S);
    start();
    world.advance(70 * S);
    world.kubelet("a-0").report("Ready", "True");
    world.advance(5 * S);
    expect(world.taints("a-0")).toEqual([`${NOT_READY}:NoSchedule`]);
    world.advance(10 * MINUTE);
    expect(world.taints("a-0")).toEqual([]);
  });

  /** Two whole processes that do not receive each other's messages; the second one's watches lag behind. */
  const runSplit = (fields: PolicyFields, watchLagMs: number) => {
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
    world.addZone("a", 3);
    world.addZone("c", 3);
    const policies = new HandPolicies(fields);
    for (const [member, lagMs] of [["left", 0] as const, ["right", watchLagMs] as const]) {
      const path = new ApiPath({ clock: world.clock, random: world.random(member), count: () => {} });
      path.watchLagMs = lagMs;
      world.start(EVICTING, {
        member,
        policies,
        transport: memoryTransport(world.clock),
        wireOver: (wire) => path.over(wire),
      });
    }
    world.advance(10 * S);
    return world;
  };

  test("a transition that both sides of a split see counts once", () => {
    const world = runSplit({ flapping: { transitions: 3, window: "10m", holdDown: "10m" } }, 3 * S);
    flap(world, "a-0", 1);
    expect(annotations(world, "a-0")).toHaveProperty([RECORD], expect.stringMatching(/^\["[^,]*","[^,]*"\]$/));
    expect(world.taints("a-0")).toEqual([]);
    flap(world, "a-0", 1);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
  });

  test("a held node is released when holdDown is over", () => {
    const { world } = run({ flapping: { transitions: 2, window: "10m", holdDown: "3m" } });
    flap(world, "a-0", 1);
    world.advance(3 * MINUTE - 7 * S);
    expect(world.taints("a-0")).toEqual([NO_SCHEDULE]);
    world.advance(7 * S);
    expect(world.taints("a-0")).toEqual([]);
  });
});
