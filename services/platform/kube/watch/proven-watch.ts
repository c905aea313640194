/**
 * Proves by one small read that a watch of this process shows no less than a live read of each object would.
 *
 *   200 leases to read ──▶ one list of one object: version 812 ──▶ the watch shows version 815 ──▶ it answers for all
 *
 * On a busy server reads wait behind writes and are then sent together, too soon for a proof that begins with them. So
 * the watch is proven while they wait.
 *
 * The list is requested without a version, so it is consistent, and its version counts every change made before it was
 * sent. A watch shows the changes of its resource in order. So a watch that has reached that version shows all of them,
 * whichever server it comes from; one on a stale server does not reach it. Versions of one resource alone are compared:
 * large clusters keep leases or Events in an etcd of their own.
 */
import type { Clock, ProvenView, Stop, Timer, Wire } from "../../../../protocols/ports.ts";
import type { Bounds } from "../../../../protocols/profile.ts";
import { isAtLeast } from "../../../structures/resource-version.ts";
import { readStoreVersion, type StoreVersion } from "./store-state.ts";

/** A watch as far as a proof needs it. */
export interface ProvableWatch<T> {
  /** The version of the last event, bookmark or list; null before the first. */
  version(): string | null;
  held(namespace: string, name: string): T | null;
  /** Whether it is open and synced, nothing is suspected of it, and everything that it has shown could be read. */
  isTrusted(): boolean;
  /** Reads what arrives without gathering it, for so long. */
  readAtOnce(forMs: number): void;
  /** Checks itself, because the server's store seems to have gone back. */
  suspect(): void;
}

/** What a proof needs. */
export interface ProvenWatchIo {
  readonly wire: Wire;
  readonly clock: Clock;
  /** The collection whose version is read. */
  readonly path: string;
  readonly selectors: Readonly<Record<string, string>>;
  readonly bounds: Pick<Bounds, "provenReadsMin">;
  readonly observe: (outcome: "ok" | "failed", latencyMs: number) => void;
}

/** When the read of a proof was sent and answered, on the monotonic clock. */
type Instants = Pick<ProvenView<unknown>, "sentAtMs" | "readAtMs">;

/** A read of the version that the watch has to reach; null before its answer. */
interface Look {
  readonly sentAtMs: number;
  readonly shown: string;
  version: string | null;
  readAtMs: number;
}

/** How long a proof holds after its read was answered, in milliseconds: as long as a live read of a node. */
const KEPT_MS = 500;
/** How old a proof in use is when the next one begins: no read waits for one. */
const RENEWED_MS = KEPT_MS / 2;
/** The pause after a version that the watch did not reach. */
const PAUSE_MS = 5_000;

/** The proof of one resource. */
export class ProvenWatch<T> {
  readonly #io: ProvenWatchIo;
  #watch: ProvableWatch<T> | null = null;
  #proof: Instants | null = null;
  #look: Look | null = null;
  /** When objects were to be read that no proof covered, the last `provenReadsMin` of them. */
  #readsMs: readonly number[] = [];
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** How many reads wait to be sent. */
  #expected = 0;
  /** When the next proof for them begins; null where none is planned. */
  #preparation: Timer | null = null;

  constructor(io: ProvenWatchIo) {
    this.#io = io;
  }

  /** Proves this watch from now on. */
  enter(watch: ProvableWatch<T>): void {
    this.#watch = watch;
    this.#proof = null;
    this.#look = null;
  }

