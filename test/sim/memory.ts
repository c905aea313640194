/**
 * Whether processes forget what has left the cluster: those that have lived through it must hold no more than processes
 * that have just started beside the same cluster, except one reference in each collection for each object that exists.
 */
import { type Holdings, holdingsOf } from "./heap.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Classes of the simulation. */
const OF_THE_WORLD = ["World", "ApiServer", "Collection", "VirtualClock", "Network", "ApiPath", "FaultyWire", "Run"];
/** Classes that keep what has gone up to a fixed number. */
const LIMITED = ["BoundedMap", "History", "Interner", "RecentLatencies"];
/** Classes that count messages by publisher, type and shard, whatever is in them. */
const COUNTERS = ["StreamTracker", "ServiceBus"];
/** How long a process takes from its start until it knows the whole cluster. */
const START_MS = 60_000;

/** A run whose cluster is calm. */
export interface CalmRun {
  readonly world: World;
  readonly processes: readonly SimulatedProcess[];
  readonly advance: (ms: number) => void;
}

/** The collections that hold too much, in words; null when none does. It starts every process again. */
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

/** Compares what processes hold with what fresh ones hold beside so many objects. */
export function excess(before: Holdings, fresh: Holdings, objects: number): string[] {
  return [...before]
    .filter(([name, references]) => references > (fresh.get(name) ?? 0) + objects)
    .map(([name, references]) => `${name} holds ${references} references, ${fresh.get(name) ?? 0} after a restart`);
}

function held(processes: readonly SimulatedProcess[]): Holdings {
  return holdingsOf(processes, [...OF_THE_WORLD, ...LIMITED, ...COUNTERS]);
}
