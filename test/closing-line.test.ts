/** What a test run prints while it goes on. */
import { expect, test } from "vitest";
import { progressLine } from "./closing-line.reporter.ts";

const file = (...states: string[]) => {
  const tests = states.map((state) => ({ result: () => ({ state }) }));
  return { children: { allTests: () => tests }, errors: () => [] };
};
const linesOf = (files: number): (string | null)[] =>
  Array.from({ length: files }, (_, index) => {
    const ended = Array.from({ length: index + 1 }, () => file("passed", "failed"));
    return progressLine(ended, files);
  }).filter((line) => line !== null);

test("a run of many files says ten times how far it is", () => {
  const lines = linesOf(250);
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe("25 of 250 files: 25 passed, 25 failed");
  expect(lines.at(-1)).toBe("250 of 250 files: 250 passed, 250 failed");
});

test("a run of few files says nothing before its end", () => {
  expect(linesOf(3)).toEqual([]);
});
