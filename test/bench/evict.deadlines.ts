/** Measures millions of deadlines: their memory, the cost of moving one, and how late they fire when due at once. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ObservedPod } from "../../protocols/objects.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { Deadlines } from "../../services/structures/deadlines.ts";
import { type EvictionSchedule, TaintedNode } from "../../services/taint-manager/tainted-node.ts";
import { NOT_SEEN_BEFORE, noExecute, observedNode, observedPod } from "../support/observed-objects.ts";
import { type Measurement, measurement } from "./measurements.ts";

const FAR_MS = 3_600_000;
const PODS_PER_NODE = 100;
/** From the last deadline set to the first one due. */
const AHEAD_MS = 2_000;
const SPREADS_MS = [0, 100, 1_000];
/** The clock is read for one firing in this many and for the last one, because reading it costs more than firing. */
const LOOK_EACH = 64;
const MEBIBYTE = 1024 ** 2;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** The measurements of this many deadlines. */
export async function deadlineMeasurements(count: number, runs: number): Promise<Measurement[]> {
  const measurements = [...decided(count, runs), moved(count, runs)];
  for (const spreadMs of SPREADS_MS) measurements.push(await lateness(count, spreadMs, runs));
  return measurements;
}

/**
 * The memory of countdowns as the service stores them (an eviction schedule and its deadline for each pod, without the
 * pod), and the cost of deciding them again. No component receives the messages: the bus has a benchmark of its own.
 */
function decided(count: number, runs: number): Measurement[] {
  const clock = realClock();
  const tolerations = [{ key: "k", operator: "Exists", tolerationSeconds: FAR_MS / 1000 }];
  const crowds = Array.from({ length: Math.ceil(count / PODS_PER_NODE) }, (_, index) => ({
    node: observedNode(`node-${index}`, { taints: [noExecute("k")] }),
    pods: Array.from({ length: PODS_PER_NODE }, (_each, pod) => observedPod(`pod-${index}-${pod}`, { tolerations })),
  }));
  const deadlines = new Deadlines<EvictionSchedule>({ clock, fire: () => {} });
  const around = { io: { clock, profile: STANDARD_PROFILE, bus: { publish: () => "id" } }, deadlines };
  const before = usedBytes();
  const tainted = crowds.map(({ node, pods }) => {
    const crowd = new TaintedNode(around, node);
    crowd.review(node, pods, NOT_SEEN_BEFORE, "cause");
    return { crowd, node, pods };
  });
  const bytes = usedBytes() - before;
  const micros: number[] = [];
  for (let run = 0; run < runs; run++) {
    const startedMs = clock.monotonicMs();
    for (const { crowd, node, pods } of tainted) {
      crowd.review(
        { ...node, taints: [...node.taints, noExecute(`another-${run}`)] },
        pods.map(toleratingAll),
        NOT_SEEN_BEFORE,
        "cause",
      );
    }
    micros.push(((clock.monotonicMs() - startedMs) * 1000) / count);
  }
  for (const { crowd } of tainted) crowd.drop();
  return [
    measurement(`${count} deadlines: memory`, "MiB", [bytes / MEBIBYTE]),
    measurement(`${count} deadlines: memory of each`, "bytes", [bytes / count]),
    measurement(`${count} deadlines: deciding one again, for a second taint`, "µs", micros),
  ];
}

/** The same pod, tolerating any taint for a random time. */
function toleratingAll(pod: ObservedPod): ObservedPod {
  return {
    ...pod,
    tolerations: [{ operator: "Exists", tolerationSeconds: Math.ceil((Math.random() * FAR_MS) / 1000) }],
  };
}

/** The cost of moving one, as after a change of a toleration or a taint. */
function moved(count: number, runs: number): Measurement {
  const clock = realClock();
  const deadlines = new Deadlines<number>({ clock, fire: () => {} });
  const slots = Array.from({ length: count }, (_, item) => deadlines.add(item));
  const micros: number[] = [];
  for (let run = 0; run <= runs; run++) {
    const startedMs = clock.monotonicMs();
    for (const slot of slots) deadlines.set(slot, startedMs + FAR_MS + Math.random() * FAR_MS);
    // The first run sets them.
    if (run > 0) micros.push(((clock.monotonicMs() - startedMs) * 1000) / count);
  }
  deadlines.stop();
  return measurement(`${count} deadlines: moving one`, "µs", micros);
}

/** How late the last deadline fires when all are due within a time. */
async function lateness(count: number, spreadMs: number, runs: number): Promise<Measurement> {
  const clock = realClock();
  const latest: number[] = [];
  for (let run = 0; run <= runs; run++) {
    let fired = 0;
    let latestMs = 0;
    await new Promise<void>((resolve) => {
      const fire = (dueMs: number): void => {
        fired += 1;
        if (fired % LOOK_EACH !== 0 && fired !== count) return;
        latestMs = Math.max(latestMs, clock.monotonicMs() - dueMs);
        if (fired === count) resolve();
      };
      const deadlines = new Deadlines<number>({ clock, fire });
      const fromMs = clock.monotonicMs() + AHEAD_MS;
      for (let index = 0; index < count; index++) {
        const dueMs = fromMs + Math.random() * spreadMs;
        deadlines.set(deadlines.add(dueMs), dueMs);
      }
    });
    if (run > 0) latest.push(latestMs);
  }
  const when = spreadMs === 0 ? "at once" : `within ${spreadMs} ms`;
  return measurement(`${count} deadlines, due ${when}: the last is late`, "ms", latest);
}

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
