/**
 * Bounds what all readers of a process cost together, those of its console and those that query over NATS, so that none
 * of them delays a verdict: requests wait for their turn, and turns take at most a quarter of a core.
 *
 *   request ──▶ a probe ──▶ answered at once
 *          └──▶ waits, at most 64 of them ──▶ its turn: at most 8 at once, while there is time left ──▶ answered
 *          └──▶ beyond that: delayed for a second, then refused, and its connection ends
 *
 * A refusal is delayed because a client that requests in a loop retries at once: waiting slows it down, and a refusal
 * costs nearly as much as an answer.
 */
import type { Clock, Timer } from "../../../protocols/ports.ts";

/** Requests that may wait for their turn. A dashboard that opens sends about 15 requests. */
export const WAITING_MAX = 64;
/** Turns that may go on at once: some wait for a live read, or for a client that reads slowly. */
export const TURNS_MAX = 8;
/** How much of each second turns may take, in milliseconds. */
const SHARE_MS = 250;
/** How much of it may be saved up, in milliseconds. */
const SAVED_MS = 500;
/** What a turn costs besides what is measured, in milliseconds: its request is parsed and its answer sent. */
const COST_MS = 4;
/** How long a refusal is delayed, in milliseconds. */
export const DELAY_MS = 1_000;
/** After this long a turn counts no more, whether its client has read the answer or not, in milliseconds. */
export const TURN_MAX_MS = 5_000;

/** What a request does with its turn. */
export interface Turn {
  /** Begins to answer. It calls `done` when the client has the answer, or is gone. */
  begin(done: () => void): void;
  /** Refuses; called instead of `begin`. */
  refuse(): void;
  /** Ends the connection of a turn that took too long. */
  cut(): void;
}

/** The turns of all readers of one process. */
export class ReaderTurns {
  readonly #clock: Clock;
  readonly #waiting: Turn[] = [];
  readonly #timers = new Set<Timer>();
  #turns = 0;
  #leftMs = SAVED_MS;
  #countedMs: number;
  #wakeUp: Timer | null = null;
  /** Whether a turn is beginning: requests behind it wait until its cost is known. */
  #isBeginning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedMs = clock.monotonicMs();
  }

  /** Whether a request waits for its turn. */
  get isCrowded(): boolean {
    return this.#waiting.length > 0;
  }

  /** Begins a turn, now or later; false when it is refused, which happens later. */
  request(turn: Turn): boolean {
    if (this.#waiting.length >= WAITING_MAX) {
      this.delay(() => turn.refuse());
      return false;
    }
    this.#waiting.push(turn);
    this.#next();
    return true;
  }

  /** Calls `act` after the delay of a refusal. */
  delay(act: () => void): void {
    this.#after(DELAY_MS, act);
  }

  /** Forgets everything that waits. */
  stop(): void {
    this.#waiting.length = 0;
    this.#wakeUp?.cancel();
    for (const timer of this.#timers) timer.cancel();
  }

  #after(delayMs: number, act: () => void): Timer {
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      act();
    });
    this.#timers.add(timer);
    return timer;
  }

  #next(): void {
    while (!this.#isBeginning && this.#turns < TURNS_MAX && this.#waiting.length > 0) {
      const nowMs = this.#clock.monotonicMs();
      this.#leftMs = Math.min(SAVED_MS, this.#leftMs + ((nowMs - this.#countedMs) * SHARE_MS) / 1_000);
      this.#countedMs = nowMs;
      if (this.#leftMs <= 0) {
        this.#wakeUp ??= this.#clock.after(Math.ceil((-this.#leftMs * 1_000) / SHARE_MS) + 1, () => {
          this.#wakeUp = null;
          this.#next();
        });
        return;
      }
      const turn = this.#waiting.shift();
      if (turn !== undefined) this.#begin(turn, nowMs);
    }
  }

  #begin(turn: Turn, nowMs: number): void {
    this.#turns += 1;
    let isDone = false;
    const done = (): void => {
      if (isDone) return;
      isDone = true;
      tooLong.cancel();
      this.#timers.delete(tooLong);
      this.#turns -= 1;
      this.#next();
    };
    const tooLong = this.#after(TURN_MAX_MS, () => {
      turn.cut();
      done();
    });
    this.#isBeginning = true;
    turn.begin(done);
    this.#isBeginning = false;
    this.#leftMs -= COST_MS + this.#clock.monotonicMs() - nowMs;
  }
}
