/** When a pod-writer may evict a pod of a rated policy, on both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { EvictionPermit } from "../../../protocols/done.ts";
import { PERMIT_VALID_MS } from "../../../services/pod-writer/rates/eviction-window.ts";
import { PermitGate } from "../../../services/pod-writer/rates/permit-gate.ts";

const NOW = 1_795_437_315_250;

/** A gate at an instant, with a permit of policy gpu for pod p that was granted at another. */
function gateWith(grantedAt: number) {
  let wallMs = NOW;
  const gate = new PermitGate({ wallMs: () => wallMs });
  const permit = (at: number) =>
    gate.take({
      policy: "gpu",
      inWindow: 1,
      waiting: 0,
      oldestDeadlineAt: null,
      permits: [{ uid: "p", grantedAt: at }],
      queue: [],
    });
  permit(grantedAt);
  return { gate, permit, pass: (ms: number) => (wallMs += ms) };
}

describe("a permit", () => {
  test.each([
    ["is used while it is fresh", PERMIT_VALID_MS - 1, true],
    ["is late from then on", PERMIT_VALID_MS, false],
    ["of a clock ahead of ours is used while it is close", 1 - PERMIT_VALID_MS, true],
    ["of a clock too far ahead is not", -PERMIT_VALID_MS, false],
  ] as const)("%s", (_, ageMs, isUsed) => {
    expect(gateWith(NOW - ageMs).gate.use("gpu", "p") !== null).toBe(isUsed);
  });

  test("is for its own pod and policy", () => {
    expect(gateWith(NOW).gate.use("gpu", "q")).toBeNull();
    expect(gateWith(NOW).gate.use("spot", "p")).toBeNull();
  });

  test("is used once, however often it is published", () => {
    const { gate, permit } = gateWith(NOW);
    expect(gate.use("gpu", "p")).toEqual({ policy: "gpu", grantedAt: NOW });
    permit(NOW);
    expect(gate.use("gpu", "p")).toBeNull();
    permit(NOW + 1);
    expect(gate.use("gpu", "p")).toEqual({ policy: "gpu", grantedAt: NOW + 1 });
  });

  test("that was used does not count as new when it is late", () => {
    const { gate, permit, pass } = gateWith(NOW);
    gate.use("gpu", "p");
    pass(PERMIT_VALID_MS);
    permit(NOW);
    expect(gate.use("gpu", "p")).toBeNull();
  });
});

describe("an eviction that waits", () => {
  /** What it is resumed with. */
  function held(version: () => string | null) {
    const { gate, permit } = gateWith(NOW - PERMIT_VALID_MS);
    const resumed: (EvictionPermit | null)[] = [];
    gate.hold({
      policy: "gpu",
      uid: "p",
      node: "n1",
      observedVersion: version,
      resume: (with_) => resumed.push(with_),
    });
    return { gate, permit, resumed };
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
});
