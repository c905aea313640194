/**
 * Whether pods go when their time has come: a countdown that starts anew after a restart evicts nobody wrongly, only
 * late. Told only in runs in which nothing slows down a message, a request or a clock.
 */
import {
  BrokenInvariant,
  type CheckedNode,
  type CheckedPod,
  evictionOverdueAt,
  type WriteContext,
} from "./invariants.ts";
import type { FaultClass, Swarm } from "./swarm.ts";

/** Faults by which a pod may go late, or a process see late that it has to. */
const DELAYING: readonly FaultClass[] = [
  ...(["loss", "lostPulses", "doubling", "lateness", "partitions", "slowConsumers", "crashes"] as const),
  ...(["apiRefusals", "apiTimeouts", "lostReplies", "watchCuts", "compaction", "staleWatches"] as const),
  ...(["apiOutages", "deniedDeletes", "clockSteps", "clockDrift"] as const),
  ...(["apiCuts", "standstills", "slowApi", "wrongClocks", "staleReplica", "listRefusals"] as const),
  ...(["writeConflicts", "cacheSyncLag", "flakyApi", "lyingMembers", "stolenSeeds"] as const),
];
/** The way of a deadline to its deletion: an ask, three requests, and the second that the API's stamps leave out. */
const WAY_MS = 2_000;
/** What a fleet needs after a death or a start: to miss the dead, to list, to see everything and to ask again. */
export const RECOVERY_MS = 15_000;
/** The slack of a run in which anything may be slow. */
const HINDERED_SLACK_MS = 90_000;

/** Whether nothing slows down a message, a request or a clock in a run. */
export function isUnhindered({ faults, hindrance }: Swarm): boolean {
  return hindrance === undefined && !DELAYING.some((name) => faults.has(name));
}

/** Watches over the lateness of evictions. */
export class Promptness {
  readonly #isUnhindered: boolean;
  /** When a process last died or started, on the wall clock. */
  #disturbedAt = Number.NEGATIVE_INFINITY;

  /** `isScripted` tells that somebody else than the swarm's faults meddles. */
  constructor(swarm: Swarm, isScripted: boolean) {
    this.#isUnhindered = !isScripted && isUnhindered(swarm);
  }

  /** How late a pod may be that still stands, in milliseconds. */
  get slackMs(): number {
    return this.#isUnhindered ? RECOVERY_MS + WAY_MS : HINDERED_SLACK_MS;
  }

  /** A process died or started. */
  disturbed(wallMs: number): void {
    this.#disturbedAt = wallMs;
  }

  /** Checks a deletion that was allowed, against the node as the API shows it. */
  check(pod: CheckedPod, node: CheckedNode, { swarm, wallMs, standing }: WriteContext): void {
    if (!this.#isUnhindered || swarm.profile.evictionMode === "direct") return;
    const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
    const dueAts = taints.map((taint) => {
      const stood = standing(node.metadata.name, taint);
      return Math.max(evictionOverdueAt(pod, taint, stood), stood.seenAt);
    });
    const dueAt = Math.max(Math.min(...dueAts), Date.parse(pod.metadata.creationTimestamp));
    const lateMs = wallMs - Math.max(dueAt + WAY_MS, this.#disturbedAt + RECOVERY_MS);
    if (lateMs <= 0) return;
    throw new BrokenInvariant(`${pod.metadata.name} on ${node.metadata.name} went ${wallMs - dueAt} ms late`);
  }
}
