/**
 * `npm run soak`: real servers and processes under random faults, one every twenty seconds, and at the end a calm in
 * which everything must recover. Prints every breach of the rules when it is found; exits with 1 if there was one.
 */
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { seededRandom } from "../support/random.seeded.ts";
import { type Fault, strike } from "./soak.faults.ts";
import { breachesOf, reportLines } from "./soak.report.ts";
import { clockOf } from "./soak.rules.ts";
import { SoakWorld } from "./soak.world.ts";

const USAGE = `npm run soak                                 ten minutes with 300 nodes and four processes
npm run soak -- --minutes=60 --seed=7        an hour with the faults of seed 7`;
const FAULT_EVERY_MS = 20_000;
const CALM_MS = 240_000;
const CHECK_MS = 5_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    nodes: { type: "string", default: "300" },
    members: { type: "string", default: "4" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    help: { type: "boolean" },
  },
});
process.exitCode = values.help === true ? usage() : await main();

function usage(): number {
  console.log(USAGE);
  return 0;
}

function numberOf(name: "minutes" | "nodes" | "members" | "seed"): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value > 0) return value;
  console.error(`--${name}=${values[name]} is not a number above 0`);
  return process.exit(2);
}

async function main(): Promise<number> {
  const [minutes, nodes, members, seed] = [
    numberOf("minutes"),
    numberOf("nodes"),
    numberOf("members"),
    numberOf("seed"),
  ];
  console.log(`soak of ${minutes} minutes, seed ${seed}: ${nodes} nodes, ${members} processes`);
  const world = await SoakWorld.open({ nodes, members });
  try {
    say("all is well: the faults begin");
    const said = new Set<string>();
    await faultsFor(world, { endMs: Date.now() + minutes * 60_000, seed, said });
    const left = await calm(world, said);
    for (const line of reportLines(world)) console.log(line);
    for (const problem of left) console.log(`NOT RIGHT: ${problem}`);
    const breaches = said.size + left.length;
    console.log(breaches === 0 ? "no rule was broken" : `${breaches} rules broken`);
    return breaches === 0 ? 0 : 1;
  } finally {
    await world.close();
  }
}

async function faultsFor(
  world: SoakWorld,
  { endMs, seed, said }: { readonly endMs: number; readonly seed: number; readonly said: Set<string> },
): Promise<void> {
  const random = seededRandom(seed);
  const underWay: Promise<void>[] = [];
  while (Date.now() < endMs) {
    const fault = await strike(world, random);
    say(`${fault.what}, for ${(fault.lastsMs / 1000).toFixed(0)} s`);
    underWay.push(endOf(fault));
    await watchFor(world, FAULT_EVERY_MS, said);
  }
  await Promise.all(underWay);
}

async function endOf({ what, lastsMs, end }: Fault): Promise<void> {
  await pause(lastsMs);
  await end();
  say(`  over: ${what}`);
}

/** Waits until everything is right; returns what still is not when the time is over. */
async function calm(world: SoakWorld, said: Set<string>): Promise<string[]> {
  say("calm");
  await Promise.all(world.members.map((member) => member.start()));
  const endMs = Date.now() + CALM_MS;
  while (Date.now() < endMs && world.problems().length > 0) await watchFor(world, CHECK_MS, said);
  say(`right again, or out of time: ${world.problems().length} problems left`);
  return world.problems();
}

async function watchFor(world: SoakWorld, ms: number, said: Set<string>): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= CHECK_MS) {
    await pause(Math.min(leftMs, CHECK_MS));
    for (const breach of breachesOf(world)) {
      if (said.has(breach)) continue;
      said.add(breach);
      say(`BROKEN: ${breach}`);
    }
  }
}

function say(line: string): void {
  console.log(`${clockOf(Date.now())} ${line}`);
}
