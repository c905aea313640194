/** Measures the taint-manager's deadlines against a timer of Node's each: memory, re-computing, lateness. */
import { realClock } from "../../services/runtime/clock.real.ts";
import { Deadlines } from "../../services/runtime/deadlines.ts";
import { type BenchReport, type Figure, figure, quantile } from "./figures.ts";

const SIZES = [1_000, 100_000, 1_000_000];
const FAR_MS = 3_600_000;
const FIRING = 100_000;

/** Bytes for each deadline, the cost of moving one, and how late a hundred thousand due within a second fire. */
export async function deadlines(): Promise<BenchReport> {
  const figures: Figure[] = SIZES.flatMap(ofSize);
  figures.push(await lateness());
  return { bench: "deadlines", load: `${SIZES.join(", ")} deadlines; ${FIRING} due within one second`, figures };
}

function ofSize(count: number): Figure[] {
  const clock = realClock();
  const items = Array.from({ length: count }, (_, index) => index);
  const before = memory();
  const heap = new Deadlines<number>({ clock, fire: () => {} });
  const slots = items.map((item) => heap.add(item));
  for (const slot of slots) heap.set(slot, FAR_MS + Math.random() * FAR_MS);
  const bytes = (memory() - before) / count;
  const startedMs = clock.monotonicMs();
  for (const slot of slots) heap.set(slot, FAR_MS + Math.random() * FAR_MS);
  const micros = ((clock.monotonicMs() - startedMs) * 1000) / count;
  for (const slot of slots) heap.remove(slot);
  return [
    figure(`${count}: memory of each`, "bytes", [bytes]),
    figure(`${count}: moving one`, "µs", [micros]),
    figure(`${count}: moving a timer of Node's`, "µs", [nodeTimers(Math.min(count, 100_000))]),
  ];
}

function nodeTimers(count: number): number {
  const timers = Array.from({ length: count }, () => setTimeout(() => {}, FAR_MS));
  const startedMs = performance.now();
  for (const [index, timer] of timers.entries()) {
    clearTimeout(timer);
    timers[index] = setTimeout(() => {}, FAR_MS);
  }
  const micros = ((performance.now() - startedMs) * 1000) / count;
  for (const timer of timers) clearTimeout(timer);
  return micros;
}

async function lateness(): Promise<Figure> {
  const clock = realClock();
  const late: number[] = [];
  await new Promise<void>((resolve) => {
    const heap = new Deadlines<number>({
      clock,
      fire: (dueMs) => {
        late.push(clock.monotonicMs() - dueMs);
        if (late.length === FIRING) resolve();
      },
    });
    const startMs = clock.monotonicMs() + 500;
    for (let index = 0; index < FIRING; index++) {
      const dueMs = startMs + (index * 1000) / FIRING;
      heap.set(heap.add(dueMs), dueMs);
    }
  });
  return {
    name: "lateness: median, and from least to p99",
    unit: "ms",
    median: quantile(late, 0.5),
    least: Math.min(...late.slice(0, 1)),
    most: quantile(late, 0.99),
  };
}

function memory(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
