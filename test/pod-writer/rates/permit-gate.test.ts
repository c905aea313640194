/** When a pod-writer may evict a pod of a rated policy, on both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { EvictionPermit } from "../../../protocols/done.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { PERMIT_VALID_MS } from "../../../services/pod-writer/rates/eviction-window.ts";
import { PermitGate, SHARED_MS } from "../../../services/pod-writer/rates/permit-gate.ts";

const NOW = 1_795_437_315_250;
const POD = { uid: "p", node: "n1" };

/** A gate at an instant, with a permit of policy gpu for pod p that was granted at another. */
function gateWith(grantedAt: number) {
  let passedMs = 0;
  const gate = new PermitGate({ wallMs: () => NOW + passedMs, monotonicMs: () => passedMs });
  const permit = (at: number) =>
    gate.onPermits({
      policy: "gpu",
      inWindow: 1,
      waiting: 0,
      oldestDeadlineAt: null,
      permits: [{ uid: "p", grantedAt: at }],
      queue: [],
    });
  permit(grantedAt);
  return { gate, permit, pass: (ms: number) => (passedMs += ms) };
}

describe("a permit", () => {
  test.each([
    ["is used while it is fresh", PERMIT_VALID_MS - 1, true],
    ["is late from then on", PERMIT_VALID_MS, false],
    ["of a clock ahead of ours is used while it is close", 1 - PERMIT_VALID_MS, true],
    ["of a clock too far ahead is not", -PERMIT_VALID_MS, false],
  ] as const)("%s", (_, ageMs, isUsed) => {
    expect(gateWith(NOW - ageMs).gate.use("gpu", POD) !== null).toBe(isUsed);
  });

  test("is for its own pod and policy", () => {
    expect(gateWith(NOW).gate.use("gpu", { ...POD, uid: "q" })).toBeNull();
    expect(gateWith(NOW).gate.use("spot", POD)).toBeNull();
  });

  test("is used once, however often it is published", () => {
    const { gate, permit } = gateWith(NOW);
    expect(gate.use("gpu", POD)).toEqual({ policy: "gpu", grantedAt: NOW });
    permit(NOW);
    expect(gate.use("gpu", POD)).toBeNull();
    permit(NOW + 1);
    expect(gate.use("gpu", POD)).toEqual({ policy: "gpu", grantedAt: NOW + 1 });
  });

  test("that was used does not count as new when it is late", () => {
    const { gate, permit, pass } = gateWith(NOW);
    gate.use("gpu", POD);
    pass(PERMIT_VALID_MS);
    permit(NOW);
    expect(gate.use("gpu", POD)).toBeNull();
  });

  test.each([
    [SHARED_MS - 1, false],
    [SHARED_MS, true],
  ])("is used %i ms after its shard was gained: %s", (ms, isUsed) => {
    const { gate, pass } = gateWith(NOW);
    gate.gain(shardOf(POD.node));
    pass(ms);
    expect(gate.use("gpu", POD) !== null).toBe(isUsed);
  });
});

describe("an eviction that waits", () => {
  /** What it is resumed with. */
  function held(version: () => string | null) {
    const { gate, permit, pass } = gateWith(NOW - PERMIT_VALID_MS);
    const resumed: (EvictionPermit | null)[] = [];
    const resume = (with_: EvictionPermit | null) => resumed.push(with_);
    const hold = (receivedMs: number) =>
      gate.add({ policy: "gpu", uid: "p", node: "n1", receivedMs, observedVersion: version, resume });
    hold(0);
    return { gate, permit, pass, hold, resumed };
  }

  test("goes on with its permit, once", () => {
    const { permit, resumed } = held(() => "1");
    permit(NOW);
    permit(NOW);
    expect(resumed).toEqual([{ policy: "gpu", grantedAt: NOW }]);
  });

  test("is attempted again when its pod has changed", () => {
    let version: string | null = "1";
    const { gate, resumed } = held(() => version);
    gate.review("n1");
    gate.review("n2");
    expect(resumed).toEqual([]);
    version = null;
    gate.review("n1");
    expect(resumed).toEqual([null]);
  });

  test("is attempted again when the policies have changed", () => {
    const { gate, resumed } = held(() => "1");
    gate.reviewAll();
    expect(resumed).toEqual([null]);
  });

  test("is attempted again when its node leaves the policy", () => {
    const { gate, resumed } = held(() => "1");
    gate.reviewPolicy("n1", () => "gpu");
    gate.reviewPolicy("n2", () => null);
    expect(resumed).toEqual([]);
    gate.reviewPolicy("n1", () => "spot");
    expect(resumed).toEqual([null]);
  });

  test.each([
    ["is dropped with its shard, also when it comes late", 999, 0],
    ["is kept when it was requested after its shard was lost", 1_000, 1],
  ] as const)("%s", (_, receivedMs, resumptions) => {
    const { gate, pass, hold, resumed } = held(() => "1");
    pass(1_000);
    gate.drop(shardOf("n1"));
    gate.reviewAll();
    expect(resumed).toEqual([]);
    hold(receivedMs);
    gate.reviewAll();
    expect(resumed).toHaveLength(resumptions);
  });
});
