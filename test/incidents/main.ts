/**
 * `npm run incidents`: plays public incidents against upstream's controller and Vigil, and prints what each did. With
 * all of them played it writes docs/incidents.md.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { kubeProgram } from "../support/kube-assets.ts";
import { INCIDENTS } from "./catalogue.ts";
import { playIncidents } from "./play/play.ts";
import { incidentTable, pageOf, summaryTable } from "./play/report.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = "docs/incidents.md";
const USAGE = `npm run incidents                              all incidents; writes docs/incidents.md
npm run incidents -- api-away power-cut        these, printed only
npm run incidents -- --list                    their names
npm run incidents -- --seed=7 --at-once=2      the times and sizes of seed 7, two clusters at once`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    "at-once": { type: "string", default: "2" },
    list: { type: "boolean", default: false },
    logs: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
process.exitCode = await main();

async function main(): Promise<number> {
  const unknown = positionals.find((name) => !INCIDENTS.some((incident) => incident.name === name));
  const [seed, atOnce] = [Number(values.seed), Number(values["at-once"])];
  const isWrong = !Number.isSafeInteger(seed) || !Number.isSafeInteger(atOnce) || atOnce < 1;
  if (values.help || isWrong || unknown !== undefined) {
    if (unknown !== undefined) console.error(`${unknown}: no incident; --list prints their names`);
    console.log(USAGE);
    return values.help ? 0 : 2;
  }
  if (values.list) {
    for (const { name, title, reports } of INCIDENTS) console.log(`${name.padEnd(26)}${title} (${reports.join(", ")})`);
    return 0;
  }
  const chosen = INCIDENTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  console.log(`${chosen.length} incidents, seed ${seed}`);
  const report = (line: string) => console.log(line);
  const played = await playIncidents(chosen, { seed, atOnce, showsLogs: values.logs, report });
  console.log(`${incidentTable(played)}\n\n${summaryTable(played)}`);
  if (positionals.length > 0) return 0;
  const { version: vigil } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const kubernetes = execFileSync(kubeProgram("kube-apiserver"), ["--version"], { encoding: "utf8" });
  const frame = { kubernetes: kubernetes.replace(/^Kubernetes v|\s+$/g, ""), vigil, seed };
  writeFileSync(join(ROOT, PAGE), pageOf(played, { ...frame, date: new Date().toISOString().slice(0, 10) }));
  return 0;
}
