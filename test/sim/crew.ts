/** Runs many seeds on all cores. It does not know what a seed does. */
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { simulate, type Verdict } from "./simulate.ts";
import { type DrawOptions, drawSwarm, meets, type Situation } from "./swarm.ts";

/** A result without its steps, as workers return it; `ms` is how long it lasted. */
export type Short = Omit<Verdict, "steps"> & { readonly ms: number };

/** The result of many runs. */
export interface Outcome {
  readonly runs: number;
  readonly twice: number;
  readonly failures: readonly Short[];
  readonly sometimes: ReadonlyMap<string, { readonly runs: number; readonly times: number }>;
  readonly virtualMs: number;
  readonly tookMs: number;
  /** The first seed and the last. */
  readonly seeds: readonly [number, number];
}

/** Which seeds to run. */
export interface Order {
  readonly from: number;
  /** How many seeds, unless time ends it before. */
  readonly count: number;
  readonly forMs: number;
  /** The classes that the seeds draw from, where they are not the usual ones. */
  readonly draw?: DrawOptions;
  /** Seeds that draw this run before the others. */
  readonly first?: Situation;
  /** Seeds that come before all others. */
  readonly ahead?: readonly number[];
  /** Whether the result so far is enough. */
  readonly isEnough?: (soFar: Outcome) => boolean;
  /** How long a seed may last, in milliseconds of this machine. */
  readonly seedMaxMs?: number;
  /** The crew whose threads run the seeds: this file, or its copy in another tree. */
  readonly program?: URL;
  /** Called after each seed with the result so far. */
  readonly progress?: (soFar: Outcome) => void;
}

/** Every tenth seed runs twice: its two traces must be the same. */
const TWICE_EVERY = 10;
/** Many times the duration of the longest seed, even on a busy machine. */
const SEED_MAX_MS = 900_000;
/** Most objects of a run are gone by its next virtual second: with this room a twentieth of the time is saved. */
const YOUNG_GENERATION_MB = 192;

/** The problem of a run in which time does not advance: some actor wakes again and again at one instant. */
export const ENDLESS = "the run does not end";

/** Runs seeds from `from` on until `count` are done or `forMs` have passed. */
export async function runSeeds(order: Order): Promise<Outcome> {
  const { from, forMs, isEnough = () => false, progress } = order;
  const startedAt = performance.now();
  let soFar: Outcome = {
    runs: 0,
    twice: 0,
    failures: [],
    sometimes: new Map(),
    virtualMs: 0,
    tookMs: 0,
    seeds: [from, from],
  };
  const seeds = seedsOf(order);
  await Promise.all(Array.from({ length: availableParallelism() }, serve));
  return soFar;

  async function serve(): Promise<void> {
    const runner = new SeedRunner(order);
    for (let seed = nextSeed(); seed !== undefined; seed = nextSeed()) {
      const verdict = await runner.run(seed);
      soFar = { ...withVerdict(soFar, verdict), tookMs: performance.now() - startedAt };
      progress?.(soFar);
    }
    await runner.close();
  }

  function nextSeed(): number | undefined {
    const isInTime = performance.now() - startedAt < forMs;
    return isEnough(soFar) || !isInTime ? undefined : (seeds.next().value ?? undefined);
  }
}

/** A thread that runs one seed after the other. */
class SeedRunner {
  readonly #draw: DrawOptions;
  readonly #seedMaxMs: number;
  readonly #program: URL;
  #worker: Worker;

  constructor({ draw = {}, seedMaxMs = SEED_MAX_MS, program = new URL(import.meta.url) }: Order) {
    this.#draw = draw;
    this.#seedMaxMs = seedMaxMs;
    this.#program = program;
    this.#worker = this.#start();
  }

  /** Runs a seed. A run that does not end is given up, and another thread runs the next one. */
  run(seed: number): Promise<Short> {
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        this.#worker = this.#start();
        void worker.terminate();
        resolve({ seed, problem: ENDLESS, traceHash: "", sometimes: {}, virtualMs: 0, ms: this.#seedMaxMs });
      }, this.#seedMaxMs);
      worker.once("error", reject);
      worker.once("message", (verdict: Short) => {
        clearTimeout(limit);
        worker.off("error", reject);
        resolve(verdict);
      });
      worker.postMessage(seed);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #start(): Worker {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB };
    return new Worker(this.#program, { workerData: this.#draw, resourceLimits });
  }
}

/**
 * The seeds of an order, one after the other: those ahead, then those that draw what comes first, which is looked for
 * only where the count has an end, then the others.
 */
function* seedsOf({ from, count, ahead = [], draw = {}, first }: Order): Generator<number, void> {
  const isFirst = (seed: number): boolean => first !== undefined && meets(drawSwarm(seed, draw), first);
  const end = from + count;
  yield* ahead;
  if (first !== undefined)
    for (let seed = from; seed < end; seed++) if (isFirst(seed) && !ahead.includes(seed)) yield seed;
  for (let seed = from; seed < end; seed++) if (!isFirst(seed) && !ahead.includes(seed)) yield seed;
}

function withVerdict(outcome: Outcome, verdict: Short): Outcome {
  const { seed, problem, virtualMs } = verdict;
  const sometimes = new Map(outcome.sometimes);
  for (const [situation, times] of Object.entries(verdict.sometimes)) {
    const sum = sometimes.get(situation) ?? { runs: 0, times: 0 };
    sometimes.set(situation, { runs: sum.runs + 1, times: sum.times + times });
  }
  return {
    ...outcome,
    sometimes,
    runs: outcome.runs + 1,
    twice: outcome.twice + (seed % TWICE_EVERY === 0 ? 1 : 0),
    failures: problem === null ? outcome.failures : [...outcome.failures, verdict],
    virtualMs: outcome.virtualMs + virtualMs,
    seeds: [outcome.seeds[0], Math.max(outcome.seeds[1], seed)],
  };
}

/** Runs a seed. An exception from a run is a failure like any other. */
function runOne(seed: number, draw: DrawOptions): Short {
  const startedAt = performance.now();
  try {
    const swarm = drawSwarm(seed, draw);
    const { steps: _, ...verdict } = simulate(seed, swarm);
    const isTwice = seed % TWICE_EVERY === 0 && verdict.problem === null;
    const again = isTwice ? simulate(seed, swarm).traceHash : verdict.traceHash;
    const differs = `two runs differ: ${verdict.traceHash.slice(0, 12)}, ${again.slice(0, 12)}`;
    const problem = again === verdict.traceHash ? verdict.problem : differs;
    return { ...verdict, problem, ms: performance.now() - startedAt };
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { seed, problem, traceHash: "", sometimes: {}, virtualMs: 0, ms: performance.now() - startedAt };
  }
}

if (!isMainThread) {
  const draw: DrawOptions = workerData;
  parentPort?.on("message", (seed: number) => parentPort?.postMessage(runOne(seed, draw)));
}
