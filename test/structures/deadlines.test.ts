/** Deadlines by slot: exact instants, whatever the order of changes. */
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Deadlines } from "../../services/structures/deadlines.ts";
import { VirtualClock } from "../support/clock.virtual.ts";

function setUp() {
  const clock = new VirtualClock();
  const fired: [string, number][] = [];
  const deadlines = new Deadlines<string>({ clock, fire: (item) => fired.push([item, clock.monotonicMs()]) });
  return { clock, fired, deadlines };
}

describe("deadlines", () => {
  test("fire in order, at the first whole millisecond, behind one timer", () => {
    const { clock, fired, deadlines } = setUp();
    for (const [item, due] of [
      ["c", 300],
      ["a", 100.5],
      ["b", 200],
    ] as const)
      deadlines.set(deadlines.add(item), due);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1000);
    expect(fired).toEqual([
      ["a", 101],
      ["b", 200],
      ["c", 300],
    ]);
    expect(deadlines.size).toBe(0);
  });

  test("can be moved either way, cleared, and set again", () => {
    const { clock, fired, deadlines } = setUp();
    const [a, b, c] = ["a", "b", "c"].map((item) => deadlines.add(item)) as [number, number, number];
    for (const slot of [a, b, c]) deadlines.set(slot, 100);
    deadlines.set(a, 50);
    deadlines.set(b, 150);
    deadlines.clear(c);
    expect([deadlines.dueAt(a), deadlines.dueAt(b), deadlines.dueAt(c)]).toEqual([50, 150, Number.POSITIVE_INFINITY]);
    clock.advance(120);
    deadlines.set(c, 130);
    clock.advance(100);
    expect(fired).toEqual([
      ["a", 50],
      ["c", 130],
      ["b", 150],
    ]);
  });

  test("in the past fire as soon as the clock runs", () => {
    const { clock, fired, deadlines } = setUp();
    clock.advance(500);
    deadlines.set(deadlines.add("late"), 100);
    expect(fired).toEqual([]);
    clock.advance(0);
    expect(fired).toEqual([["late", 500]]);
  });

  test("can be set, cleared and removed by a callback", () => {
    const clock = new VirtualClock();
    const fired: [string, number][] = [];
    const slots = new Map<string, number>();
    const deadlines: Deadlines<string> = new Deadlines<string>({
      clock,
      fire: (item) => {
        fired.push([item, clock.monotonicMs()]);
        if (item === "a" && fired.length === 1) deadlines.set(slots.get("a") ?? 0, 250);
        if (item === "a") deadlines.remove(slots.get("b") ?? 0);
      },
    });
    for (const item of ["a", "b", "c"]) slots.set(item, deadlines.add(item));
    for (const slot of slots.values()) deadlines.set(slot, 100);
    clock.advance(1000);
    expect(fired).toEqual([
      ["a", 100],
      ["c", 100],
      ["a", 250],
    ]);
  });

  test("leave no timer behind once all are removed", () => {
    const { clock, fired, deadlines } = setUp();
    const slot = deadlines.add("a");
    deadlines.set(slot, 100);
    deadlines.remove(slot);
    expect(clock.pendingTimers).toBe(0);
    clock.advance(1000);
    expect(fired).toEqual([]);
  });

  test("fire at their instants, however far away", () => {
    const { clock, fired, deadlines } = setUp();
    clock.advance(12_345);
    const dues = [255, 256, 65_535, 65_536, 2 ** 24, 2 ** 32 + 1].map((away) => clock.monotonicMs() + away);
    for (const due of dues) deadlines.set(deadlines.add(`${due}`), due);
    clock.advance(2 ** 33);
    expect(fired).toEqual(dues.map((due) => [`${due}`, due]));
  });

  test("wake rarely for a distant one, and never for an infinite one", () => {
    const { clock, fired, deadlines } = setUp();
    deadlines.set(deadlines.add("never"), Number.POSITIVE_INFINITY);
    deadlines.set(deadlines.add("far"), 3_600_000);
    const arming = vi.spyOn(clock, "after");
    clock.advance(7_200_000);
    expect(fired).toEqual([["far", 3_600_000]]);
    expect(arming.mock.calls.length).toBeLessThan(5);
  });

  test("reuse removed slots", () => {
    const { deadlines } = setUp();
    deadlines.add("kept");
    const slot = deadlines.add("a");
    deadlines.remove(slot);
    expect(deadlines.add("b")).toBe(slot);
  });
});

test("after any changes, every deadline still set fires once, at its instant, in order", () => {
  const step = fc.record({
    item: fc.integer({ min: 0, max: 299 }),
    kind: fc.constantFrom("set", "set", "set", "clear", "remove"),
    awayMs: fc.oneof(fc.integer({ min: -10, max: 1000 }), fc.integer({ min: 0, max: 2 ** 26 })),
    passedMs: fc.constantFrom(0, 0, 0, 1, 255, 256, 70_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
      const { clock, fired, deadlines } = setUp();
      const slots = new Map<string, number>();
      const due = new Map<string, number>();
      const expected: [string, number][] = [];
      for (const { item, kind, awayMs, passedMs } of steps) {
        const name = `${item}`;
        const nowMs = clock.monotonicMs();
        const slot = slots.get(name) ?? deadlines.add(name);
        slots.set(name, slot);
        due.delete(name);
        if (kind === "set") deadlines.set(slot, nowMs + awayMs);
        if (kind === "set") due.set(name, Math.max(nowMs, nowMs + awayMs));
        if (kind === "clear") deadlines.clear(slot);
        if (kind === "remove") deadlines.remove(slot);
        if (kind === "remove") slots.delete(name);
        expect(deadlines.size).toBe(due.size);
        clock.advance(passedMs);
        expected.push(...takeUntil(due, clock.monotonicMs()));
      }
      clock.advance(2 ** 27);
      expected.push(...due);
      expect(new Map(fired)).toEqual(new Map(expected));
      expect(fired.map(([, at]) => at)).toEqual(expected.map(([, at]) => at).sort((left, right) => left - right));
    }),
  );
});

function takeUntil(due: Map<string, number>, nowMs: number): [string, number][] {
  const taken = [...due].filter(([, at]) => at <= nowMs);
  for (const [name] of taken) due.delete(name);
  return taken;
}
