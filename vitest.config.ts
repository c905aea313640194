/**
 * How tests run: TypeScript natively on the pinned Node, without a module runner in between. A file's name says which
 * set it is in. `npm test` runs the unit set; `npm run test:all` runs the three, one after the other.
 */
import { defineConfig } from "vitest/config";

/** Virtual time, within seconds, with nothing but what npm installs. */
const UNIT = "test/**/*.test.ts";
/** Virtual time, but over five seconds of it for the processor: many seeds, long scenarios. */
const SLOW = "test/**/*.slow.test.ts";
/** Real servers, containers and browsers, in real time. Such a suite mostly waits, so three of them share two cores. */
const REAL = "test/**/*.real.test.ts";

export default defineConfig({
  test: {
    experimental: { viteModuleRunner: false },
    pool: "forks",
    reporters: ["default", "./test/closing-line.reporter.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      set("unit", { include: [UNIT], exclude: [SLOW, REAL], maxWorkers: "100%" }, 0),
      set("slow", { include: [SLOW], maxWorkers: "100%" }, 1),
      set("real", { include: [REAL], maxWorkers: 3 }, 2),
    ],
  },
});

function set(
  name: string,
  options: { include: string[]; exclude?: string[]; maxWorkers: number | string },
  order: number,
) {
  return { extends: true as const, test: { name, ...options, sequence: { groupOrder: order } } };
}
