/**
 * How late anything is in a quiet run, also while its fault is on: each verdict, taint, mark of a pod, eviction and
 * removal. What is not as it must be is due at once, and done within the time of its requests. Only the fault delays
 * it: by the time until Vigil knows of it, and by one retry. What a lasting fault makes impossible must be reported.
 */
import type { AnyMessage, BodyOf } from "../../../protocols/messages.ts";
import { BrokenInvariant } from "../invariants.ts";
import type { Wrong } from "../oracle.ts";
import type { World } from "../world.ts";

/**
 * From a change of the API to the write that follows from it: batched heartbeats, messages, three requests, and the
 * second that stamps cut off.
 */
const WAY_MS = 2_000;
/** The pause that an API server requests, beside that of Vigil's own retry. */
const RETRY_AFTER_MS = 1_000;

/** The subjects of outcomes of writes, and of the pulses of observers. */
const OUTCOMES = "vigil.v1.sim.done.write.";
const PULSES = "vigil.v1.sim.observed.pulse.";
/** When a write without an answer has failed, and that is published. */
const REPORTED_WITHIN_MS = 17_000;
/** When a memory that is written every ten seconds has failed, after what was written before it. */
const WARNED_WITHIN_MS = 60_000;

/** What the processes say. */
interface Reporting {
  /** The distinct warnings of a process. */
  readonly warnings: ReadonlySet<string>;
}

/** Follows what is wrong in one quiet run. Instants are on the wall clock. */
export class Lateness {
  readonly #world: World;
  readonly #sinceMs = new Map<string, number>();
  /** The nodes of which an outcome was published that is no success. */
  readonly #reported = new Set<string>();
  /** Since when an observer last sees nodes and leases without a gap. */
  #viewedSinceMs = Number.NEGATIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether Vigil may not know yet of the fault. */
  get isUnknown(): boolean {
    return this.#world.clock.wallMs() <= this.#fault.knownAtMs + RETRY_AFTER_MS;
  }

  /** Whether messages on this subject are to be taken: outcomes, and pulses where watches are behind. */
  follows(subject: string): boolean {
    return subject.startsWith(OUTCOMES) || (this.#lagMs > 0 && subject.startsWith(PULSES));
  }

  /** Records the outcome of a write, or the pulse of an observer. */
  onMessage(message: AnyMessage): void {
    if (message.type === "done.write") this.#written(message.body);
    else if (message.type === "observed.pulse") this.#pulsed(message.body);
  }

  #written({ node, outcome }: BodyOf<"done.write">): void {
    if (outcome === "denied" || outcome === "unknown" || outcome === "failed") this.#reported.add(node);
  }

  #pulsed({ watches: { nodes, leases } }: BodyOf<"observed.pulse">): void {
    this.#viewedSinceMs = Math.max(this.#viewedSinceMs, nodes.since ?? 0, leases.since ?? 0);
  }

  /** What of it a lasting fault does not make impossible. */
  possible(found: readonly Wrong[]): Wrong[] {
    const { lastingFault } = this.#world;
    return lastingFault === null ? [...found] : found.filter((wrong) => !lastingFault.excuses(wrong));
  }

  /** Records what is wrong now. */
  look(found: readonly Wrong[], processes: readonly Reporting[]): void {
    const nowMs = this.#world.clock.wallMs();
    this.#lookForWarning(nowMs, processes);
    const present = new Set(found.map(({ text }) => text));
    for (const text of this.#sinceMs.keys()) if (!present.has(text)) this.#sinceMs.delete(text);
    const possible = new Set(this.possible(found));
    for (const wrong of found) {
      const sinceMs = this.#sinceMs.get(wrong.text) ?? nowMs;
      this.#sinceMs.set(wrong.text, sinceMs);
      const lateMs = nowMs - this.#untilMs(sinceMs);
      if (lateMs <= 0) continue;
      const late = `for ${Math.round(nowMs - sinceMs)} ms, ${Math.round(lateMs)} ms too long: ${wrong.text}`;
      if (possible.has(wrong)) throw new BrokenInvariant(late);
      if (lateMs > REPORTED_WITHIN_MS && !this.#isReported(wrong, processes))
        throw new BrokenInvariant(`nothing reports, ${late}`);
    }
  }

  /** What nothing makes wrong must be warned about: a memory that matters only after a restart. */
  #lookForWarning(nowMs: number, processes: readonly Reporting[]): void {
    const { warning, knownAtMs = nowMs } = this.#world.lastingFault ?? {};
    if (warning === undefined || nowMs - knownAtMs < WARNED_WITHIN_MS) return;
    const isWarned = processes.some(({ warnings }) => [...warnings].some((text) => text.startsWith(warning)));
    if (!isWarned) throw new BrokenInvariant(`no process warns that ${warning}`);
  }

  /** Whether an outcome about its node says so, or a warning about what no process can see any more. */
  #isReported({ node }: Wrong, processes: readonly Reporting[]): boolean {
    const unseen = this.#world.lastingFault?.unseen ?? null;
    if (unseen === null) return this.#reported.has(node);
    return processes.some(({ warnings }) => [...warnings].some((warning) => warning.includes(`watch of ${unseen}`)));
  }

  /** Until when something may be wrong: its own way, or one retry and its way from when the fault is known. */
  #untilMs(sinceMs: number): number {
    const { knownAtMs } = this.#fault;
    return Math.max(sinceMs, knownAtMs + this.#retryMs, this.#seenAgainMs) + this.#wayMs;
  }

  /**
   * When a silence may end that counts from the return of a view. A watch that is behind shows a renewal later than a
   * live read; then all that is watched is read again, and a quiet watch may have shown nothing for long.
   */
  get #seenAgainMs(): number {
    const { nodeMonitorGraceMs, pulsePeriodMs } = this.#world.swarm.profile;
    return this.#lagMs === 0 ? Number.NEGATIVE_INFINITY : this.#viewedSinceMs + nodeMonitorGraceMs + pulsePeriodMs;
  }

  get #lagMs(): number {
    return this.#world.lastingFault?.lagMs ?? 0;
  }

  /** A zone taints one node after the other; a change is seen as late as watches are behind, and so is its effect. */
  get #wayMs(): number {
    return WAY_MS + 1_000 / this.#world.swarm.profile.nodeEvictionsPerSecond + 2 * this.#lagMs;
  }

  /** From a failure to the next attempt. After a view was lost, silence counts from its return. */
  get #retryMs(): number {
    const { askRetryMs, nodeMonitorGraceMs, pulsePeriodMs } = this.#world.swarm.profile;
    return RETRY_AFTER_MS + askRetryMs + (this.#fault.isOfView ? nodeMonitorGraceMs + pulsePeriodMs : 0);
  }

  get #fault(): { readonly knownAtMs: number; readonly isOfView: boolean } {
    const { failedRequest, lastingFault } = this.#world;
    return failedRequest ?? lastingFault ?? { knownAtMs: Number.NEGATIVE_INFINITY, isOfView: false };
  }
}
