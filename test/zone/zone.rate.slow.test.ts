/** The eviction rate as an operator measures it: by landed taints, over ten minutes and in every window. */
import { describe, expect, test } from "vitest";
import { expectNoBurst } from "./rate.expectations.ts";
import { type StageOptions, type ZoneProcess, ZoneStage } from "./zone-stage.ts";

const S = 1000;
const MEASURED_MS = 600 * S;
/** The share of its rate that a zone may lose. */
const LOSS_MAX = 0.02;

/** Fails when fewer or more taints have landed than the flag allows. */
function expectRate(atMs: readonly number[], perSecond: number): void {
  expectNoBurst(atMs, perSecond);
  const [firstMs = 0] = atMs;
  const measured = atMs.filter((at) => at < firstMs + MEASURED_MS).length;
  expect(measured).toBeGreaterThanOrEqual(perSecond * (MEASURED_MS / S) * (1 - LOSS_MAX));
}

/** A zone with more waiting nodes than ten minutes can serve. */
function waitingStage(perSecond: number, options: Partial<StageOptions> = {}): ZoneStage {
  const waiting = Math.ceil((perSecond * MEASURED_MS) / S) + 60;
  return new ZoneStage({ waiting, ...options, profile: { nodeEvictionsPerSecond: perSecond, ...options.profile } });
}

describe.each([0.1, 1, 10])("a flag of %f per second", (perSecond) => {
  test.each([0, 100, 2000])("is kept when each request takes %i ms", (latencyMs) => {
    const stage = waitingStage(perSecond, { carry: () => ({ latencyMs }) });
    stage.start("one").own(true);
    stage.advance(MEASURED_MS + 20 * S);
    expectRate(stage.landed, perSecond);
  });

  test.each([100, 2000])("is kept by two alternate owners, with requests of %i ms", (latencyMs) => {
    const stage = waitingStage(perSecond, { carry: () => ({ latencyMs }) });
    const processes = [stage.start("one"), stage.start("two")] as const;
    const hand = (to: ZoneProcess, from: ZoneProcess): void => {
      from.own(false);
      to.own(true);
    };
    for (let turn = 0; turn * 37 * S < MEASURED_MS + 20 * S; turn++) {
      hand(processes[turn % 2 === 0 ? 0 : 1], processes[turn % 2 === 0 ? 1 : 0]);
      stage.advance(37 * S);
    }
    expectRate(stage.landed, perSecond);
  });

  test("is kept in direct mode by two alternating owners", () => {
    const stage = waitingStage(perSecond, { profile: { evictionMode: "direct" }, carry: () => ({ latencyMs: 100 }) });
    const [one, two] = [stage.start("one"), stage.start("two")];
    for (let turn = 0; turn * 37 * S < MEASURED_MS + 20 * S; turn++) {
      one.own(turn % 2 === 0);
      two.own(turn % 2 === 1);
      stage.advance(37 * S);
    }
    expectRate(stage.landed, perSecond);
  });
});
