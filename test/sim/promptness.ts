/**
 * Whether pods are evicted when they are due. A countdown that starts again after a restart evicts no pod too early,
 * only too late. The check runs only where nothing slows down a message, a request or a clock.
 */
import {
  BrokenInvariant,
  type CheckedNode,
  type CheckedPod,
  evictionOverdueAt,
  type WriteContext,
} from "./invariants.ts";
import type { FaultClass, Swarm } from "./swarm.ts";

/** Faults by which a pod may go late, or a process may learn late that it must. */
const DELAYING: readonly FaultClass[] = [
  ...(["loss", "lostPulses", "doubling", "lateness", "partitions", "slowConsumers", "crashes", "rollouts"] as const),
  ...(["apiRefusals", "apiTimeouts", "lostReplies", "watchCuts", "compaction", "staleWatches"] as const),
  ...(["apiOutages", "deniedDeletes", "clockSteps", "clockDrift"] as const),
  ...(["apiCuts", "standstills", "slowApi", "wrongClocks", "staleReplica", "listRefusals"] as const),
  ...(["writeConflicts", "cacheSyncLag", "flakyApi", "lyingMembers", "stolenSeeds"] as const),
  ...(["longOutages", "powerCuts", "restores", "leaseRefusals", "staleServers", "moments"] as const),
  ...(["silentWatches", "apartServers"] as const),
];
/** From a deadline to its deletion: a message, three requests, and the second that the API's stamps cut off. */
const WAY_MS = 2_000;
/** From a death or a start of a process: to miss the dead one, to list, to sync, and to request again. */
export const RECOVERY_MS = 15_000;
/** The slack of a run in which anything may be slow. */
const HINDERED_SLACK_MS = 90_000;

/** Whether nothing slows down a message, a request or a clock in a run. */
export function isUnhindered({ faults, hindrance }: Swarm): boolean {
  return hindrance === undefined && !DELAYING.some((name) => faults.has(name));
}

/** Checks the lateness of evictions. */
export class Promptness {
  readonly #isUnhindered: boolean;
  /** When a process last died or started, on the wall clock. */
  #disturbedAt = Number.NEGATIVE_INFINITY;

  /** `isScripted` is whether something other than the swarm's faults meddles. */
  constructor(swarm: Swarm, isScripted: boolean) {
    this.#isUnhindered = !isScripted && isUnhindered(swarm);
  }

  /**
   * How late a pod that still exists may be, in milliseconds; with `aheadMs`, how late it may be now if it is not to be
   * too late within that time.
   */
  slackMs(aheadMs = 0): number {
    return Math.max(0, (this.#isUnhindered ? RECOVERY_MS + WAY_MS : HINDERED_SLACK_MS) - aheadMs);
  }

  /** A process died or started. */
  disturbed(wallMs: number): void {
    this.#disturbedAt = wallMs;
  }

  /** Checks an allowed deletion against the node as the API shows it. */
  check(pod: CheckedPod, node: CheckedNode, { swarm, wallMs, standing }: WriteContext): void {
    if (!this.#isUnhindered || swarm.profile.evictionMode === "direct") return;
    const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
    const cameAt = Date.parse(pod.metadata.creationTimestamp);
    const lastAts = taints.map((taint) => {
      const stood = standing(node.metadata.name, taint);
      const latest = { ...stood, seenAt: stood.latestAt ?? stood.seenAt };
      const dueAt = Math.max(evictionOverdueAt(pod, taint, latest), stood.seenAt, cameAt);
      // A freeze that begins meanwhile adds to both.
      const endAt = (startAt: number, ms: number): number => stood.frozen?.most(startAt, ms) ?? startAt + ms;
      return { dueAt, lastAt: Math.max(endAt(dueAt, WAY_MS), endAt(this.#disturbedAt, RECOVERY_MS)) };
    });
    const { dueAt, lastAt } = lastAts.reduce((left, right) => (right.lastAt < left.lastAt ? right : left));
    if (wallMs <= lastAt) return;
    throw new BrokenInvariant(`${pod.metadata.name} on ${node.metadata.name} went ${wallMs - dueAt} ms late`);
  }
}
