/**
 * One API server of several, with a clock that differs from the others'. It stamps with that clock what it creates, and
 * the binding of a pod. Only this file knows when an object truly came: a pod whose stamp is behind may go as early as
 * the stamp says (docs/decisions/0004-the-api-servers-clock-counts.md), and one whose stamp is ahead counts from when
 * it was truly there. It knows no rule of Vigil.
 */
import type { Clock, Random } from "../../protocols/ports.ts";
import { BrokenInvariant, type CheckedPod } from "./invariants.ts";

/** The share of the objects that are created by it. */
const SHARE = 0.5;

/** The clock of whichever API server carries out a request, and what the one that is apart has created. */
export class ApartServer {
  readonly #clock: Clock;
  /** When pods truly came, by uid, on the wall clock. */
  readonly #cameAt = new Map<string, number>();
  #apart: { readonly ms: number; readonly random: Random } | null = null;
  #presentMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The clock by which the API server of the present request stamps. */
  get clock(): Clock {
    const clock = this.#clock;
    return {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs() + this.#presentMs,
      after: (delayMs, fire) => clock.after(delayMs, fire),
      soon: (run) => clock.soon(run),
    };
  }

  /** Whether one is apart. */
  get isThere(): boolean {
    return this.#apart !== null;
  }

  /** From now on it carries out a share of the creations, by a clock that is this far ahead. */
  begin(aheadMs: number, random: Random): void {
    this.#apart = { ms: aheadMs, random };
  }

  /** Carries out a creation by one of the servers; `act` gets how far its clock is ahead. */
  create<T>(act: (aheadMs: number) => T): T {
    const isApart = this.#apart !== null && this.#apart.random() < SHARE;
    this.#presentMs = isApart ? (this.#apart?.ms ?? 0) : 0;
    try {
      return act(this.#presentMs);
    } finally {
      this.#presentMs = 0;
    }
  }

  /** Records a pod that was created now. */
  created(uid: string): void {
    if (this.#apart !== null) this.#cameAt.set(uid, this.#clock.wallMs());
  }

  /** Checks a deleted pod: it may go early by as much as the server that stamped it is behind. */
  check(pod: CheckedPod, check: (way: CheckedPod) => void): void {
    const [stamped, asItCame] = this.ways(pod);
    if (stamped === undefined) return;
    try {
      check(stamped);
    } catch (error) {
      if (asItCame === undefined || !(error instanceof BrokenInvariant)) throw error;
      check(asItCame);
    }
  }

  /** A pod as it is stamped, and as it truly came where that differs. */
  ways(pod: CheckedPod): readonly CheckedPod[] {
    const cameAt = this.#cameAt.get(pod.metadata.uid);
    if (cameAt === undefined) return [pod];
    const creationTimestamp = new Date(Math.floor(cameAt / 1_000) * 1_000).toISOString();
    return [pod, { ...pod, metadata: { ...pod.metadata, creationTimestamp } }];
  }
}
