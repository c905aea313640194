/** The queues below clocks and buses: heap and mailbox. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Mailbox } from "../../services/platform/bus/mailbox.ts";
import { MinHeap } from "../../services/structures/heap.ts";

test("a heap returns its items from the least to the greatest", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = new MinHeap<number>((left, right) => left < right);
      for (const number of numbers) heap.push(number);
      heap.keep((number) => number % 3 !== 0);
      const taken: number[] = [];
      for (let least = heap.pop(); least !== undefined; least = heap.pop()) taken.push(least);
      expect(taken).toEqual(numbers.filter((number) => number % 3 !== 0).sort((left, right) => left - right));
    }),
  );
});

describe("a mailbox", () => {
  const drained = (mailbox: Mailbox<string>) => {
    const taken: string[] = [];
    for (let entry = mailbox.take(); entry !== null; entry = mailbox.take()) taken.push(entry);
    return taken;
  };

  test("that is full drops its oldest expendable entry first", () => {
    const mailbox = new Mailbox<string>(4);
    for (const [entry, expendable] of [
      ["keep1", false],
      ["beat1", true],
      ["beat2", true],
      ["keep2", false],
    ] as const) {
      expect(mailbox.put(entry, expendable)).toBe(true);
    }
    expect(mailbox.put("keep3", false)).toBe(false);
    expect(mailbox.put("beat3", true)).toBe(false);
    expect(drained(mailbox)).toEqual(["keep1", "keep2", "keep3", "beat3"]);
  });

  test("that is full of entries to keep drops the new one", () => {
    const mailbox = new Mailbox<string>(2);
    for (const entry of ["a", "b", "c"]) mailbox.put(entry, false);
    expect(mailbox.put("beat", true)).toBe(false);
    expect(drained(mailbox)).toEqual(["a", "b"]);
  });

  test("keeps its order and limit whatever is added and taken", () => {
    const action = fc.oneof(fc.record({ expendable: fc.boolean() }), fc.constant("take" as const));
    fc.assert(
      fc.property(
        fc.array(action, { maxLength: 5000, size: "max" }),
        fc.integer({ min: 1, max: 50 }),
        (actions, max) => {
          const mailbox = new Mailbox<string>(max);
          let model: { entry: string; expendable: boolean }[] = [];
          for (const [index, wanted] of actions.entries()) {
            if (wanted === "take") {
              expect(mailbox.take()).toBe(model.shift()?.entry ?? null);
              continue;
            }
            const full = model.length >= max;
            const victim = full ? model.findIndex(({ expendable }) => expendable) : -1;
            model = model.filter((_, place) => place !== victim);
            if (model.length < max) model.push({ entry: String(index), ...wanted });
            expect(mailbox.put(String(index), wanted.expendable)).toBe(!full);
            expect(mailbox.size).toBe(model.length);
          }
          expect(drained(mailbox)).toEqual(model.map(({ entry }) => entry));
        },
      ),
      { numRuns: 30 },
    );
  });
});
