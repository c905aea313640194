/**
 * `node test/sim/mutations.ts [name] [--seeds N]`: plants known bugs, one at a time, in a copy of the tree and shows
 * how many seeds are needed to catch each. Copies are loaded by the threads that run seeds, whose memory ends with
 * them: of a heap with seventy copies V8 writes a snapshot (heap.ts) longer than its longest string.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { copiedTree, plant } from "../support/planted-change.ts";
import { runSeeds } from "./crew.ts";
import { MUTATIONS, type Mutation } from "./mutations.list.ts";
import type { DrawOptions } from "./swarm.ts";

const SEEDS_MAX = "500";
const SECOND = 1000;
/** How many seeds of its stage are run for a bug that only policies of an attacker show. */
const ATTACKS = 10;

const { values, positionals } = parseArgs({
  options: { seeds: { type: "string", default: SEEDS_MAX } },
  allowPositionals: true,
});
const [wanted] = positionals;
const chosen = MUTATIONS.filter(({ name }) => wanted === undefined || name === wanted);
if (chosen.length === 0) {
  console.error(`no mutation ${JSON.stringify(wanted)}; there are: ${MUTATIONS.map(({ name }) => name).join(", ")}`);
  process.exitCode = 2;
}
for (const mutation of chosen) console.log(await tried(mutation, Number(values.seeds)));

/**
 * Plants a bug, runs seeds until one fails, and returns the result as one line of the table. Only a seed that passes
 * without the bug catches it.
 */
async function tried(mutation: Mutation, seeds: number): Promise<string> {
  if (mutation.showsInTest !== undefined) return triedInTest(mutation, mutation.showsInTest);
  const copy = copiedTree(["protocols", "services", "test/sim", "test/support"]);
  try {
    plant(mutation, copy);
    if (mutation.showsUnderAttack !== undefined) return await triedUnderAttack(mutation, copy);
    const { runs, failures, tookMs } = await runSeeds({
      program: pathToFileURL(join(copy, "test/sim/crew.ts")),
      from: 1,
      count: seeds,
      forMs: Number.POSITIVE_INFINITY,
      isEnough: ({ failures }) => failures.length > 0,
      ...(mutation.showsIn && { first: mutation.showsIn }),
      draw: drawOf(mutation),
    });
    const caught = failures[0];
    const without = caught === undefined ? null : await problemWithout(mutation, caught.seed);
    if (caught === undefined || without !== null) process.exitCode = 1;
    const came = caught === undefined ? `NOT CAUGHT in ${runs}` : `seed ${caught.seed}, after ${runs}`;
    const took = `${Math.round(tookMs / SECOND)} s`;
    const said = without === null ? caught?.problem : `FAILS WITHOUT IT TOO: ${without}`;
    return `${mutation.name} | ${mutation.file} | ${came} | ${took} | ${said?.split("\n")[0] ?? ""}`;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** The same on the stage of policies of an attacker. */
async function triedUnderAttack({ name, file, showsUnderAttack = "nothing" }: Mutation, copy: string): Promise<string> {
  const path = join(copy, "test/sim/policies/attack.stage.ts");
  const { playAttack }: typeof import("./policies/attack.stage.ts") = await import(pathToFileURL(path).href);
  for (let seed = 1; seed <= ATTACKS; seed++) {
    const { problem } = playAttack(seed, showsUnderAttack);
    if (problem !== null) return `${name} | ${file} | attack ${seed} | ${problem.split("\n")[0]}`;
  }
  process.exitCode = 1;
  return `${name} | ${file} | NOT CAUGHT in ${ATTACKS} attacks`;
}

/** The same by a unit test, which has to pass without the bug. */
function triedInTest(mutation: Mutation, file: string): string {
  const copy = copiedTree(["deploy", "protocols", "services", "test", "vitest.config.ts"]);
  const passes = (): boolean => {
    const vitest = join(copy, "node_modules/vitest/vitest.mjs");
    return spawnSync(process.execPath, [vitest, "run", "--project", "unit", file], { cwd: copy }).status === 0;
  };
  try {
    const isOld = !passes();
    plant(mutation, copy);
    const isCaught = !passes();
    if (isOld || !isCaught) process.exitCode = 1;
    const how = isOld ? "FAILS WITHOUT IT TOO" : isCaught ? "caught" : "NOT CAUGHT";
    return `${mutation.name} | ${mutation.file} | ${how} by ${file}`;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** The problem of a seed in the present tree, without the bug; null for none. */
async function problemWithout(mutation: Mutation, seed: number): Promise<string | null> {
  const order = { from: seed, count: 1, forMs: Number.POSITIVE_INFINITY, draw: drawOf(mutation) };
  return (await runSeeds(order)).failures[0]?.problem ?? null;
}

/** What the seeds of a bug draw from. */
function drawOf({ showsIn, with: always }: Mutation): DrawOptions {
  return { policies: showsIn === "policies" || showsIn === "previewedPolicies", ...(always && { with: [always] }) };
}
