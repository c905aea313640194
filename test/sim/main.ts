/** `npm run sim`: reads what to run, has it run, prints what came of it. It decides nothing about a run. */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { runSeeds } from "./crew.ts";
import { reportLines } from "./report.ts";
import { simulate } from "./simulate.ts";
import { shrink, tell } from "./story.ts";
import { drawSwarm } from "./swarm.ts";

const USAGE = `npm run sim                        a minute of seeds nobody ran before
npm run sim -- --seeds 200         the first 200 seeds
npm run sim -- --hours 1           an hour of them
npm run sim -- --seed N [--trace]  one seed; with --trace every write and the story of its failure`;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string" },
    hours: { type: "string" },
    trace: { type: "boolean" },
    help: { type: "boolean" },
  },
});
process.exitCode = await main();

async function main(): Promise<number> {
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  if (values.seed !== undefined) return one(Number(values.seed), values.trace === true);
  const count = values.seeds === undefined ? Number.POSITIVE_INFINITY : Number(values.seeds);
  const ms = values.hours === undefined ? 60_000 : Number(values.hours) * 3_600_000;
  const from =
    values.from === undefined ? (values.seeds === undefined ? Date.now() % 1_000_000_000 : 1) : Number(values.from);
  const outcome = await runSeeds({
    from,
    count,
    forMs: count === Number.POSITIVE_INFINITY ? ms : Number.POSITIVE_INFINITY,
  });
  for (const line of reportLines(outcome)) console.log(line);
  for (const { seed } of outcome.failures.slice(0, 3)) explain(seed);
  return outcome.failures.length === 0 ? 0 : 1;
}

function one(seed: number, trace: boolean): number {
  const verdict = simulate(seed);
  if (trace)
    for (const { atMs, writer, what } of verdict.steps) console.log(`${(atMs / 1000).toFixed(3)} s ${writer} ${what}`);
  console.log(`seed ${seed}: ${verdict.problem ?? "clean"} (trace ${verdict.traceHash.slice(0, 16)})`);
  if (verdict.problem !== null) explain(seed);
  return verdict.problem === null ? 0 : 1;
}

function explain(seed: number): void {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const swarm = shrink(drawSwarm(seed));
  console.log(`\nSEED=${seed} COMMIT=${commit}  npm run sim -- --seed ${seed} --trace`);
  console.log(`faults that are needed for it: ${[...swarm.faults].join(", ") || "none"}`);
  for (const line of tell(swarm)) console.log(`  ${line}`);
}
