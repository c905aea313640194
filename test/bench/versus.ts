/**
 * Measures Vigil against upstream's kube-controller-manager: the same cluster on the same real API server, one after
 * the other, first steady, then with nodes that fall silent at once and return, then with pods that are due at once.
 * Last comes a client that only writes what both have to write: what is possible on this machine.
 */

import { evictBarely } from "./bare-evictions.ts";
import { judgeBarely } from "./bare-verdicts.ts";
import { openTracedWorld, openWorld, type World } from "./bench-world.ts";
import { type Controller, type StartController, startUpstream, startVigil } from "./controllers.ts";
import { evictionsOf, latenessOf, type Wave, WITHIN_MS } from "./evictions.ts";
import { type ClusterSize, firstNodes } from "./load.ts";
import { type BenchReport, type Measurement, measurement, quantiles } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { resetPeak, usageOf, type WindowUsage } from "./process-usage.ts";
import { fallSilent, type SilenceFound } from "./silence.ts";
import { WARM_UP_MS, windowsOf } from "./steady.ts";
import { drawWaves } from "./wave-drawing.ts";
import { meanStagesMs, STAGES, stagesOf } from "./wave-stages.ts";

interface Size extends ClusterSize {
  readonly silent: number;
}

const SIZES: readonly Size[] = [
  { nodes: 3_000, podsPerNode: 4, silent: 200 },
  { nodes: 5_000, podsPerNode: 10, silent: 500 },
];
/** Upstream's default before 1.32. */
const GRACE_MS = 40_000;
const WINDOW_MS = 20_000;
const RUNS = 3;
/** Upstream needs more than a minute to find the silent nodes and to heal them. */
const SILENCES_MAX = 2;
/** Long enough for garbage collectors to return memory. */
const AFTER_MS = 300_000;
const BARE = "a client that only writes";
/** How many nodes are tainted at once to evict their pods: one of so many, and at most a hundred. */
const EVICTED_SHARE = 30;
const EVICTED_NODES_MAX = 100;

/** Usage and lateness of one controller, over the runs. */
interface Measured {
  readonly name: string;
  readonly windows: readonly WindowUsage[];
  readonly silences: readonly SilenceFound[];
  /** The most memory during the silences, and what is left of it some minutes later. */
  readonly peakMebibytes: number;
  readonly afterMebibytes: number;
  readonly wave: Wave;
  /** Requests per evicted pod. */
  readonly evictionRequests: number;
}

/** For each size: the measurements of both controllers, and Vigil's over upstream's. */
export async function versus(options: BenchOptions): Promise<BenchReport> {
  const { windowMs = WINDOW_MS, runs = RUNS, graceMs = GRACE_MS, isTraced = false } = options;
  const measurements: Measurement[] = [];
  const drawings: Record<string, string> = {};
  let server = "";
  for (const size of sizesOf(options)) {
    const world = await (isTraced ? openTracedWorld(size) : openWorld("real", size));
    try {
      server = world.server;
      const vigil = await measure(world, startVigil, { size, toEvict: nodesToEvict(size, 0), options });
      const upstream = await measure(world, startUpstream, { size, toEvict: nodesToEvict(size, 1), options });
      measurements.push(...compare(size, vigil, upstream));
      if (isTraced) drawings[`wave-${size.nodes}`] = traced(world, [vigil, upstream], measurements);
      measurements.push(...(await bareOutage(world, size, graceMs)), ...(await bareEvictions(world, size)));
    } finally {
      await world.close();
    }
  }
  const silences = Math.min(runs, SILENCES_MAX);
  return {
    bench: "versus",
    load: `${server}, leases renewed each 10 s, grace ${graceMs / 1000} s`,
    warmUp: `${WARM_UP_MS / 1000} s, then ${runs} windows of ${windowMs / 1000} s and ${silences} silences`,
    measurements,
    drawings,
  };
}

/** Draws the waves of these controllers and adds how long each stage of their evictions lasted. */
function traced(world: World, controllers: readonly Measured[], measurements: Measurement[]): string {
  const requests = world.requests();
  const waves = controllers.map(({ name, wave }) => ({ heading: name, evictions: stagesOf(wave, requests) }));
  for (const { heading, evictions } of waves) {
    const means = meanStagesMs(evictions);
    const named = (stage: number) => `${evictions.length} pods evicted: ${heading}, ${STAGES[stage]}, on average`;
    measurements.push(...means.map((ms, stage) => measurement(named(stage), "s", [ms / 1000])));
  }
  return drawWaves(waves);
}

function sizesOf({ nodes, podsPerNode }: BenchOptions): readonly Size[] {
  if (nodes === undefined) return SIZES;
  return nodes.map((count) => {
    const known = SIZES.find((size) => size.nodes === count) ?? { podsPerNode: 10, silent: Math.ceil(count / 10) };
    return { ...known, nodes: count, ...(podsPerNode !== undefined && { podsPerNode }) };
  });
}

/** What is measured of one controller: with which load, and of which nodes it has to evict the pods. */
interface Plan {
  readonly size: Size;
  readonly toEvict: readonly string[];
  readonly options: BenchOptions;
}

