/**
 * Measures how the work of judging is shared: the CPU of one process that runs the node service for all hollow nodes,
 * and of each of four. API, hollow nodes and every other service run in processes of their own.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { freePort, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { type BenchReport, figure } from "./figures.ts";

const SIZE = 4;
/** From the start of processes until their shards are shared and whole. */
const SETTLE_MS = 15_000;
const MEASURE_MS = 20_000;
const REGISTER_MS = 300_000;

/** Runs the same nodes under one process and then under four. */
export async function fleet(nodes = 20_000): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), "vigil-bench-fleet-"));
  const nats = await startNatsServer();
  const running: VigilProcess[] = [];
  const kubeconfig = `--kubeconfig=${join(folder, "kubeconfig")}`;
  const start = (...argv: string[]) => {
    const started = new VigilProcess(argv);
    running.push(started);
    return started;
  };
  const run = (member: string, services: readonly string[], ...flags: string[]) => {
    const names = [`--nats=${nats.url}`, `--member=${member}`, `--services=${services.join()}`];
    return start("run", kubeconfig, ...names, "--log-format=json", ...flags);
  };
  try {
    const api = start("apiserver", `--write-kubeconfig=${join(folder, "kubeconfig")}`);
    await until("the API is served", () => api.out.length > 0);
    const hollow = start("hollow", kubeconfig, `--nodes=${nodes}`, `--socket=${join(folder, "hollow.sock")}`);
    const registered = () => hollow.out.includes(`${nodes} registered`);
    await until("every node is registered", registered, { withinMs: REGISTER_MS, everyMs: 500 });
    await run(
      "others",
      SERVICE_NAMES.filter((name) => name !== "node"),
    ).says("running");
    const measured = async (members: readonly string[]) => {
      const ports = await Promise.all(members.map(freePort));
      const started = members.map((member, index) => run(member, ["node"], `--listen=127.0.0.1:${ports[index]}`));
      await Promise.all(started.map((process) => process.says("running")));
      const cores = await coresOf(ports);
      for (const process of started) process.signal("SIGTERM");
      await Promise.all(started.map((process) => process.exited()));
      return cores;
    };
    const [alone = Number.NaN] = await measured(["alone"]);
    const each = await measured(Array.from({ length: SIZE }, (_, index) => `node-${index}`));
    return reportOf(nodes, alone, each);
  } finally {
    for (const process of running) process.signal("SIGKILL");
    await nats.stop();
    rmSync(folder, { recursive: true });
  }
}

function reportOf(nodes: number, alone: number, each: readonly number[]): BenchReport {
  return {
    bench: "fleet",
    load: `${nodes} hollow nodes on the embedded API, judged by one process and by ${SIZE} on nats-server`,
    figures: [
      figure("CPU of one process alone", "cores", [alone]),
      figure(`CPU of each of ${SIZE}`, "cores", each),
      figure(
        `share of each of ${SIZE} in what one takes`,
        "of 1",
        each.map((cores) => cores / alone),
      ),
    ],
  };
}

/** The CPU that processes take, in cores, once they have settled; by the ports of their consoles. */
async function coresOf(ports: readonly number[]): Promise<number[]> {
  await pause(SETTLE_MS);
  const before = await Promise.all(ports.map(cpuSeconds));
  const startedMs = performance.now();
  await pause(MEASURE_MS);
  const after = await Promise.all(ports.map(cpuSeconds));
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  return after.map((seconds, index) => (seconds - (before[index] ?? 0)) / elapsedSeconds);
}

async function cpuSeconds(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const figureText = /^process_cpu_seconds_total(?:\{.*\})? (.*)$/m.exec(text)?.[1];
  if (figureText === undefined) throw new Error("the process does not tell its CPU time");
  return Number(figureText);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
