/** The queues beneath clocks and buses: heap and mailbox. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Mailbox } from "../../../services/platform/bus/mailbox.ts";
import { MinHeap } from "../../../services/platform/structures/heap.ts";

test("a heap gives what was put in from the least to the greatest", () => {
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
    for (let letter = mailbox.take(); letter !== null; letter = mailbox.take()) taken.push(letter);
    return taken;
  };

  test("that is full drops its oldest expendable letter first", () => {
    const mailbox = new Mailbox<string>(4);
    for (const [letter, expendable] of [
      ["keep1", false],
      ["beat1", true],
      ["beat2", true],
      ["keep2", false],
    ] as const) {
      expect(mailbox.put(letter, expendable)).toBe(true);
    }
    expect(mailbox.put("keep3", false)).toBe(false);
    expect(mailbox.put("beat3", true)).toBe(false);
    expect(drained(mailbox)).toEqual(["keep1", "keep2", "keep3", "beat3"]);
  });

  test("that is full of letters to keep drops the new one", () => {
    const mailbox = new Mailbox<string>(2);
    for (const letter of ["a", "b", "c"]) mailbox.put(letter, false);
    expect(mailbox.put("beat", true)).toBe(false);
    expect(drained(mailbox)).toEqual(["a", "b"]);
  });

  test("keeps order and bound, whatever is put in and taken out", () => {
    const action = fc.oneof(fc.record({ expendable: fc.boolean() }), fc.constant("take" as const));
    fc.assert(
      fc.property(
        fc.array(action, { maxLength: 5000, size: "max" }),
        fc.integer({ min: 1, max: 50 }),
        (actions, max) => {
          const mailbox = new Mailbox<string>(max);
          let model: { letter: string; expendable: boolean }[] = [];
          for (const [index, wanted] of actions.entries()) {
            if (wanted === "take") {
              expect(mailbox.take()).toBe(model.shift()?.letter ?? null);
              continue;
            }
            const full = model.length >= max;
            const victim = full ? model.findIndex(({ expendable }) => expendable) : -1;
            model = model.filter((_, place) => place !== victim);
            if (model.length < max) model.push({ letter: String(index), ...wanted });
            expect(mailbox.put(String(index), wanted.expendable)).toBe(!full);
            expect(mailbox.size).toBe(model.length);
          }
          expect(drained(mailbox)).toEqual(model.map(({ letter }) => letter));
        },
      ),
      { numRuns: 30 },
    );
  });
});
