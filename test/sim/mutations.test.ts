/** The planted bugs still have their places in the source. `npm run mutations` shows that each is caught. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MUTATIONS, planted } from "./mutations.list.ts";
import { drawSwarm, meets } from "./swarm.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the planted bugs", () => {
  it.each(MUTATIONS)("$name has its place in $file", (mutation) => {
    expect(planted(mutation, ROOT)).toContain(mutation.to);
  });

  it("show in a class or plot that some of the first 500 seeds draw", () => {
    const swarms = Array.from({ length: 500 }, (_, index) => drawSwarm(index + 1));
    swarms.push(drawSwarm(1, { policies: true }));
    const unmet = MUTATIONS.filter(({ showsIn }) => showsIn && !swarms.some((swarm) => meets(swarm, showsIn)));
    expect(unmet.map(({ name }) => name)).toEqual([]);
  });

  it("are refused when the source has changed", () => {
    const moved = { name: "gone", file: "package.json", from: "nobody wrote this", to: "" };
    expect(() => planted(moved, ROOT)).toThrow("gone: its text stands 0 times in package.json");
  });
});
