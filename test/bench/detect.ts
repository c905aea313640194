/**
 * Measures how late silence is found on a real API server: hollow nodes fall silent at once under `vigil run` in a
 * process of its own.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Clock, Kube, WatchSink } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { type HollowNodes, startHollowNodes } from "../../services/agent/hollow.service.ts";
import { realClock } from "../../services/runtime/clock.real.ts";
import { createKube } from "../../services/runtime/kube.ts";
import { silentLog } from "../../services/runtime/log.ts";
import { createMetrics } from "../../services/runtime/metrics.ts";
import { systemRandom } from "../../services/runtime/random.ts";
import { startKubeApiserver } from "../support/kube-apiserver.ts";
import { freePort } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { type BenchReport, figure, quantile } from "./figures.ts";

const NODES = 200;
const SILENT_ZONE = "z-0";
const ZONES = 2;
const PODS_PER_NODE = 4;
const GRACE_MS = 15_000;
/** All leases are renewed within this time, so that after it each node's last renewal is known. */
const RENEWAL_MS = 12_000;
const MAIN = join(import.meta.dirname, "../../services/main.ts");

/** Lateness of verdicts past their grace, and from a verdict to the NoSchedule taint and to each pod NotReady. */
export async function detect(): Promise<BenchReport> {
  const server = await startKubeApiserver();
  const port = await freePort();
  const grace = `--node-monitor-grace-period=${GRACE_MS / 1000}s`;
  const flags = ["run", `--kubeconfig=${server.kubeconfig}`, grace, `--listen=127.0.0.1:${port}`, "--log-level=error"];
  const clock = realClock();
  const parts = { clock, random: systemRandom, log: silentLog };
  const kube = createKube({ ...parts, wire: server.wire(), metrics: createMetrics(), profile: STANDARD_PROFILE });
  const nodes = Array.from({ length: NODES }, (_, index) => ({
    name: `n-${index}`,
    zone: `z-${index % ZONES}`,
    pods: PODS_PER_NODE,
  }));
  const hollow = startHollowNodes({ ...parts, kube, nodes });
  const vigil = spawn(process.execPath, [MAIN, ...flags], { stdio: "inherit" });
  try {
    const registered = () => hollow.summary().podsCreated === NODES * PODS_PER_NODE;
    await until("all nodes and pods are there", registered, { withinMs: 120_000 });
    await until("vigil is ready", () => isReady(port), { withinMs: 60_000, everyMs: 100 });
    return await fallSilent(hollow, kube, clock);
  } finally {
    vigil.kill("SIGKILL");
    hollow.shutdown();
    await server.stop();
  }
}

async function fallSilent(hollow: HollowNodes, kube: Kube, clock: Clock): Promise<BenchReport> {
  const renewedMs = new Map<string, number>();
  const unknownMs = new Map<string, number>();
  const taintedMs = new Map<string, number>();
  const unreadyMs: [node: string, atMs: number][] = [];
  kube.watch(
    "leases",
    sink(({ node }) => renewedMs.set(node, clock.monotonicMs())),
  );
  await until("every renewal has been seen", () => renewedMs.size === NODES);
  await new Promise<void>((resolve) => clock.after(RENEWAL_MS, resolve));
  const silent = hollow.stop({ zone: SILENT_ZONE });
  kube.watch(
    "nodes",
    sink(({ node, conditions, taints }) => {
      const isUnknown = conditions.some(({ type, status }) => type === "Ready" && status === "Unknown");
      if (isUnknown && !unknownMs.has(node)) unknownMs.set(node, clock.monotonicMs());
      const isTainted = taints.some(({ key, effect }) => key.endsWith("/unreachable") && effect === "NoSchedule");
      if (isTainted && !taintedMs.has(node)) taintedMs.set(node, clock.monotonicMs());
    }),
  );
  const seenUnready = new Set<string>();
  kube.watch(
    "pods",
    sink(({ node, pod }) => {
      if (pod.ready !== "False" || seenUnready.has(pod.uid)) return;
      seenUnready.add(pod.uid);
      unreadyMs.push([node, clock.monotonicMs()]);
    }),
  );
  const allFound = () => taintedMs.size >= silent && unreadyMs.length >= silent * PODS_PER_NODE;
  await until("all silent nodes are tainted and their pods NotReady", allFound, { withinMs: GRACE_MS + 60_000 });
  const verdicts = [...unknownMs].map(([node, atMs]) => atMs - (renewedMs.get(node) ?? 0) - GRACE_MS);
  const taints = [...taintedMs].map(([node, atMs]) => atMs - (unknownMs.get(node) ?? 0));
  const pods = unreadyMs.map(([node, atMs]) => atMs - (unknownMs.get(node) ?? 0));
  return {
    bench: "detect",
    load: `${silent} of ${NODES} hollow nodes silent at once, grace ${GRACE_MS / 1000} s, kube-apiserver 1.20.2`,
    figures: [
      ...quantiles("verdict late", verdicts),
      ...quantiles("Unknown to NoSchedule", taints),
      ...quantiles("Unknown to pods NotReady", pods),
    ],
  };
}

function quantiles(name: string, values: readonly number[]) {
  return [0.5, 0.99].map((share) => figure(`${name}, p${share * 100}`, "ms", [quantile(values, share)]));
}

function sink<T>(changed: (object: T) => void): WatchSink<T> {
  return { changed, gone: () => {}, state: () => {} };
}

function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}
