/** Pods whose tolerations were edited a moment ago: a deletion may rest on a read from before the edit. */
import type { Clock } from "../../protocols/ports.ts";
import type { Change } from "../../services/sandbox/apiserver/store/stored.ts";
import { BrokenInvariant, type CheckedPod } from "./invariants.ts";

/**
 * How long an edit may cross with a deletion, in milliseconds. After some conflicts a deletion names no version, and a
 * read is valid for longer where the API is slow (docs/decisions/0014-an-eviction-rests-on-a-live-read.md).
 */
const CROSSING_MS = 3_000;

/** The last edit of each pod. */
export class PodEdits {
  readonly #clock: Clock;
  /** Each pod as it was before its last edit, by uid. */
  readonly #before = new Map<string, { readonly pod: CheckedPod; readonly editedMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a change of a pod. */
  note({ now, before }: Change): void {
    if (before === null) return;
    const [was, is]: CheckedPod[] = [before, now].map(({ json }) => JSON.parse(json));
    if (was === undefined || JSON.stringify(was.spec.tolerations) === JSON.stringify(is?.spec.tolerations)) return;
    this.#before.set(now.uid, { pod: was, editedMs: this.#clock.monotonicMs() });
  }

  /**
   * Checks a deleted pod in its present state and, where that breaks a rule, in its state before an edit that crossed.
   */
  check(pod: CheckedPod, check: (pod: CheckedPod) => void): void {
    try {
      check(pod);
    } catch (error) {
      const before = this.#before.get(pod.metadata.uid);
      const isCrossed = before !== undefined && this.#clock.monotonicMs() - before.editedMs <= CROSSING_MS;
      if (!isCrossed || !(error instanceof BrokenInvariant)) throw error;
      check(before.pod);
    }
  }
}
