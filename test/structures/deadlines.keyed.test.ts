/** Deadlines by key: exactness, lazy re-arm, and the same behaviour as a naive list of deadlines. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { KeyedDeadlines } from "../../services/structures/deadlines.keyed.ts";
import { VirtualClock } from "../support/clock.virtual.ts";

/** Deadlines that record what fires and when. */
function recorded() {
  const clock = new VirtualClock();
  const fired: [key: string, atMs: number][] = [];
  const deadlines = new KeyedDeadlines<string>({ clock, fire: (key) => fired.push([key, clock.monotonicMs()]) });
  return { clock, deadlines, fired };
}

test("a deadline fires at the first whole millisecond not before it is due", () => {
  const { clock, deadlines, fired } = recorded();
  deadlines.schedule("a", 12_345.678);
  deadlines.schedule("b", 250);
  deadlines.schedule("c", 251);
  clock.advance(20_000);
  expect(fired).toEqual([
    ["b", 250],
    ["c", 251],
    ["a", 12_346],
  ]);
  expect(deadlines.size).toBe(0);
});

test("a deadline beyond the span of every wheel fires when it is due", () => {
  const { clock, deadlines, fired } = recorded();
  const tenDaysMs = 10 * 24 * 3_600_000;
  deadlines.schedule("far", tenDaysMs + 0.5);
  clock.advance(tenDaysMs);
  expect(fired).toEqual([]);
  clock.advance(1);
  expect(fired).toEqual([["far", tenDaysMs + 1]]);
});

test("a deadline moved later a thousand times fires once, at the last instant", () => {
  const { clock, deadlines, fired } = recorded();
  for (let beat = 0; beat < 1000; beat++) {
    deadlines.schedule("node", clock.monotonicMs() + 50_000);
    clock.advance(10_000);
  }
  expect(fired).toEqual([]);
  expect(deadlines.dueAt("node")).toBe(9_990_000 + 50_000);
  clock.advance(50_000);
  expect(fired).toEqual([["node", 10_040_000]]);
});

test("deadlines moved on before they are due wake the process once a second", () => {
  class CountingClock extends VirtualClock {
    wakings = 0;

    override after(delayMs: number, fire: () => void): ReturnType<VirtualClock["after"]> {
      return super.after(delayMs, () => {
        this.wakings += 1;
        fire();
      });
    }
  }
  const clock = new CountingClock();
  const deadlines = new KeyedDeadlines<number>({ clock, fire: () => {} });
  for (let tenthOfSecond = 0; tenthOfSecond < 3000; tenthOfSecond++) {
    for (let key = tenthOfSecond % 100; key < 2000; key += 100) deadlines.schedule(key, clock.monotonicMs() + 50_000.5);
    clock.advance(100);
  }
  // In 300 seconds; a higher wheel wakes it now and then as well.
  expect(clock.wakings).toBeGreaterThan(0);
  expect(clock.wakings).toBeLessThan(310);
});

test("a deadline moved earlier fires at the earlier instant only", () => {
  const { clock, deadlines, fired } = recorded();
  deadlines.schedule("a", 5000);
  deadlines.schedule("a", 120);
  clock.advance(10_000);
  expect(fired).toEqual([["a", 120]]);
});

test("an instant replaced by an earlier one does not affect a later deadline", () => {
  const { clock, deadlines, fired } = recorded();
  deadlines.schedule("a", 50);
  deadlines.schedule("a", 20);
  clock.advance(30);
  deadlines.schedule("a", 70);
  clock.advance(100);
  expect(fired).toEqual([
    ["a", 20],
    ["a", 70],
  ]);
});

test("a deadline in the past fires as soon as the clock runs, not within schedule", () => {
  const { clock, deadlines, fired } = recorded();
  clock.advance(1000);
  deadlines.schedule("late", 10);
  expect(fired).toEqual([]);
  clock.advance(0);
  expect(fired).toEqual([["late", 1000]]);
});

