/** How tests run: TypeScript natively on the pinned Node, without a module runner in between. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    experimental: { viteModuleRunner: false },
    pool: "forks",
    // Many suites wait for real servers: two at a time keep two cores busy.
    maxWorkers: 2,
    reporters: ["default", "./test/closing-line.reporter.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
