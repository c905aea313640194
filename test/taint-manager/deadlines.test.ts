/** Tests of the deadlines: exact instants, any order of changes, and what a million of them weigh. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../services/runtime/clock.virtual.ts";
import { Deadlines } from "../../services/taint-manager/deadlines.ts";

function setUp() {
  const clock = new VirtualClock();
  const fired: [string, number][] = [];
  const deadlines = new Deadlines<string>({ clock, fire: (item) => fired.push([item, clock.monotonicMs()]) });
  return { clock, fired, deadlines };
}

describe("deadlines", () => {
  test("fire in order, each exactly when it is due, behind one timer", () => {
    const { clock, fired, deadlines } = setUp();
    for (const [item, due] of [
      ["c", 300],
      ["a", 100.5],
      ["b", 200],
    ] as const)
      deadlines.set(deadlines.add(item), due);
    clock.advance(1000);
    expect(fired).toEqual([
      ["a", 100.5],
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

  test("in the past fire as soon as the clock can", () => {
    const { clock, fired, deadlines } = setUp();
    clock.advance(500);
    deadlines.set(deadlines.add("late"), 100);
    expect(fired).toEqual([]);
    clock.advance(0);
    expect(fired).toEqual([["late", 500]]);
  });

  test("can be set, cleared and removed by what fires", () => {
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

  test("give removed slots to newcomers", () => {
    const { deadlines } = setUp();
    deadlines.add("kept");
    const slot = deadlines.add("a");
    deadlines.remove(slot);
    expect(deadlines.add("b")).toBe(slot);
  });
});

test("after any changes every deadline still set fires once, at its instant, in order", () => {
  const step = fc.record({
    item: fc.integer({ min: 0, max: 299 }),
    kind: fc.constantFrom("set", "set", "set", "clear", "remove"),
    due: fc.integer({ min: 0, max: 1000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
      const { clock, fired, deadlines } = setUp();
      const slots = new Map<string, number>();
      const due = new Map<string, number>();
      for (const { item, kind, due: at } of steps) {
        const name = `${item}`;
        const slot = slots.get(name) ?? deadlines.add(name);
        slots.set(name, slot);
        due.delete(name);
        if (kind === "set") deadlines.set(slot, at);
        if (kind === "set") due.set(name, at);
        if (kind === "clear") deadlines.clear(slot);
        if (kind === "remove") deadlines.remove(slot);
        if (kind === "remove") slots.delete(name);
      }
      expect(deadlines.size).toBe(due.size);
      clock.advance(2000);
      expect(new Map(fired)).toEqual(due);
      expect(fired.map(([, at]) => at)).toEqual([...due.values()].sort((left, right) => left - right));
    }),
  );
});
