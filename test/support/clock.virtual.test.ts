/** Virtual time: order, exactness, wall steps. */
import { expect, test } from "vitest";
import { VirtualClock } from "./clock.virtual.ts";

test("each timer fires at its own due time", () => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  for (const delay of [30, 10, 20]) clock.after(delay, () => seen.push(clock.monotonicMs()));
  clock.advance(100);
  expect(seen).toEqual([10, 20, 30]);
  expect(clock.monotonicMs()).toBe(100);
});

test("timers due at the same instant fire in the order they were set", () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  clock.after(10, () => seen.push("first"));
  clock.after(5, () => clock.after(5, () => seen.push("third")));
  clock.after(10, () => seen.push("second"));
  clock.advance(10);
  expect(seen).toEqual(["first", "second", "third"]);
});

test("a timer that arms itself again fires once for each period that passed", () => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  const tick = (): void => {
    seen.push(clock.monotonicMs());
    clock.after(10, tick);
  };
  clock.after(10, tick);
  clock.advance(55);
  expect(seen).toEqual([10, 20, 30, 40, 50]);
});

test("a soon callback runs before the next timer, even one due at the same instant", () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  clock.after(0, () => {
    seen.push("timer");
    clock.soon(() => seen.push("soon after the timer"));
  });
  clock.after(0, () => seen.push("next timer"));
  clock.soon(() => seen.push("soon"));
  clock.advance(0);
  expect(seen).toEqual(["soon", "timer", "soon after the timer", "next timer"]);
});

test("a cancelled timer does not fire and is no longer pending", () => {
  const clock = new VirtualClock();
  let fired = 0;
  const timers = Array.from({ length: 5000 }, (_, index) => clock.after(index, () => fired++));
  for (const timer of timers.slice(1)) timer.cancel();
  timers[1]?.cancel();
  expect(clock.pendingTimers).toBe(1);
  clock.advance(10_000);
  expect(fired).toBe(1);
  expect(clock.pendingTimers).toBe(0);
});

test("a wall step moves the wall clock and no timer", () => {
  const clock = new VirtualClock({ wallMs: 1_000_000 });
  let firedAt = 0;
  clock.after(50, () => {
    firedAt = clock.monotonicMs();
  });
  clock.advance(10);
  clock.stepWall(-3_600_000);
  expect(clock.wallMs()).toBe(1_000_010 - 3_600_000);
  clock.advance(40);
  expect(firedAt).toBe(50);
});

test("advance throws what a callback throws, and the rest still runs afterwards", () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  clock.soon(() => {
    throw new Error("first");
  });
  clock.soon(() => seen.push("second"));
  expect(() => clock.advance(10)).toThrow("first");
  clock.advance(10);
  expect(seen).toEqual(["second"]);
});

test("a callback cannot advance the clock that calls it", () => {
  const clock = new VirtualClock();
  clock.after(1, () => clock.advance(1));
  expect(() => clock.advance(1)).toThrow("must not advance");
});
