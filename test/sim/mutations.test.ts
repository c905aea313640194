/** The planted bugs still have their places in the source. `npm run mutations` shows that each is caught. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { planted } from "../support/planted-change.ts";
import { MUTATIONS } from "./mutations.list.ts";
import { drawSwarm, meets } from "./swarm.ts";

describe("the planted bugs", () => {
  it.each(MUTATIONS)("$name has its place in $file", (mutation) => {
    expect(planted(mutation)).toContain(mutation.to);
  });

  it("show in a class or plot that some of the first 500 seeds draw", () => {
    const swarms = Array.from({ length: 500 }, (_, index) => drawSwarm(index + 1));
    swarms.push(...Array.from({ length: 50 }, (_, index) => drawSwarm(index + 1, { policies: true })));
    const unmet = MUTATIONS.filter(({ showsIn }) => showsIn && !swarms.some((swarm) => meets(swarm, showsIn)));
    expect(unmet.map(({ name }) => name)).toEqual([]);
  });

  it("name a unit test that exists", () => {
    const named = MUTATIONS.flatMap(({ showsInTest = [] }) => showsInTest);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });

  it("are refused when the source has changed", () => {
    const moved = { name: "gone", file: "package.json", from: "nobody wrote this", to: "" };
    expect(() => planted(moved)).toThrow("gone: its text is 0 times in package.json");
  });
});
