/** The command line of `npm run bench`: which benchmarks, which sizes, how often. It runs nothing. */
import { parseArgs } from "node:util";

/** How to run a benchmark; each benchmark has its own defaults. */
export interface BenchOptions {
  /** How often each value is measured, after a warm-up. */
  readonly runs?: number;
  /** The sizes to measure, in nodes. */
  readonly nodes?: readonly number[];
  readonly podsPerNode?: number;
  /** How long a value that needs time is measured. */
  readonly windowMs?: number;
  /** The node monitor grace period of the controllers. */
  readonly graceMs?: number;
  /** How long after an outage its memory is measured again. */
  readonly afterMs?: number;
  /** Which API server; both, one after the other, when absent. */
  readonly api?: ApiKind;
  /** Whether to record the requests of a wave of evictions and draw them; recording costs the API server time. */
  readonly isTraced?: boolean;
}

/** The embedded API in a process of its own, or a real etcd and kube-apiserver. */
export type ApiKind = "embedded" | "real";

/** The parsed command line. */
export interface BenchCommand {
  readonly names: readonly string[];
  readonly options: BenchOptions;
}

/** The usage, for a mistyped flag. */
export const USAGE =
  "npm run bench -- [name…] [--runs=3] [--nodes=1000,5000] [--pods=10] [--seconds=30] [--grace=40] [--after=300]" +
  " [--api=real] [--trace]";

/** Reads the command line; throws an Error that names the flag, the value and the fix. */
export function parseBenchCommand(argv: readonly string[]): BenchCommand {
  const flag = { type: "string" } as const;
  const trace = { type: "boolean" } as const;
  const { positionals, values } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { runs: flag, nodes: flag, pods: flag, seconds: flag, grace: flag, after: flag, api: flag, trace },
  });
  const { runs, nodes, pods, seconds, grace, after, api, trace: isTraced } = values;
  if (api !== undefined && api !== "embedded" && api !== "real") throw new Error(`--api=${api}: embedded or real`);
  return {
    names: positionals,
    options: {
      ...(runs !== undefined && { runs: wholeNumber("runs", runs) }),
      ...(nodes !== undefined && { nodes: nodes.split(",").map((text) => wholeNumber("nodes", text)) }),
      ...(pods !== undefined && { podsPerNode: wholeNumber("pods", pods) }),
      ...(seconds !== undefined && { windowMs: wholeNumber("seconds", seconds) * 1000 }),
      ...(grace !== undefined && { graceMs: wholeNumber("grace", grace) * 1000 }),
      ...(after !== undefined && { afterMs: wholeNumber("after", after) * 1000 }),
      ...(api !== undefined && { api }),
      ...(isTraced === true && { isTraced }),
    },
  };
}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${flag}=${text}: give a whole number`);
  return Number(text);
}
