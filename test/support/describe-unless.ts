/** Suites that need a program which the machine may lack. The caller checks what is missing. */
import { describe, expect, test } from "vitest";

/**
 * Describes a suite unless something is missing. `missing` is one line about what is missing and how to get it. Such a
 * suite is not collected: it is one skipped test and the line is printed; where CI is set it is one failed test.
 */
export function describeUnless(missing: string | null, name: string, suite: () => void | Promise<void>): void {
  if (missing === null) {
    describe(name, suite);
  } else if (process.env.CI) {
    test(name, () => expect.fail(missing));
  } else {
    console.warn(`${name}: ${missing}`);
    test.skipIf(true)(name, () => {});
  }
}
