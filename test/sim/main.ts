/** `npm run sim`: parses the options, runs the seeds and prints the result. It decides nothing about a run. */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { ENDLESS, type Outcome, runSeeds } from "./crew.ts";
import { keptSeeds } from "./kept-seeds.ts";
import { describeRun, shrink } from "./run-description.ts";
import { simulate } from "./simulate.ts";
import { drawSwarm, FAULT_CLASSES, type FaultClass } from "./swarm.ts";

const USAGE = `npm run sim                        a minute of seeds nobody ran before
npm run sim -- --seeds 200         the first 200 seeds
npm run sim -- --minutes 60        an hour of them; --hours 1 is the same
npm run sim -- --kept              the seeds that failed once (seeds.txt)
npm run sim -- --seed N [--trace]  one seed; with --trace every write and the story of its failure

Which faults a seed draws:
  --with CLASS,…                   these classes are on in any case
  --up-to CLASS                    classes that came later are not drawn, as for a seed that was kept before them
  --quiet                          nodes fail and recover, and nothing but one fault happens
  --policies                       people change node policies and freezes, in place of the plot`;

/** How often a long run prints its progress. */
const PROGRESS_MS = 60_000;
/** How many failures are printed with their descriptions; each costs some more runs. */
const FAILURES_SHOWN_MAX = 3;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string" },
    hours: { type: "string" },
    minutes: { type: "string" },
    with: { type: "string" },
    "up-to": { type: "string" },
    policies: { type: "boolean", default: false },
    kept: { type: "boolean" },
    quiet: { type: "boolean", default: false },
    trace: { type: "boolean" },
    help: { type: "boolean" },
  },
});
const asked = values.with?.split(",") ?? [];
const upTo = values["up-to"];
const draw = {
  policies: values.policies,
  quiet: values.quiet,
  with: asked.filter(isFaultClass),
  ...(upTo !== undefined && isFaultClass(upTo) && { upTo }),
};
process.exitCode = await main();

async function main(): Promise<number> {
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  for (const name of ["seed", "seeds", "from", "hours", "minutes"] as const) {
    const value = values[name];
    if (value === undefined || (Number(value) > 0 && Number.isFinite(Number(value)))) continue;
    console.error(`--${name} ${JSON.stringify(value)} is not a number above 0`);
    return 2;
  }
  const unknown = [...asked, ...(upTo === undefined ? [] : [upTo])].find((name) => !isFaultClass(name));
  if (unknown !== undefined) {
    console.error(`${JSON.stringify(unknown)} is not a class of fault; there are: ${FAULT_CLASSES.join(", ")}`);
    return 2;
  }
  const tree = commit();
  if (values.seed !== undefined) return one(Number(values.seed), tree);
  if (values.kept === true) return kept();
  const count = values.seeds === undefined ? Number.POSITIVE_INFINITY : Number(values.seeds);
  const ms = Number(values.minutes ?? Number(values.hours ?? 1 / 60) * 60) * 60_000;
  // Seeds of the day's own, unless a person wants to repeat others.
  const freshFrom = values.seeds === undefined ? Date.now() % 1_000_000_000 : 1;
  const from = values.from === undefined ? freshFrom : Number(values.from);
  let reportedAt = performance.now();
  let failed = 0;
  const progress = (soFar: Outcome): void => {
    for (const { seed, problem } of soFar.failures.slice(failed)) console.log(`seed ${seed}: ${problem}`);
    failed = soFar.failures.length;
    if (performance.now() - reportedAt < PROGRESS_MS) return;
    reportedAt = performance.now();
    console.log(headLine(soFar));
  };
  const forMs = count === Number.POSITIVE_INFINITY ? ms : Number.POSITIVE_INFINITY;
  const outcome = await runSeeds({ from, count, forMs, draw, progress });
  for (const line of reportLines(outcome, tree)) console.log(line);
  const ended = outcome.failures.filter(({ problem }) => problem !== ENDLESS);
  for (const { seed } of ended.slice(0, FAILURES_SHOWN_MAX)) explain(seed, tree);
  return outcome.failures.length === 0 ? 0 : 1;
}

function one(seed: number, tree: string): number {
  const verdict = simulate(seed, drawSwarm(seed, draw));
  if (values.trace === true)
    for (const { atMs, writer, what } of verdict.steps) console.log(`${(atMs / 1000).toFixed(3)} s ${writer} ${what}`);
  console.log(`seed ${seed}: ${verdict.problem ?? "clean"} (trace ${verdict.traceHash.slice(0, 16)})`);
  if (verdict.problem !== null) explain(seed, tree);
  return verdict.problem === null ? 0 : 1;
}

function kept(): number {
  let failed = 0;
  for (const { seed, draw } of keptSeeds()) {
    const { problem } = simulate(seed, drawSwarm(seed, draw));
    if (problem === null) continue;
    failed += 1;
    console.log(`seed ${seed}: ${problem}`);
  }
  console.log(`${keptSeeds().length} kept seeds, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function explain(seed: number, tree: string): void {
  const options = (["with", "up-to"] as const).map((name) => (values[name] ? ` --${name} ${values[name]}` : ""));
  const drawn = `${options.join("")}${values.policies ? " --policies" : ""}${values.quiet ? " --quiet" : ""}`;
  const swarm = shrink(drawSwarm(seed, draw));
  console.log(`\nSEED=${seed} COMMIT=${tree}  npm run sim -- --seed ${seed}${drawn} --trace`);
  if (swarm.plot !== null) console.log(`plot: ${swarm.plot}`);
  console.log(`faults that are needed for it: ${[...swarm.faults].join(", ") || "none"}`);
  for (const line of describeRun(swarm)) console.log(`  ${line}`);
}

/** The checked-out commit, and whether files were changed since. */
function commit(): string {
  const git = (...words: string[]): string => execFileSync("git", words, { encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", "protocols", "services", "test/sim") !== "";
  return `${git("rev-parse", "--short", "HEAD")}${isChanged ? " with changes" : ""}`;
}

function isFaultClass(name: string): name is FaultClass {
  return FAULT_CLASSES.some((known) => known === name);
}

/** The report: how many seeds of which commit ran, how often the dangerous situations occurred, and what failed. */
function reportLines(outcome: Outcome, commit: string): string[] {
  const { runs, twice, failures, sometimes, seeds } = outcome;
  const situations = [...sometimes]
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([situation, count]) => `  ${situation}: ${count.times} times in ${count.runs} runs`);
  const wrong = failures.map(({ seed, problem }) => `  seed ${seed}: ${problem}`);
  return [
    `commit ${commit}, seeds ${seeds[0]} to ${seeds[1]}`,
    headLine(outcome),
    `${twice} of them ran twice, to the same trace`,
    "sometimes:",
    ...situations,
    failures.length === 0 ? `no seed of ${runs} failed` : `${failures.length} seeds failed:`,
    ...wrong,
  ];
}

/** The progress of many runs, in one line. */
function headLine({ runs, virtualMs, tookMs, failures }: Outcome): string {
  const hours = (virtualMs / 3_600_000).toFixed(1);
  return `${runs} seeds, ${hours} simulated hours in ${Math.round(tookMs / 1000)} s, ${failures.length} failed`;
}
