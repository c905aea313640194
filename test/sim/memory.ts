/**
 * Whether processes forget deleted objects. A process that has run for long must keep no more than one that has just
 * started beside the same cluster, except one reference in each collection for each existing object.
 */
import { type Holdings, holdingsOf } from "./heap.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Classes of the simulation. */
const OF_THE_WORLD = ["World", "ApiServer", "Collection", "VirtualClock", "Network", "ApiPath", "FaultyWire", "Run"];
/** Classes that keep up to a fixed number of deleted objects. */
const LIMITED = ["BoundedMap", "History", "Incidents", "Interner", "RecentLatencies"];
/** Classes that count messages by publisher, type and shard, whatever they contain. */
const COUNTERS = ["StreamTracker", "ServiceBus"];
/** Collections with one entry for each shard, which a process fills once another has observed in its place. */
const BY_SHARD: ReadonlySet<string> = new Set(["Standby.#resyncs"]);
/** How long a process needs from its start until it knows the complete cluster. */
const START_MS = 60_000;

/** A run with a calm cluster. */
export interface CalmRun {
  readonly world: World;
  readonly processes: readonly SimulatedProcess[];
  readonly advance: (ms: number) => void;
}

/** The collections that contain too much, as text; null when none does. It restarts every process. */
export function heldTooLong({ world, processes, advance }: CalmRun): string | null {
  const before = held(processes);
  for (const process of processes) process.kill();
  for (const process of processes) process.start();
  advance(START_MS);
  const nodes = world.objects("nodes").length;
  const objects = processes.length * (nodes + world.objects("pods").length + world.swarm.zones.length);
  const found = excess(before, held(processes), objects);
  return found.length === 0 ? null : found.join("; ");
}

/** Compares the references of processes with those of fresh ones beside this many objects. */
export function excess(before: Holdings, fresh: Holdings, objects: number): string[] {
  return [...before]
    .filter(([name, references]) => !BY_SHARD.has(name) && references > (fresh.get(name) ?? 0) + objects)
    .map(([name, references]) => `${name} holds ${references} references, ${fresh.get(name) ?? 0} after a restart`);
}

function held(processes: readonly SimulatedProcess[]): Holdings {
  return holdingsOf(processes, [...OF_THE_WORLD, ...LIMITED, ...COUNTERS]);
}
