/**
 * Ends a test run with one plain line, `N passed, N failed, N skipped`; where CI is set, a skipped test fails the run.
 */
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

/** The reporter, to be named after those that print more. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], strayErrors: readonly unknown[]): void {
    const { passed, failed, skipped } = tallyOf(modules, strayErrors.length);
    if (process.env.CI && skipped > 0) process.exitCode = 1;
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}
