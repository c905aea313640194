/** Whether this process is ready: decided from what it sees of the bus and the cluster. It hears nothing itself. */
import type { WatchHealthReport, WatchName } from "../../protocols/ledger-reader.ts";
import type { ReachabilityReport } from "../platform/kube/transport/reachability.ts";

/** One line of a probe: what was checked, and what is wrong with it. */
export interface Check {
  readonly name: string;
  /** Null when it is well. */
  readonly problem: string | null;
  /** What somebody should know though it is well. */
  readonly note?: string;
}

/** What readiness is decided from. */
export interface ReadinessInputs {
  readonly busConnected: boolean;
  readonly watchHealth: WatchHealthReport;
  /** Checks that only the process itself can make, such as that it is not stopping. */
  readonly own: readonly Check[];
}

const WATCHES: readonly WatchName[] = ["nodes", "leases", "pods"];

/**
 * Whether this process can observe and write. The others of its fleet may see well meanwhile, so that nothing else here
 * shows it.
 */
export function reachabilityCheck({ able, failingForMs, problem }: ReachabilityReport): Check {
  if (able) return { name: "api", problem: null };
  return { name: "api", problem: `requests have failed for ${Math.round(failingForMs / 1000)} s: ${problem}` };
}

/** Every check, the most basic first: the bus is up, the caches are complete, the eyes are open. */
export function readinessOf({ busConnected, watchHealth, own }: ReadinessInputs): readonly Check[] {
  return [
    { name: "bus", problem: busConnected ? null : "not connected to NATS" },
    ...WATCHES.map((watch) => cacheCheck(watch, watchHealth)),
    { name: "watch-health", problem: watchHealthProblem(watchHealth), ...unpublishedNote(watchHealth) },
    ...own,
  ];
}

/**
 * What the zone service of this process does not hold whole; `suspectShards` is null where it runs none. A shard in
 * doubt makes no process unready: whoever could bring one about could end a rollout by it, and readers become whole by
 * themselves.
 */
export function shardsCheck(suspectShards: number | null): Check {
  if (suspectShards === null || suspectShards === 0) return { name: "shards", problem: null };
  const note = `${suspectShards} are not received whole, no zone with a node in one of them is decided about`;
  return { name: "shards", problem: null, note };
}

function cacheCheck(watch: WatchName, { watches, oldestPulseMs }: WatchHealthReport): Check {
  if (watches[watch] !== null) return { name: `cache-${watch}`, problem: null };
  const problem = oldestPulseMs === null ? "not told yet" : `the watch of ${watch} is not synced`;
  return { name: `cache-${watch}`, problem };
}

function watchHealthProblem({ blindShards, shards, oldestPulseMs }: WatchHealthReport): string | null {
  if (blindShards === 0) return null;
  if (oldestPulseMs === null) return "no pulse from the observer yet";
  return `blind in ${blindShards} of ${shards} shards, the oldest pulse came ${Math.round(oldestPulseMs)} ms ago`;
}

/** What one object is like makes no process unready: whoever may write it could end a rollout by it. */
function unpublishedNote({ unpublished }: WatchHealthReport): Pick<Check, "note"> {
  if (unpublished === undefined) return {};
  const { nodes, pods } = unpublished;
  return {
    note: `${nodes} nodes and ${pods} pods exceed a message and are not watched, the observer's log names them`,
  };
}

/** An answer to a probe. */
export interface ProbeAnswer {
  readonly status: 200 | 500;
  readonly text: string;
}

/**
 * A probe in the words of a Kubernetes component: `ok`, or with every check on a line when asked for or when one fails.
 */
export function probeAnswer(probe: string, checks: readonly Check[], verbose: boolean): ProbeAnswer {
  const failed = checks.some(({ problem }) => problem !== null);
  if (!failed && !verbose) return { status: 200, text: "ok" };
  const lines = checks.map(({ name, problem, note }) => {
    if (problem !== null) return `[-]${name} failed: ${problem}`;
    return note === undefined ? `[+]${name} ok` : `[+]${name} ok: ${note}`;
  });
  const verdict = `${probe} check ${failed ? "failed" : "passed"}`;
  return { status: failed ? 500 : 200, text: [...lines, verdict, ""].join("\n") };
}
