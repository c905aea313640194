/**
 * `npm run bench`: runs the benchmarks by name or all of them, prints tables and writes JSON. Each measures in its own
 * file.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { apiserver } from "./apiserver.ts";
import { bus } from "./bus.ts";
import { deadlines } from "./deadlines.ts";
import { detect } from "./detect.ts";
import { type BenchReport, figure, machine, tableOf } from "./figures.ts";
import { fleet } from "./fleet.ts";
import { hollowBench } from "./hollow.ts";

const BENCHES: Readonly<Record<string, () => Promise<BenchReport>>> = {
  apiserver,
  bus,
  deadlines,
  detect,
  fleet,
  hollow,
};
const FOLDER = "bench-results";

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(BENCHES, name));
if (unknown === undefined) await runAll(names.length === 0 ? Object.keys(BENCHES) : names);
else {
  console.error(`${unknown}: no such benchmark; there are ${Object.keys(BENCHES).join(", ")}`);
  process.exitCode = 2;
}

async function runAll(wanted: readonly string[]): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  console.log(JSON.stringify(machine()));
  for (const name of wanted) {
    const report = await BENCHES[name]?.();
    if (report === undefined) continue;
    console.log(tableOf(report));
    const file = `${FOLDER}/${name}.json`;
    writeFileSync(file, `${JSON.stringify({ ...report, machine: machine() }, null, 2)}\n`);
  }
}

async function hollow(): Promise<BenchReport> {
  const { nodes, cores, rssMebibytes, cpuMicrosPerHeartbeat } = await hollowBench();
  return {
    bench: "hollow",
    load: `${nodes} hollow nodes in one process against the embedded API over HTTP`,
    figures: [
      figure("CPU of the hollow process", "cores", [cores]),
      figure("CPU per heartbeat", "µs", [cpuMicrosPerHeartbeat]),
      figure("memory at most", "MiB", [rssMebibytes]),
    ],
  };
}
