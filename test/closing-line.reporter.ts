/**
 * Shows how far a test run is, in ten lines, and ends it with a line for each test that failed, `failed: <file> >
 * <test>: <error>`, and one plain line, `N passed, N failed, N skipped`; where CI is set, a skipped test fails the run.
 * Of a long log often the end alone is kept, and it has to say what was red.
 */
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestModule } from "vitest/node";

/** Fewer files are over soon. */
const PROGRESS_FILES_MIN = 20;

/** How many tests ended how; a file that could not be loaded is one failed test. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What counts of a file of tests: vitest's TestModule, or one like it. */
interface EndedFile {
  readonly children: { allTests(): Iterable<{ result(): { readonly state: string } }> };
  errors(): readonly unknown[];
}

/** The tally of a run; `strayErrors` are those that no test owns, each one failed test. */
export function tallyOf(modules: readonly EndedFile[], strayErrors: number): Tally {
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

/** A line at each tenth of a run of many files; null in between. */
export function progressLine(ended: readonly EndedFile[], files: number): string | null {
  const tenths = (count: number): number => Math.floor((count * 10) / files);
  if (files < PROGRESS_FILES_MIN || tenths(ended.length) === tenths(ended.length - 1)) return null;
  const { passed, failed } = tallyOf(ended, 0);
  return `${ended.length} of ${files} files: ${passed} passed, ${failed} failed`;
}

/** The reporter, to be named after those that print more. */
export default class ClosingLine implements Reporter {
  #files = 0;
  readonly #ended: TestModule[] = [];

  onTestRunStart({ length }: readonly unknown[]): void {
    this.#files = length;
    this.#ended.length = 0;
  }

  onTestModuleEnd(module: TestModule): void {
    this.#ended.push(module);
    const line = progressLine(this.#ended, this.#files);
    if (line !== null) process.stdout.write(`${line}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[], strayErrors: readonly unknown[]): void {
    const { passed, failed, skipped } = tallyOf(modules, strayErrors.length);
    if (process.env.CI && skipped > 0) process.exitCode = 1;
    for (const line of failuresOf(modules)) process.stdout.write(`${line}\n`);
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}
