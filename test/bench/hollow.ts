/** Measures what hollow nodes cost: heartbeats of many nodes from one process against the embedded API over HTTP. */
import { fork } from "node:child_process";
import { ApiServer } from "../../services/apiserver/apiserver.ts";
import { listen } from "../../services/apiserver/http-front.ts";
import { realClock } from "../../services/runtime/clock.real.ts";
import { systemRandom } from "../../services/runtime/random.ts";
import type { HollowReport } from "./hollow-process.ts";

/** What to measure. */
export interface HollowBenchOptions {
  readonly nodes?: number;
  readonly podsPerNode?: number;
  /** Time between the last registration and the measurement. */
  readonly settleMs?: number;
  readonly measureMs?: number;
}

/** What was measured. */
export interface HollowBenchResult {
  readonly nodes: number;
  readonly podsPerNode: number;
  readonly registeredMs: number;
  readonly registerCpuMs: number;
  /** Share of one core that heartbeats took. */
  readonly cores: number;
  readonly cpuMicrosPerHeartbeat: number;
  readonly renewalsPerSecond: number;
  /** The most memory the process held, from its start on. */
  readonly rssMebibytes: number;
}

const MEBIBYTE = 1024 ** 2;

/** Runs hollow nodes in a process of their own, and this process as the API server. */
export async function hollowBench(options: HollowBenchOptions = {}): Promise<HollowBenchResult> {
  const { nodes = 10_000, podsPerNode = 0, settleMs = 10_000, measureMs = 60_000 } = options;
  const apiserver = new ApiServer({ clock: realClock(), random: systemRandom });
  const front = await listen(apiserver, { port: 0 });
  let renewals = 0;
  apiserver.faults.add({
    fault: { kind: "latency" },
    when: ({ verb, resource }) => {
      if (verb === "update" && resource.plural === "leases") renewals++;
      return false;
    },
  });
  let renewalsBefore = 0;
  const reports = await reportsOf([front.url, nodes, podsPerNode, settleMs, measureMs].map(String), () => {
    setTimeout(() => {
      renewalsBefore = renewals;
    }, settleMs);
  });
  await front.close();
  const renewed = renewals - renewalsBefore;
  return resultOf(reports, renewed, { nodes, podsPerNode });
}

interface Reports {
  registered?: Extract<HollowReport, { kind: "registered" }>;
  measured?: Extract<HollowReport, { kind: "measured" }>;
}

function reportsOf(argv: string[], onRegistered: () => void): Promise<Reports> {
  const reports: Reports = {};
  const child = fork(new URL(import.meta.resolve("./hollow-process.ts")), argv);
  return new Promise((resolve, reject) => {
    child.on("message", (report: HollowReport) => {
      Object.assign(reports, { [report.kind]: report });
      if (report.kind === "registered") onRegistered();
    });
    child.on("error", reject);
    child.on("exit", () => resolve(reports));
  });
}

function resultOf(
  { registered, measured }: Reports,
  renewals: number,
  { nodes, podsPerNode }: { nodes: number; podsPerNode: number },
): HollowBenchResult {
  if (registered === undefined || measured === undefined) throw new Error("the hollow process ended before its time");
  return {
    nodes,
    podsPerNode,
    registeredMs: Math.round(registered.afterMs),
    registerCpuMs: Math.round(registered.cpuMs),
    cores: measured.cpuMs / measured.elapsedMs,
    cpuMicrosPerHeartbeat: Math.round((measured.cpuMs * 1000) / renewals),
    renewalsPerSecond: Math.round((renewals * 1000) / measured.elapsedMs),
    rssMebibytes: Math.round(measured.rssBytes / MEBIBYTE),
  };
}
