/** Runs many seeds on all cores. It knows nothing of what a seed does. */
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { simulate, type Verdict } from "./simulate.ts";

/** A verdict without its steps, as workers pass it on; `ms` is how long it took. */
export type Short = Omit<Verdict, "steps"> & { readonly ms: number };

/** What many runs came to. */
export interface Outcome {
  readonly runs: number;
  readonly twice: number;
  readonly failures: readonly Short[];
  readonly sometimes: ReadonlyMap<string, { readonly runs: number; readonly times: number }>;
  readonly virtualMs: number;
  readonly tookMs: number;
}

/** Every tenth seed runs twice: its two traces must be the same. */
const TWICE_EVERY = 10;

/** Runs seeds from `from` on until `count` are done or `forMs` have passed. */
export async function runSeeds({
  from,
  count,
  forMs,
  untilFailure = false,
}: {
  from: number;
  count: number;
  forMs: number;
  /** Whether the first failure ends it. */
  untilFailure?: boolean;
}): Promise<Outcome> {
  const startedAt = performance.now();
  const verdicts: Short[] = [];
  let next = from;
  const crew = Array.from({ length: availableParallelism() }, () => new Worker(new URL(import.meta.url)));
  await Promise.all(crew.map((worker) => serve(worker)));
  return summed(verdicts, performance.now() - startedAt);

  function serve(worker: Worker): Promise<void> {
    return new Promise((resolve, reject) => {
      const give = (): void => {
        const isOver = untilFailure && verdicts.some(({ problem }) => problem !== null);
        if (!isOver && next < from + count && performance.now() - startedAt < forMs) worker.postMessage(next++);
        else void worker.terminate().then(() => resolve());
      };
      worker.on("message", (verdict: Short) => {
        verdicts.push(verdict);
        give();
      });
      worker.on("error", reject);
      give();
    });
  }
}

function summed(verdicts: readonly Short[], tookMs: number): Outcome {
  const sometimes = new Map<string, { runs: number; times: number }>();
  for (const verdict of verdicts) {
    for (const [situation, times] of Object.entries(verdict.sometimes)) {
      const sum = sometimes.get(situation) ?? { runs: 0, times: 0 };
      sometimes.set(situation, { runs: sum.runs + 1, times: sum.times + times });
    }
  }
  return {
    runs: verdicts.length,
    twice: verdicts.filter(({ seed }) => seed % TWICE_EVERY === 0).length,
    failures: verdicts.filter(({ problem }) => problem !== null),
    sometimes,
    virtualMs: verdicts.reduce((sum, { virtualMs }) => sum + virtualMs, 0),
    tookMs,
  };
}

function runOne(seed: number): Short {
  const startedAt = performance.now();
  const { steps: _, ...verdict } = simulate(seed);
  const again = seed % TWICE_EVERY === 0 && verdict.problem === null ? simulate(seed).traceHash : verdict.traceHash;
  const ms = performance.now() - startedAt;
  if (again === verdict.traceHash) return { ...verdict, ms };
  return { ...verdict, ms, problem: `two runs differ: ${verdict.traceHash.slice(0, 12)}, ${again.slice(0, 12)}` };
}

if (!isMainThread) parentPort?.on("message", (seed: number) => parentPort?.postMessage(runOne(seed)));
