/** What one run of the simulation may be given beside its swarm. */
import type { Stop } from "../../protocols/ports.ts";
import type { ReadableMetrics } from "../../services/platform/process/metrics.ts";
import type { Reach } from "./meddler.ts";
import type { Crossing } from "./story.ts";

/** What a run may be given beside its swarm. */
export interface RunOptions {
  /** Told of every message on the network. */
  readonly crossed?: (crossing: Crossing) => void;
  /** What goes wrong, when it is not the swarm's faults; what it returns ends it. */
  readonly meddling?: (reach: Reach) => Stop;
  /** How long the looks before a deletion and the deletion may take together, in milliseconds. */
  readonly roundTripMs?: number;
  /** Creates the registry of each process that starts; without it nothing is counted. */
  readonly createMetrics?: () => ReadableMetrics;
}
