/**
 * How tests run: TypeScript natively on the pinned Node, without a module runner in between. A file's name says which
 * set it is in. `npm test` runs the unit set, `npm run test:all` all of them, one after the other.
 */
import { join } from "node:path";
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
/** Real servers, containers and browsers, in real time. */
const REAL = "test/**/*.real.test.ts";
/** Upstream's own tests and journeys with real kubelets, in real time. */
const UPSTREAM = "test/upstream/*.real.test.ts";

/**
 * The sets that only compute. Where .ci/run starts sets beside each other, each takes ports from a range of its own,
 * and these are given little of the processor.
 */
const COMPUTED = {
  maxWorkers: "100%",
  env: { FIRST_TEST_PORT: "14000" },
} as const;
/** The sets in real time. Such a suite takes a third of a core, so five of them share two where these have the room. */
const TIMED = { maxWorkers: 5, setupFiles: "test/processor-room.setup.ts" } as const;

// A process for each file of the last three sets: compiled code that they share saves each half a second.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/vigil-tests");

export default defineConfig({
  test: {
    experimental: { viteModuleRunner: false },
    pool: "forks",
    sequence: { sequencer: LongFirst },
    // Failures alone: among a line for each file one would have to be searched for.
    reporters: ["minimal", "./test/closing-line.reporter.ts"],
    // For a test that hangs. Beside many others a test also waits for the processor.
    testTimeout: process.env.CI ? 300_000 : 60_000,
    // Servers start in hooks, which takes long on a slow machine and is not what is tested.
    hookTimeout: 300_000,
    projects: [
      set("unit", { ...COMPUTED, include: [UNIT], exclude: [SLOW, REAL], isolate: false }, 0),
      set("slow", { ...COMPUTED, include: [SLOW] }, 1),
      set("real", { ...TIMED, include: [REAL], exclude: [UPSTREAM] }, 2),
      set("upstream", { ...TIMED, maxWorkers: 3, include: [UPSTREAM], env: { FIRST_TEST_PORT: "26000" } }, 3),
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
    setupFiles?: string;
    env?: Record<string, string>;
  },
  order: number,
) {
  return { extends: true as const, test: { name, ...options, sequence: { groupOrder: order } } };
}
