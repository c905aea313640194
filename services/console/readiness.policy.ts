/** Readiness of a process, decided from its bus, its watch health and its own checks. Pure. */

import type { WatchHealthReport, WatchName } from "../../protocols/ledger-reader.ts";
import { apiTime } from "../domain/api-time.ts";
import type { ReachabilityReport } from "../platform/kube/transport/reachability.ts";
import { WATCHES } from "../platform/shard-view/cluster-watch-health.ts";
import { leasePathText } from "../platform/shard-view/lease-path-text.ts";

/** One line of a probe. */
export interface Check {
  readonly name: string;
  /** Why the check fails; null when it passes. */
  readonly problem: string | null;
  /** What an operator should know although the check passes. */
  readonly note?: string;
}

/** What readiness is decided from. */
export interface ReadinessInputs {
  readonly busConnected: boolean;
  readonly watchHealth: WatchHealthReport;
  /** Checks of the process itself, such as that it is not stopping. */
  readonly own: readonly Check[];
}

const NO_PULSE = "no pulse from the observer yet";

/**
 * Whether this process reaches the API server. The other checks cannot show it, because the watch health comes from the
 * whole fleet.
 */
export function reachabilityCheck({ able, failingForMs, problem }: ReachabilityReport): Check {
  if (able) return { name: "api", problem: null };
  return { name: "api", problem: `requests have failed for ${Math.round(failingForMs / 1000)} s: ${problem}` };
}

/** Every check, the most basic first: the bus, the caches, the watch health, then the process's own. */
export function readinessOf({ busConnected, watchHealth, own }: ReadinessInputs): readonly Check[] {
  return [
    { name: "bus", problem: busConnected ? null : "not connected to NATS" },
    ...WATCHES.map((watch) => cacheCheck(watch, watchHealth)),
    { name: "watch-health", problem: watchHealthProblem(watchHealth), ...unpublishedNote(watchHealth) },
    { name: "lease-path", problem: null, ...leasePathNote(watchHealth) },
    { name: "outage", problem: null, ...outageNote(watchHealth) },
    ...own,
  ];
}

/**
 * How many shards are suspect to the zone service of this process; null where it runs none. The check passes all the
 * same: a client that can cause a suspect shard must not be able to stop a rollout, and the next resync clears it.
 */
export function shardsCheck(suspectShards: number | null): Check {
  if (suspectShards === null || suspectShards === 0) return { name: "shards", problem: null };
  const note = `${suspectShards} are suspect until their next resync; no zone with a node in them is judged`;
  return { name: "shards", problem: null, note };
}

/**
 * Whether the node policies have arrived; `known` is null in a process that uses none. A process that waits for them
 * decides nothing harmful, so a rollout must not continue with the next process.
 */
export function policiesCheck(known: number | null): Check {
  const problem = known === 0 ? "not received yet: no node is found silent, tainted or drained" : null;
  return { name: "policies", problem };
}

function cacheCheck(watch: WatchName, { watches, oldestPulseMs }: WatchHealthReport): Check {
  if (watches[watch] !== null) return { name: `cache-${watch}`, problem: null };
  const problem = oldestPulseMs === null ? NO_PULSE : `the watch of ${watch} is not synced`;
  return { name: `cache-${watch}`, problem };
}

function watchHealthProblem({ blindShards, shards, oldestPulseMs }: WatchHealthReport): string | null {
  if (blindShards === 0) return null;
  if (oldestPulseMs === null) return NO_PULSE;
  return `blind in ${blindShards} of ${shards} shards, the oldest pulse came ${Math.round(oldestPulseMs)} ms ago`;
}

/** A note and not a problem: a client that can write one object must not be able to stop a rollout. */
function unpublishedNote({ unpublished }: WatchHealthReport): Pick<Check, "note"> {
  if (unpublished === undefined) return {};
  const excess = `${unpublished.nodes} nodes and ${unpublished.pods} pods`;
  return { note: `${excess} exceed the size of a message and are not watched; the observer's log names them` };
}

/** A note too: this process cannot renew the leases of nodes, so it has to stay ready. */
function leasePathNote({ leasePath }: WatchHealthReport): Pick<Check, "note"> {
  return leasePath === undefined ? {} : { note: leasePathText(leasePath) };
}

/** A note as well: the process has to continue after an outage. */
function outageNote({ outage }: WatchHealthReport): Pick<Check, "note"> {
  if (outage === undefined) return {};
  const since = outage.sinceAt === null ? "" : ` since ${apiTime(outage.sinceAt)}`;
  return { note: `no node can be heard${since}; countdowns for the silence of nodes stand still` };
}

/**
 * The answer to a probe as a Kubernetes component writes it: `ok`, or a line for every check when verbose or when one
 * fails.
 */
export function probeAnswer(
  probe: string,
  checks: readonly Check[],
  verbose: boolean,
): { readonly status: 200 | 500; readonly text: string } {
  const failed = checks.some(({ problem }) => problem !== null);
  if (!failed && !verbose) return { status: 200, text: "ok" };
  const lines = checks.map(({ name, problem, note }) => {
    if (problem !== null) return `[-]${name} failed: ${problem}`;
    return note === undefined ? `[+]${name} ok` : `[+]${name} ok: ${note}`;
  });
  const verdict = `${probe} check ${failed ? "failed" : "passed"}`;
  return { status: failed ? 500 : 200, text: [...lines, verdict, ""].join("\n") };
}