test("a cancelled deadline does not fire and keeps no timer", () => {
  const { clock, deadlines, fired } = recorded();
  deadlines.schedule("a", 50);
  deadlines.schedule("b", 5000);
  clock.advance(10);
  deadlines.cancel("a");
  deadlines.cancel("b");
  deadlines.cancel("unknown");
  expect(clock.pendingTimers).toBe(0);
  clock.advance(10_000);
  expect(fired).toEqual([]);
});

test("a callback can schedule its key again and cancel others", () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  const deadlines: KeyedDeadlines<string> = new KeyedDeadlines({
    clock,
    fire(key) {
      fired.push(`${key}@${clock.monotonicMs()}`);
      deadlines.cancel("victim");
      if (clock.monotonicMs() < 30) deadlines.schedule(key, clock.monotonicMs() + 15);
    },
  });
  deadlines.schedule("again", 5);
  deadlines.schedule("victim", 5);
  clock.advance(1000);
  expect(fired).toEqual(["again@5", "again@20", "again@35"]);
});

test("a callback that throws loses no other deadline", () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  const deadlines = new KeyedDeadlines<string>({
    clock,
    fire(key) {
      if (key === "bad") throw new Error("bad");
      fired.push(key);
    },
  });
  for (const key of ["bad", "good"]) deadlines.schedule(key, 5);
  deadlines.schedule("later", 500);
  expect(() => clock.advance(1000)).toThrow("bad");
  clock.advance(1000);
  expect(fired).toEqual(["good", "later"]);
});

test("a deadline that is not finite is refused", () => {
  const { deadlines } = recorded();
  expect(() => deadlines.schedule("a", Number.NaN)).toThrow("must be finite");
  expect(() => deadlines.schedule("a", Number.POSITIVE_INFINITY)).toThrow("must be finite");
});

const KEYS = ["a", "b", "c"];
const step = fc.oneof(
  fc.record({
    do: fc.constant("schedule" as const),
    key: fc.constantFrom(...KEYS),
    inMs: fc.oneof(
      fc.nat(90),
      fc.integer({ min: -50, max: 400 }),
      fc.integer({ min: 0, max: 50_000 }),
      fc.float({ min: 0, max: 99, noNaN: true }),
    ),
  }),
  fc.record({ do: fc.constant("cancel" as const), key: fc.constantFrom(...KEYS) }),
  fc.record({
    do: fc.constant("advance" as const),
    ms: fc.oneof(fc.nat(30), fc.nat(30), fc.nat(2000), fc.nat(200_000)),
  }),
);

/** A list of deadlines that is searched from end to end. */
function naiveDeadlines() {
  const dues = new Map<string, number>();
  const fired: [key: string, atMs: number][] = [];
  const advance = (fromMs: number, toMs: number): void => {
    for (const [key, due] of dues) {
      if (due > toMs) continue;
      dues.delete(key);
      fired.push([key, Math.max(Math.ceil(due), fromMs)]);
    }
  };
  return { dues, fired, advance };
}

const sorted = (fired: [key: string, atMs: number][]) =>
  [...fired].sort((left, right) => left[1] - right[1] || left[0].localeCompare(right[0]));

test("keyed deadlines fire the same keys at the same instants as a naive list", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { clock, deadlines, fired } = recorded();
      const naive = naiveDeadlines();
      for (const action of steps) {
        const nowMs = clock.monotonicMs();
        if (action.do === "schedule") {
          deadlines.schedule(action.key, nowMs + action.inMs);
          naive.dues.set(action.key, nowMs + action.inMs);
        } else if (action.do === "cancel") {
          deadlines.cancel(action.key);
          naive.dues.delete(action.key);
        } else {
          clock.advance(action.ms);
          naive.advance(nowMs, nowMs + action.ms);
        }
      }
      const instants = fired.map(([, atMs]) => atMs);
      expect(instants).toEqual([...instants].sort((left, right) => left - right));
      expect(sorted(fired)).toEqual(sorted(naive.fired));
      expect(KEYS.map((key) => deadlines.dueAt(key))).toEqual(KEYS.map((key) => naive.dues.get(key)));
      expect(deadlines.size).toBe(naive.dues.size);
      if (naive.dues.size === 0) expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 1500 },
  );
});
