/** Every command of the pages is run by a test, or it is known why none can. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLines, runOf, unusedRuns } from "./command-lines.ts";

const ROOT = join(import.meta.dirname, "../..");
const LINES = commandLines();

test("each line is run somewhere, or says why it cannot be", () => {
  expect(LINES.length).toBeGreaterThan(100);
  expect(LINES.filter(({ line }) => runOf(line) === null)).toEqual([]);
});

test("each test that runs a line exists, and each pattern has a line", () => {
  const tests = LINES.flatMap(({ line }) => runOf(line)?.test ?? []);
  expect(tests.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(unusedRuns(LINES)).toEqual([]);
});