async function measure(world: World, start: StartController, { size, toEvict, options }: Plan): Promise<Measured> {
  const { windowMs = WINDOW_MS, runs = RUNS, graceMs = GRACE_MS, afterMs = AFTER_MS } = options;
  const controller: Controller = await start(world, { "node-monitor-grace-period": `${graceMs / 1000}s` });
  const requests = () => controller.requests();
  try {
    await pause(WARM_UP_MS);
    const windows = await windowsOf({ it: controller.pid }, windowMs, runs);
    resetPeak(controller.pid);
    const silences: SilenceFound[] = [];
    const silence = { selector: firstNodes(size.silent), graceMs, requests };
    for (let run = 0; run < Math.min(runs, SILENCES_MAX); run++) silences.push(await fallSilent(world, silence));
    const { peakMebibytes } = usageOf(controller.pid);
    await pause(afterMs);
    const afterMebibytes = usageOf(controller.pid).rssMebibytes;
    const evictions = await evictFrom(world, toEvict, requests);
    const usage = { windows: windows.map(({ it }) => it), peakMebibytes, afterMebibytes };
    return { name: controller.name, ...usage, silences, ...evictions };
  } finally {
    await controller.stop();
  }
}

async function evictFrom(
  world: World,
  nodes: readonly string[],
  requests: () => Promise<number>,
): Promise<Pick<Measured, "wave" | "evictionRequests">> {
  const before = await requests();
  const wave = await evictionsOf(world, nodes);
  return { wave, evictionRequests: ((await requests()) - before) / wave.pods.length };
}

/** How late a client that does nothing else marks silent nodes and their pods: the bound of what is possible. */
async function bareOutage(world: World, { silent, ...size }: Size, graceMs: number): Promise<Measurement[]> {
  const judged = await judgeBarely(world, graceMs);
  const silence = { selector: firstNodes(silent), graceMs, requests: () => judged.requests() };
  const found = await fallSilent(judged.world, silence).finally(judged.stop);
  const name = `${silent} of ${whereOf(size)} silent: ${BARE}`;
  return [
    ...quantiles(`${name}, verdict late`, "s", [inSeconds(found.verdicts)]),
    ...quantiles(`${name}, pod NotReady past the grace`, "s", [inSeconds(found.podsPastGrace)]),
    measurement(`${name}, requests per silent node`, "", [found.requests / silent]),
  ];
}

/** How late a client that does nothing else evicts pods. */
async function bareEvictions(world: World, size: Size): Promise<Measurement[]> {
  const stop = await evictBarely(world);
  const late = latenessOf(await evictionsOf(world, nodesToEvict(size, 2)).finally(stop));
  const name = `${late.length} pods of ${whereOf(size)} evicted: ${BARE}`;
  return quantiles(`${name}, after the deadline`, "s", [inSeconds(late)], WITHIN_MS / 1000);
}

function whereOf({ nodes, podsPerNode }: ClusterSize): string {
  return `${nodes} nodes, ${nodes * podsPerNode} pods`;
}

/** The nodes whose pods a controller evicts: never those that stop sending heartbeats, and no node twice. */
function nodesToEvict({ nodes }: Size, turn: number): readonly string[] {
  const count = Math.min(EVICTED_NODES_MAX, Math.ceil(nodes / EVICTED_SHARE));
  return Array.from({ length: count }, (_, index) => `n-${nodes - 1 - turn * count - index}`);
}

function compare(size: Size, vigil: Measured, upstream: Measured): Measurement[] {
  const theirs = measurementsOf(size, upstream);
  return measurementsOf(size, vigil).flatMap((own, index) => {
    const other = theirs[index];
    if (other === undefined) return [own];
    const ratio = measurement(`${own.name}, over upstream's`, "×", [own.median / other.median]);
    return [own, other, ratio];
  });
}

function measurementsOf({ silent, ...size }: Size, measured: Measured): Measurement[] {
  const { name, windows, silences, peakMebibytes, afterMebibytes, wave, evictionRequests } = measured;
  const evicted = latenessOf(wave);
  const where = whereOf(size);
  const outage = `${silent} of ${where} silent: ${name}`;
  const late = (what: string, pick: (found: SilenceFound) => readonly number[]) =>
    quantiles(`${outage}, ${what}`, "s", silences.map(pick).map(inSeconds));
  return [
    measurement(
      `${where}: CPU of ${name}`,
      "cores",
      windows.map(({ cores }) => cores),
    ),
    measurement(
      `${where}: memory of ${name}`,
      "MiB",
      windows.map(({ rssMebibytes }) => rssMebibytes),
    ),
    ...late("verdict late", ({ verdicts }) => verdicts),
    ...late("pod NotReady past the grace", ({ podsPastGrace }) => podsPastGrace),
    ...late("healed after the kubelet's Ready", ({ healed }) => healed),
    measurement(
      `${outage}, requests per silent node`,
      "",
      silences.map(({ requests }) => requests / silent),
    ),
    measurement(`${outage}, memory at the peak`, "MiB", [peakMebibytes]),
    measurement(`${outage}, memory afterwards`, "MiB", [afterMebibytes]),
    ...quantiles(
      `${evicted.length} pods of ${where} evicted: ${name}, after the deadline`,
      "s",
      [inSeconds(evicted)],
      WITHIN_MS / 1000,
    ),
    measurement(`${evicted.length} pods of ${where} evicted: ${name}, requests per pod`, "", [evictionRequests]),
  ];
}

function inSeconds(milliseconds: readonly number[]): number[] {
  return milliseconds.map((ms) => ms / 1000);
}
