/** When a zone gets a token back: only for a node that is observed to be ready or gone. */
import { expect, test } from "vitest";
import { expectNoBurst } from "./rate.expectations.ts";
import { type Carrying, ZoneStage } from "./zone-stage.ts";

const S = 1000;
const RATE = 0.1;
const REFUSED: Carrying = { latencyMs: 0.1 * S, outcome: "refused" };

/** A zone at its first grant. Its first requests are refused, all others carried out at once. */
function staged(refused: number, carrying: Carrying = REFUSED): ZoneStage {
  const carry = (_node: string, nth: number): Carrying => (nth < refused ? carrying : { latencyMs: 0 });
  // The threshold keeps the zone at its rate.
  const stage = new ZoneStage({ waiting: 20, carry, profile: { unhealthyZoneThreshold: 1 } });
  stage.start("one").own(true);
  for (let passed = 0; passed < 200 && stage.granted.length === 0; passed++) stage.advance(0.1 * S);
  return stage;
}

/** How long after the first grant each other grant came, in seconds. */
const laterS = ({ granted: [firstMs = 0, ...others] }: ZoneStage): number[] =>
  others.map((atMs) => Math.round((atMs - firstMs) / S));

test("forged refusals do not advance a grant", () => {
  for (const latencyMs of [0.2 * S, 3 * S]) {
    const stage = staged(Number.POSITIVE_INFINITY, { latencyMs, isForged: true });
    stage.advance(60 * S);
    expectNoBurst(stage.granted, RATE);
    expectNoBurst(stage.landed, RATE);
    expect(laterS(stage)).toEqual([10, 20, 30, 40, 50, 60].slice(0, stage.granted.length - 1));
    expect(stage.landed.length).toBeGreaterThanOrEqual(6);
  }
});

test("a refusal gives no token back while its node is unchanged", () => {
  const stage = staged(1);
  stage.advance(25 * S);
  expect(laterS(stage)).toEqual([10, 20]);
});

test.each(["before", "after"])("a token comes back for a node that is ready %s its refusal", (when) => {
  const stage = staged(1);
  const recoverMs = when === "before" ? 0.05 * S : 3 * S;
  stage.advance(recoverMs);
  stage.recover("n-0");
  stage.advance(25 * S - recoverMs);
  expect(laterS(stage)).toEqual(when === "before" ? [0, 10, 20] : [3, 13, 23]);
});

test("a token comes back for a node that is gone before its taint lands", () => {
  const stage = staged(1, { latencyMs: 30 * S, outcome: "gone" });
  stage.advance(2 * S);
  stage.remove("n-0");
  stage.advance(23 * S);
  expect(laterS(stage)).toEqual([2, 12, 22]);
});

test("no token comes back for a ready node while its request is under way", () => {
  const stage = staged(1, { latencyMs: 30 * S });
  stage.advance(2 * S);
  stage.recover("n-0");
  stage.advance(23 * S);
  expect(laterS(stage)).toEqual([10, 20]);
});

test("at most one token comes back in the time in which a zone gains one", () => {
  const stage = staged(8);
  for (let passed = 0; passed < 40; passed++) {
    const index = stage.granted.length - 1;
    stage.recover(`n-${index}`);
    stage.advance(1 * S);
  }
  expectNoBurst(stage.granted, 2 * RATE, 2);
});
