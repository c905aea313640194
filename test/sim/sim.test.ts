/** How seeds are run: which end, and when enough have. sim.slow.test.ts runs them for what they show. */
import { expect, it } from "vitest";
import { ENDLESS, runSeeds } from "./crew.ts";

const MINUTES_MAX = 5;

it("a run that does not end is a failure", async () => {
  const { failures } = await runSeeds({ from: 1, count: 3, forMs: MINUTES_MAX * 60_000, seedMaxMs: 1 });
  expect(failures.map(({ problem }) => problem)).toEqual([ENDLESS, ENDLESS, ENDLESS]);
});

it("seeds without an end run until what is asked for is shown", async () => {
  const asked = { from: 1, count: Number.POSITIVE_INFINITY, forMs: MINUTES_MAX * 60_000, seedMaxMs: 1 };
  const { runs } = await runSeeds({ ...asked, isEnough: (soFar) => soFar.runs >= 3 });
  expect(runs).toBeGreaterThanOrEqual(3);
});

it("seeds can be run by the program of another tree", async () => {
  const verdict = `{ seed, problem: "planted", traceHash: "", sometimes: {}, virtualMs: 0, ms: 0 }`;
  const other = `
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", (seed) => parentPort.postMessage(${verdict}));
  `;
  const program = new URL(`data:text/javascript,${encodeURIComponent(other)}`);
  const { failures } = await runSeeds({ from: 7, count: 2, forMs: MINUTES_MAX * 60_000, program });
  expect(failures.map(({ seed, problem }) => `${seed} ${problem}`).toSorted()).toEqual(["7 planted", "8 planted"]);
});
