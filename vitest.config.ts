/**
 * How tests run: TypeScript natively on the pinned Node, without a module runner in between. A file's name says which
 * set it is in. `npm test` runs the unit set, `npm run test:all` all of them, one after the other.
 */
import { defineConfig } from "vitest/config";
import LongFirst from "./test/long-first.sequencer.ts";

/**
 * Virtual time, within seconds, with nothing but what npm installs. Nothing here keeps state between tests, so files
 * share a process instead of importing everything again.
 */
const UNIT = "test/**/*.test.ts";
/**
 * Virtual time, but over five seconds of it for the processor, or measured memory: many seeds, long scenarios, a
 * million timers. Each file has a process of its own.
 */
const SLOW = "test/**/*.slow.test.ts";
/** Real servers, containers and browsers, in real time. Such a suite mostly waits, so four of them share two cores. */
const REAL = "test/**/*.real.test.ts";
/**
 * Upstream's own tests and journeys with real kubelets, in real time. They hardly compute, so they may run beside the
 * other sets, in a test run of their own.
 */
const UPSTREAM = "test/upstream/*.real.test.ts";

export default defineConfig({
  test: {
    experimental: { viteModuleRunner: false },
    pool: "forks",
    sequence: { sequencer: LongFirst },
    reporters: ["default", "./test/closing-line.reporter.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      set("unit", { include: [UNIT], exclude: [SLOW, REAL], maxWorkers: "100%", isolate: false }, 0),
      set("slow", { include: [SLOW], maxWorkers: "100%" }, 1),
      set("real", { include: [REAL], exclude: [UPSTREAM], maxWorkers: 4 }, 2),
      set("upstream", { include: [UPSTREAM], maxWorkers: 4, env: { FIRST_TEST_PORT: "26000" } }, 3),
    ],
  },
});

function set(
  name: string,
  options: {
    include: string[];
    exclude?: string[];
    maxWorkers: number | string;
    isolate?: boolean;
    env?: Record<string, string>;
  },
  order: number,
) {
  return { extends: true as const, test: { name, ...options, sequence: { groupOrder: order } } };
}
