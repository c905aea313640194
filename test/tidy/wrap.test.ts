/** Shows that the fixer of long comment lines breaks them between words and leaves everything else alone. */
import { describe, expect, test } from "vitest";
import { LINE_CHARACTERS_MAX } from "./shape.rules.ts";
import { wrapLongComments } from "./wrap.ts";

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");
const longest = (text: string) => Math.max(...text.split("\n").map((line) => line.length));

describe("wrapLongComments", () => {
  test("opens a docstring of one line into several", () => {
    const wrapped = wrapLongComments(`  /** ${words(40)}. */\n  run();`);
    expect(wrapped.split("\n").at(0)).toBe("  /**");
    expect(wrapped.split("\n").slice(-2)).toEqual(["   */", "  run();"]);
    expect(longest(wrapped)).toBeLessThanOrEqual(LINE_CHARACTERS_MAX);
    expect(wrapped.replace(/\s*\*\/?|\s+/g, " ")).toContain(words(40).slice(0, 50));
  });

  test("puts what does not fit before the next line of the same paragraph", () => {
    const wrapped = wrapLongComments(`/**\n * ${words(20)}\n * and the end.\n */`);
    expect(wrapped.split("\n")).toHaveLength(4);
    expect(wrapped).toMatch(/word19 and the end\.\n \*\/$/);
  });

  test("does not run into a list", () => {
    const wrapped = wrapLongComments(`/**\n * ${words(20)}\n * - an item\n */`);
    expect(wrapped).toMatch(/word19\n \* - an item/);
  });

  test("breaks line comments", () => {
    const wrapped = wrapLongComments(`// ${words(30)}`);
    expect(wrapped.split("\n").every((line) => line.startsWith("// word"))).toBe(true);
    expect(longest(wrapped)).toBeLessThanOrEqual(LINE_CHARACTERS_MAX);
  });

  test.each([
    ["code", `run("${words(40)}");`],
    ["a word that cannot be broken", `// ${"x".repeat(200)}`],
    ["short comments", "/** Short. */\n// too\n"],
  ])("leaves %s alone", (_what, text) => expect(wrapLongComments(text)).toBe(text));

  test("has nothing left to do after it was done once", () => {
    const once = wrapLongComments(`/** ${words(60)} */\n/**\n * ${words(33)}\n * ${words(5)}\n */`);
    expect(wrapLongComments(once)).toBe(once);
  });
});
