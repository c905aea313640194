/** What readers of the console may take together: how many turns, how much time, and what happens beyond. */

import { describe, expect, test } from "vitest";
import type { Clock } from "../../../protocols/ports.ts";
import {
  DELAY_MS,
  ReaderTurns,
  TURN_MAX_MS,
  TURNS_MAX,
  type Turn,
  WAITING_MAX,
} from "../../../services/platform/process/reader-turns.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

interface Reader {
  readonly turn: Turn;
  readonly story: string[];
  done(): void;
}

/** A request whose answer is read when `done` is called. */
function reader(): Reader {
  const story: string[] = [];
  let done = (): void => {};
  const turn: Turn = {
    begin(ended) {
      story.push("begun");
      done = ended;
    },
    refuse: () => story.push("refused"),
    cut: () => story.push("cut"),
  };
  return { turn, story, done: () => done() };
}

function readers(count: number) {
  const clock = new VirtualClock();
  const turns = new ReaderTurns(clock);
  const all = Array.from({ length: count }, () => reader());
  const taken = all.map(({ turn }) => turns.request(turn));
  const stories = () => all.map(({ story }) => story.join());
  return { clock, all, taken, stories };
}

describe("turns of readers", () => {
  test("go on together up to a bound; the next begins when one is done", () => {
    const { all, stories } = readers(TURNS_MAX + 1);
    expect(stories().filter((story) => story === "begun")).toHaveLength(TURNS_MAX);
    all[0]?.done();
    expect(stories().at(-1)).toBe("begun");
  });

  test("beyond those that may wait are refused after a second", () => {
    const { clock, taken, stories } = readers(TURNS_MAX + WAITING_MAX + 1);
    expect([taken.at(-1), taken.at(-2), stories().at(-1)]).toEqual([false, true, ""]);
    clock.advance(DELAY_MS);
    expect(stories().at(-1)).toBe("refused");
  });

  test("that take too long are cut and give their place to another", () => {
    const { clock, stories } = readers(TURNS_MAX + 1);
    clock.advance(TURN_MAX_MS);
    expect([stories()[0], stories().at(-1)]).toEqual(["begun,cut", "begun"]);
  });

  test("take no more than a quarter of the time", () => {
    const clock = new VirtualClock();
    let spentMs = 0;
    const busy = { ...clockPort(clock), monotonicMs: () => clock.monotonicMs() + spentMs };
    const turns = new ReaderTurns(busy);
    const again: Turn = {
      begin(done) {
        spentMs += 50;
        turns.request(again);
        done();
      },
      refuse: () => {},
      cut: () => {},
    };
    turns.request(again);
    clock.advance(60_000);
    const share = spentMs / busy.monotonicMs();
    expect([share > 0.2, share < 0.27]).toEqual([true, true]);
  });
});

function clockPort(clock: VirtualClock): Clock {
  return {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    after: (delayMs, fire) => clock.after(delayMs, fire),
    soon: (run) => clock.soon(run),
  };
}
