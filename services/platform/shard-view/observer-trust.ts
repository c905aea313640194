/**
 * Which observer counts when two publish one shard. A machine that was suspended does not know it: it publishes what
 * has waited in its watches as if it were new, although another process has observed meanwhile (decision 2). Example:
 * observer a is suspended at version 900 of a node, and b publishes 905. When a wakes up and publishes 901, a reader
 * that follows b ignores it.
 */
import type { Profile } from "../../../protocols/profile.ts";

/** The observer that one reader follows: another takes its place once it has been silent for pulseTimeoutMs. */
export class ObserverTrust {
  readonly #profile: Pick<Profile, "pulseTimeoutMs">;
  #trusted: string | null = null;
  #pulsedMs = Number.NEGATIVE_INFINITY;

  constructor(profile: Pick<Profile, "pulseTimeoutMs">) {
    this.#profile = profile;
  }

  /**
   * Whether everything that an observer publishes counts, even if it is older. Before the first pulse that is true for
   * every observer.
   */
  has(publisher: string): boolean {
    return this.#trusted === null || this.#trusted === publisher;
  }

  /** Handles a pulse of an observer. Returns whether this observer replaces another. */
  onPulse(publisher: string, nowMs: number): boolean {
    const isOther = !this.has(publisher);
    if (isOther && nowMs - this.#pulsedMs < this.#profile.pulseTimeoutMs) return false;
    this.#trusted = publisher;
    this.#pulsedMs = nowMs;
    return isOther;
  }
}
