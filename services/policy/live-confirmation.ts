/**
 * Confirms that a watch shows what the API server has now. Freezes come from two watches, of NodePolicies and of the
 * ConfigMap vigil-freeze, and neither shows how far behind the other is. Example: a user freezes all nodes at 12:00:00
 * and removes the freeze of a policy at 12:00:01. If the watch of the ConfigMap is two seconds behind, no node looks
 * frozen for a second. A change that loosens something in one source therefore counts once a live read of the other,
 * begun after the change was seen, agrees with its watch. A change that tightens something counts at once.
 */
import type { Io, ObjectRef, ReadReply, Timer } from "../../protocols/ports.ts";

/** The pause after a read that failed, or that the watch did not agree with, in milliseconds. */
const RETRY_MS = 1_000;

/** One source, and how it is read. */
export interface ConfirmedSource {
  readonly ref: ObjectRef;
  /** Whether the watch shows what this reply shows. */
  readonly isShown: (reply: ReadReply) => boolean;
  /** Lists the source again, because its watch is behind. */
  readonly relist: (reason: string) => void;
}

/** Confirms one source. */
export class LiveConfirmation {
  readonly #io: Pick<Io, "kube" | "clock">;
  readonly #source: ConfirmedSource;
  #waiting: (() => void)[] = [];
  #isReading = false;
  #isStopped = false;
  #retry: Timer | null = null;

  constructor(io: Pick<Io, "kube" | "clock">, source: ConfirmedSource) {
    this.#io = io;
    this.#source = source;
  }

  /** Calls `run` once a read that begins from now on agrees with the watch. */
  confirm(run: () => void): void {
    this.#waiting.push(run);
    if (!this.#isReading) this.#read();
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
  }

  #read(): void {
    this.#isReading = true;
    const confirmed = this.#waiting;
    this.#waiting = [];
    const { ref, isShown, relist } = this.#source;
    this.#io.kube.read(ref, (reply) => {
      if (this.#isStopped) return;
      if (isShown(reply)) {
        this.#isReading = false;
        for (const run of confirmed) run();
        if (this.#waiting.length > 0 && !this.#isReading) this.#read();
        return;
      }
      this.#waiting = [...confirmed, ...this.#waiting];
      if (reply.outcome === "ok" || reply.outcome === "gone") relist("a live read shows that it is behind");
      this.#retry = this.#io.clock.after(RETRY_MS, () => this.#read());
    });
  }
}
