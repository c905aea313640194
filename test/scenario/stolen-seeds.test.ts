/**
 * What the writers refuse to a process that has stolen the NATS seed of one role and sends the messages of that role.
 * The worst that remains is in stolen-seeds-at-worst.slow.test.ts.
 */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX } from "../../protocols/bounds.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";
import { NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";
import { evicting, NODE, Robbed } from "./stolen-seeds.fixture.ts";

const S = 1000;
const EVIL = "example.com/evil";

describe("with the seed of a zone, on a Ready node", () => {
  test.each<[string, Partial<BodyOf<"asked.taint">>]>([
    ["a NoExecute taint of any key", { add: [evicting(EVIL)] }],
    ["a NoExecute taint of our own", { add: [evicting(UNREACHABLE)] }],
    ["one with the key of a status that the node does not have", { add: [evicting(NOT_READY)], ready: "False" }],
    ["one that the request lists as present already", { taints: [evicting(EVIL)], add: [evicting(UNREACHABLE)] }],
    [
      "one that the request lists as present beside a taint that goes",
      { taints: [evicting(EVIL), evicting(UNREACHABLE)], remove: [evicting(UNREACHABLE)], why: "healing" },
    ],
    ["a NoSchedule taint of any key", { add: [{ key: EVIL, effect: "NoSchedule" }], why: "conditions" }],
    ["a NoExecute taint for its conditions", { add: [evicting(UNREACHABLE)], why: "conditions" }],
  ])("%s is not set", (_what, fields) => {
    const world = new Robbed();
    const before = world.shown();
    world.requestTaint("zone", fields);
    expect(world.shown()).toEqual(before);
    expect([world.tainted, world.deleted]).toEqual([[], []]);
  });

  test("no other owner's taint is removed", () => {
    const world = new Robbed();
    world.taint(NODE, [{ key: EVIL, effect: "NoSchedule" }]);
    world.advance(S);
    world.requestTaint("zone", { remove: [{ key: EVIL, effect: "NoSchedule" }], why: "healing" });
    expect(world.taints(NODE)).toEqual([`${EVIL}:NoSchedule`]);
  });
});

describe("with the seed of node or taint-manager", () => {
  test.each<[string, "node" | "taint-manager", Partial<BodyOf<"asked.label">>]>([
    ["a node-restriction label", "taint-manager", { labels: { "node-restriction.kubernetes.io/tier": "secret" } }],
    ["a role", "node", { labels: { "node-role.kubernetes.io/control-plane": "" } }],
    [
      "an old name of a label that differs from the new one",
      "node",
      { labels: { "beta.kubernetes.io/os": "windows" } },
    ],
    ["an annotation of another owner", "taint-manager", { annotations: { "example.com/owner": "attacker" } }],
    ["our own annotation with any content", "taint-manager", { annotations: { "vigil.v1/taints-seen": "x" } }],
    [
      "our own annotation about taints that are absent",
      "taint-manager",
      { annotations: { "vigil.v1/taints-seen": `{"${EVIL}:NoExecute":"2026-01-01T00:00:00Z"}` } },
    ],
    ["the record of a swap", "taint-manager", { annotations: { "vigil.v1/taint-swap": "{}" } }],
  ])("%s is not written on a node", (_what, service, fields) => {
    const world = new Robbed();
    const before = world.shown();
    world.requestLabel(service, fields);
    expect(world.shown()).toEqual(before);
  });

  test.each([
    ["a type that Vigil never forces", { type: "Evil", status: "True", reason: "r", message: "m" }],
    ["a status that Vigil never forces", { type: "MemoryPressure", status: "True", reason: "r", message: "m" }],
    ["a reason and message that are not Vigil's", { type: "Ready", status: "Unknown", reason: "r", message: "m" }],
  ] as const)("a condition with %s is not written", (_what, condition) => {
    const world = new Robbed();
    const before = world.shown();
    world.requestCondition([{ ...condition, heartbeatAt: null }]);
    expect(world.shown()).toEqual(before);
  });
});

describe("for node or taint-manager a tolerant pod", () => {
  /** A node that was just tainted, whose pod may stay for 300 s. */
  function tainted(profile: Partial<Profile> = {}): Robbed {
    const world = new Robbed(profile);
    const timeAdded = new Date(world.clock.wallMs()).toISOString().replace(/\.\d+Z$/, "Z");
    world.taint(NODE, [{ ...evicting(UNREACHABLE), timeAdded }]);
    return world;
  }

  test.each<[string, "node" | "taint-manager", Partial<BodyOf<"asked.eviction">>]>([
    ["by a deadline in the year 9999", "taint-manager", { deadlineAt: INSTANT_MAX }],
    ["by a deadline of long ago", "taint-manager", { deadlineAt: 0 }],
    ["by direct mode where taints decide", "node", { mode: "direct" }],
  ])("is not evicted %s", (_what, service, fields) => {
    const world = tainted();
    world.silence([NODE]);
    world.advance(60 * S);
    world.requestEviction(service, fields);
    expect(world.deleted).toEqual([]);
  });

  test("is evicted by no taint in direct mode", () => {
    const world = tainted({ evictionMode: "direct" });
    world.advance(400 * S);
    world.requestEviction("taint-manager", { deadlineAt: INSTANT_MAX });
    expect(world.deleted).toEqual([]);
  });
});