  /** A watch has stopped. */
  leave(watch: ProvableWatch<T>): void {
    if (this.#watch !== watch) return;
    this.#watch = null;
    this.#proof = null;
    this.#look = null;
  }

  /** A watch has shown another version. */
  showed(watch: ProvableWatch<T>): void {
    if (this.#look !== null && this.#watch === watch) this.#review(this.#look, watch);
  }

  /** Expects a read of an object until the result is called. While many are expected, the watch is kept proven. */
  expect(): Stop {
    this.#expected += 1;
    this.#prepare();
    let isExpected = true;
    return () => {
      if (isExpected) this.#expected -= 1;
      isExpected = false;
    };
  }

  /**
   * What is proven by a read that was sent at `sentSinceMs` or later; null for nothing. It is called when an object
   * would be read, and the next proof begins if that happens often.
   */
  view(sentSinceMs: number): ProvenView<T> | null {
    const nowMs = this.#io.clock.monotonicMs();
    const [watch, proof] = [this.#watch, this.#proof];
    const isProven = watch?.isTrusted() === true && proof !== null && nowMs - proof.readAtMs < KEPT_MS;
    if (!isProven || nowMs - proof.readAtMs >= RENEWED_MS) this.#seek(isProven, nowMs);
    if (!isProven || proof.sentAtMs < sentSinceMs) return null;
    return { ...proof, held: (...named) => (watch.isTrusted() ? watch.held(...named) : null) };
  }

  /** Begins the proof for expected reads, at once or when the present one is to be renewed. */
  #prepare(): void {
    const { clock, bounds } = this.#io;
    if (this.#expected < bounds.provenReadsMin || this.#look !== null || this.#preparation !== null) return;
    const nowMs = clock.monotonicMs();
    const renewedMs = (this.#proof?.readAtMs ?? Number.NEGATIVE_INFINITY) + RENEWED_MS;
    const waitMs = Math.max(renewedMs, this.#pausedUntilMs) - nowMs;
    if (waitMs <= 0) this.#seek(true, nowMs);
    else {
      this.#preparation = clock.after(waitMs, () => {
        this.#preparation = null;
        this.#prepare();
      });
    }
  }

  /** Begins a proof if one is in use or reads are expected, else as soon as objects are read often. */
  #seek(isNeeded: boolean, nowMs: number): void {
    const { provenReadsMin } = this.#io.bounds;
    if (!isNeeded) this.#readsMs = [...this.#readsMs, nowMs].slice(-provenReadsMin);
    const isOften = this.#readsMs.length >= provenReadsMin && nowMs - (this.#readsMs[0] ?? nowMs) < KEPT_MS;
    const shown = this.#watch?.isTrusted() === true ? this.#watch.version() : null;
    if ((!isNeeded && !isOften) || this.#look !== null || nowMs < this.#pausedUntilMs || shown === null) return;
    const look: Look = { sentAtMs: nowMs, shown, version: null, readAtMs: nowMs };
    this.#look = look;
    readStoreVersion(this.#io, this.#io, (answer) => this.#answered(look, answer));
  }

  #answered(look: Look, answer: StoreVersion): void {
    const nowMs = this.#io.clock.monotonicMs();
    const isKnown = answer.kind === "known";
    this.#io.observe(isKnown ? "ok" : "failed", nowMs - look.sentAtMs);
    const watch = this.#watch;
    if (this.#look !== look || watch === null) return;
    if (!isKnown) {
      this.#fail(look);
      return;
    }
    // A store that is older than what was shown has been restored: what is shown may be of its lost history.
    if (!isAtLeast(answer.version, look.shown)) {
      this.#fail(look);
      watch.suspect();
      return;
    }
    look.version = answer.version;
    look.readAtMs = nowMs;
    this.#review(look, watch);
    if (this.#look !== look) return;
    watch.readAtOnce(RENEWED_MS);
    this.#io.clock.after(KEPT_MS, () => this.#fail(look));
  }

  /** Ends a read whose version the watch has reached. */
  #review(look: Look, watch: ProvableWatch<T>): void {
    const shown = watch.version();
    if (look.version === null || shown === null || !isAtLeast(shown, look.version) || !watch.isTrusted()) return;
    this.#look = null;
    this.#proof = { sentAtMs: look.sentAtMs, readAtMs: look.readAtMs };
    this.#prepare();
  }

  #fail(look: Look): void {
    if (this.#look !== look) return;
    this.#look = null;
    this.#pausedUntilMs = this.#io.clock.monotonicMs() + PAUSE_MS;
    this.#prepare();
  }
}
