/**
 * `npm run bench`: runs the named benchmarks or all of them, prints tables and writes JSON. Each benchmark has a file
 * of its own.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { apiserver } from "./apiserver.ts";
import { bus } from "./bus.ts";
import { detect } from "./detect.ts";
import { evict } from "./evict.ts";
import { fleet } from "./fleet.ts";
import { hollow } from "./hollow.ts";
import { join } from "./join.ts";
import { type BenchReport, machine, tableOf } from "./measurements.ts";
import { type BenchCommand, type BenchOptions, parseBenchCommand, USAGE } from "./options.ts";
import { policies } from "./policies.ts";
import { restart } from "./restart.ts";
import { steady } from "./steady.ts";
import { versus } from "./versus.ts";

const BENCHES: Readonly<Record<string, (options: BenchOptions) => Promise<BenchReport>>> = {
  apiserver,
  bus,
  detect,
  evict,
  fleet,
  hollow,
  join,
  policies,
  restart,
  steady,
  versus,
};
const FOLDER = "bench-results";

const command = commandOrProblem();
if (typeof command === "string") {
  console.error(`${command}\n${USAGE}`);
  process.exitCode = 2;
} else {
  await runAll(command.names.length === 0 ? Object.keys(BENCHES) : command.names, command.options);
}

function commandOrProblem(): BenchCommand | string {
  try {
    const command = parseBenchCommand(process.argv.slice(2));
    const unknown = command.names.find((name) => !Object.hasOwn(BENCHES, name));
    return unknown === undefined ? command : `${unknown}: there are ${Object.keys(BENCHES).join(", ")}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function runAll(wanted: readonly string[], options: BenchOptions): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  console.log(JSON.stringify(machine()));
  for (const name of wanted) {
    const result = await BENCHES[name]?.(options);
    if (result === undefined) continue;
    const { drawings = {}, ...report } = result;
    console.log(tableOf(report));
    const file = `${FOLDER}/${name}.json`;
    writeFileSync(file, `${JSON.stringify({ ...report, machine: machine() }, null, 2)}\n`);
    for (const [drawn, svg] of Object.entries(drawings)) writeFileSync(`${FOLDER}/${name}-${drawn}.svg`, svg);
  }
}
