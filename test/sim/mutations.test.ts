/** The planted bugs still have their places in the source. `npm run mutations` shows that each is caught. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MUTATIONS, planted } from "./mutations.list.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the planted bugs", () => {
  it.each(MUTATIONS)("$name has its place in $file", (mutation) => {
    expect(planted(mutation, ROOT)).toContain(mutation.to);
  });

  it("are told apart from a source that has moved on", () => {
    const moved = { name: "gone", file: "package.json", from: "nobody wrote this", to: "" };
    expect(() => planted(moved, ROOT)).toThrow("gone: its text stands 0 times in package.json");
  });
});
