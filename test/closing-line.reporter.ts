/**
 * Ends a test run with a line for each test that failed, `failed: <file> > <test>: <error>`, and one plain line, `N
 * passed, N failed, N skipped`; where CI is set, a skipped test fails the run. Of a long log often the end alone is
 * kept, and it has to say what was red.
 */
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestModule } from "vitest/node";

/** How many tests ended how; a file that could not be loaded is one failed test. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The tally of a run; `strayErrors` are those that no test owns, each one failed test. */
export function tallyOf(modules: readonly TestModule[], strayErrors: number): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const count = (state: string) => tests.filter((test) => test.result().state === state).length;
  const broken = modules.filter((module) => module.errors().length > 0).length;
  return { passed: count("passed"), failed: count("failed") + broken + strayErrors, skipped: count("skipped") };
}

/** A line for each failed test, hook and file that could not be loaded, with the first line of its error. */
export function failuresOf(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) => [
    ...module.errors().map((error) => lineOf(module.relativeModuleId, error.message)),
    ...[...module.children.allSuites()].flatMap((suite) =>
      suite.errors().map((error) => lineOf(`${module.relativeModuleId} > ${suite.fullName}`, error.message)),
    ),
    ...[...module.children.allTests("failed")].map((test) =>
      lineOf(`${module.relativeModuleId} > ${test.fullName}`, test.result().errors?.[0]?.message),
    ),
  ]);
}

function lineOf(place: string, message = ""): string {
  return `failed: ${place}: ${stripVTControlCharacters(message).split("\n", 1)[0]}`;
}

/** The reporter, to be named after those that print more. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], strayErrors: readonly unknown[]): void {
    const { passed, failed, skipped } = tallyOf(modules, strayErrors.length);
    if (process.env.CI && skipped > 0) process.exitCode = 1;
    for (const line of failuresOf(modules)) process.stdout.write(`${line}\n`);
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}
