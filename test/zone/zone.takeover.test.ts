/** A zone that another process takes over: its eviction rate in every window, its state and its log. */
import { describe, expect, test } from "vitest";
import { expectNoBurst } from "./rate.expectations.ts";
import { ILL_ZONE, type ZoneProcess, ZoneStage } from "./zone-stage.ts";

const S = 1000;
const RATE = 0.1;
const PERIOD_MS = 10 * S;

const hand = (from: ZoneProcess, to: ZoneProcess): void => {
  from.own(false);
  to.own(true);
};
const lastOf = (stage: ZoneStage, source: string) =>
  stage.announced.findLast(({ zone, source: owner }) => zone === ILL_ZONE && owner === `zone@${source}`);

/** A stage whose `nth` request takes `latencyMs`; the others take no time. */
const slowOnce = (nth: number, latencyMs: number, waiting = 20) =>
  new ZoneStage({ waiting, carry: (_node, each) => ({ latencyMs: each === nth ? latencyMs : 0 }) });

/**
 * Adds waiting nodes in the reverse order of their names. A running process serves them as they came and a later one by
 * name, so the two do not start with the same node.
 */
function fillAgainstNames(stage: ZoneStage, count: number): void {
  for (let index = count; index > 0; index--) stage.addWaiting(`n-${100 + index}`);
  stage.remove("ill-but-well");
}

describe("while a request is under way", () => {
  test.each([1, 5, 9])("an owner that received it grants no other, %i s in", (afterS) => {
    const stage = slowOnce(1, 12 * S);
    const [one, two] = [stage.start("one"), stage.start("two")];
    one.own(true);
    stage.advance(PERIOD_MS + 5 * S);
    const [, secondMs = 0] = stage.granted;
    stage.advance(secondMs + afterS * S - stage.clock.monotonicMs());
    one.kill();
    two.own(true);
    stage.advance(60 * S);
    expectNoBurst(stage.granted, RATE);
    expect(stage.granted[2]).toBeCloseTo(secondMs + PERIOD_MS, 3);
    expect(stage.landed.length).toBeGreaterThanOrEqual(7);
  });

  test.each([500, 2000, 4500])("an owner unaware of it grants no other, %i ms in", (downMs) => {
    const stage = slowOnce(0, 4.9 * S, 0);
    stage.addWell("ill-but-well", "ill");
    const one = stage.start("one");
    one.own(true);
    stage.advance(10 * S);
    fillAgainstNames(stage, 10);
    stage.advance(1);
    const [grantedMs = 0] = stage.granted;
    one.kill();
    stage.advance(downMs);
    stage.start("two").own(true);
    stage.advance(60 * S);
    expect(stage.landed[0]).toBe(grantedMs + 4.9 * S);
    expectNoBurst(stage.landed, RATE);
    expect(stage.landed.length).toBeGreaterThanOrEqual(5);
  });
});

test("a zone without waiting nodes has its token at once", () => {
  const stage = new ZoneStage({ waiting: 0 });
  stage.addWell("ill-but-well", "ill");
  stage.start("one").own(true);
  stage.advance(100);
  stage.addWaiting("n-0");
  stage.advance(1);
  expect(stage.landed).toHaveLength(1);
});

test("a taint without a known grant is paid for when it lands", () => {
  const stage = new ZoneStage({ waiting: 20 });
  stage.start("one").own(true);
  stage.advance(20 * S);
  const [lastMs = 0] = stage.granted.slice(-1);
  stage.advance(lastMs + 5 * S - stage.clock.monotonicMs());
  stage.taintUnrequested("n-19");
  const granted = stage.granted.length;
  stage.advance(40 * S);
  expect(stage.granted.slice(granted)).toEqual([20, 30, 40].map((at) => expect.closeTo(lastMs + at * S, 1)));
});

test("a token is not given back once another's taint has landed", () => {
  const refused = { latencyMs: 3 * S, outcome: "refused" as const };
  const stage = new ZoneStage({ waiting: 20, carry: (_node, nth) => (nth === 0 ? refused : { latencyMs: 0 }) });
  stage.start("one").own(true);
  stage.advance(6 * S);
  const [grantedMs = 0] = stage.granted;
  expect(stage.granted).toHaveLength(1);
  stage.advance(grantedMs + 2 * S - stage.clock.monotonicMs());
  stage.taintUnrequested("n-19");
  stage.advance(60 * S);
  expectNoBurst(stage.landed, RATE);
});

describe("two owners at once together exceed the rate by at most one grant", () => {
  test.each([
    ["when each receives the other's grants late", { delayMs: 5 }],
    ["when neither receives the other's grants", { isDeaf: true }],
  ])("%s", (_what, reception) => {
    const stage = new ZoneStage({ waiting: 0, carry: () => ({ latencyMs: 3 * S }) });
    stage.addWell("ill-but-well", "ill");
    const [one, two] = [stage.start("one", reception), stage.start("two", reception)];
    one.own(true);
    stage.advance(10 * S);
    fillAgainstNames(stage, 60);
    stage.advance(1 * S);
    two.own(true);
    stage.advance(300 * S);
    expectNoBurst(stage.landed, RATE, 2);
    expect(stage.landed.length).toBeGreaterThanOrEqual(27);
  });
});

describe("a state taken over", () => {
  test("keeps its beginning, and no change is logged", () => {
    const stage = new ZoneStage({ waiting: 3 });
    const [one, two] = [stage.start("one"), stage.start("two")];
    one.own(true);
    stage.advance(30 * S);
    hand(one, two);
    stage.advance(30 * S);
    const { state, since } = lastOf(stage, "one") ?? {};
    expect(lastOf(stage, "two")).toMatchObject({ state, since });
    expect(two.log.lines.filter(({ message }) => message === "zone state changed")).toEqual([]);
  });

  test("is logged as changed from the announced one, if changed", () => {
    const stage = new ZoneStage({ waiting: 0 });
    const [one, two] = [stage.start("one"), stage.start("two")];
    stage.addWell("ill-but-well", "ill");
    one.own(true);
    stage.advance(10 * S);
    one.own(false);
    stage.addWaiting("n-0");
    stage.remove("ill-but-well");
    stage.advance(10 * S);
    two.own(true);
    stage.advance(1 * S);
    const changes = two.log.lines.filter(({ message }) => message === "zone state changed");
    expect(changes.map(({ fields }) => [fields.from, fields.to])).toEqual([["Normal", "FullDisruption"]]);
    expect(lastOf(stage, "two")?.since).toBe(stage.clock.wallMs() - 1 * S);
  });
});
