/** Time that only its owner advances: a preview, a test, a simulation. It never touches a real timer. */
import type { Clock, Timer } from "../../../protocols/ports.ts";
import { MinHeap } from "../../structures/heap.ts";

/** How many callbacks at one instant count as an endless loop. */
const CALLBACKS_PER_INSTANT_MAX = 10_000_000;

/** How many finished callbacks stay in the queue before it is cut. */
const SOON_RUN_MAX = 1024;

interface VirtualTimer {
  readonly dueMs: number;
  readonly order: number;
  fire: (() => void) | null;
}

/**
 * A clock moved by hand. Timers fire one at a time, each at its own due time, ties in the order they were set. A `soon`
 * callback runs before the next timer. The monotonic clock starts at 0.
 */
export class VirtualClock implements Clock {
  #nowMs = 0;
  #wallOffsetMs: number;
  #order = 0;
  #cancelled = 0;
  #advancing = false;
  #ranAtInstant = 0;
  readonly #soon: (() => void)[] = [];
  #soonStart = 0;
  readonly #timers = new MinHeap<VirtualTimer>(
    (left, right) => left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order),
  );

  /** The wall clock starts at `wallMs`, in epoch milliseconds. */
  constructor({ wallMs }: { readonly wallMs: number }) {
    this.#wallOffsetMs = wallMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  /** How many timers are set and have not fired, for leak tests. */
  get pendingTimers(): number {
    return this.#timers.size - this.#cancelled;
  }

  after(delayMs: number, fire: () => void): Timer {
    const timer: VirtualTimer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, fire };
    this.#timers.push(timer);
    return { cancel: () => this.#cancel(timer) };
  }

  soon(run: () => void): void {
    this.#soon.push(run);
  }

  /** Lets `ms` milliseconds pass. Throws what a callback throws; the clock then stays at that instant. */
  advance(ms: number): void {
    if (this.#advancing) throw new Error("a callback must not advance the clock that calls it");
    this.#advancing = true;
    try {
      this.#runUntil(this.#nowMs + ms);
    } finally {
      this.#advancing = false;
    }
  }

  /** Steps the wall clock, as an operator or NTP does; no timer moves. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  #runUntil(endMs: number): void {
    this.#ranAtInstant = 0;
    this.#runSoon();
    for (let timer = this.#timers.peek(); timer !== undefined && timer.dueMs <= endMs; timer = this.#timers.peek()) {
      this.#timers.pop();
      this.#fire(timer);
    }
    this.#moveTo(endMs);
  }

  #fire(timer: VirtualTimer): void {
    const { fire } = timer;
    if (fire === null) {
      this.#cancelled--;
      return;
    }
    timer.fire = null;
    this.#moveTo(timer.dueMs);
    this.#run(fire);
    this.#runSoon();
  }

  #moveTo(instantMs: number): void {
    if (instantMs <= this.#nowMs) return;
    this.#nowMs = instantMs;
    this.#ranAtInstant = 0;
  }

  #runSoon(): void {
    while (this.#soonStart < this.#soon.length) {
      const run = this.#soon[this.#soonStart++];
      if (this.#soonStart === SOON_RUN_MAX) {
        this.#soon.splice(0, SOON_RUN_MAX);
        this.#soonStart = 0;
      }
      if (run !== undefined) this.#run(run);
    }
  }

  #run(callback: () => void): void {
    if (++this.#ranAtInstant > CALLBACKS_PER_INSTANT_MAX) {
      throw new Error(`${CALLBACKS_PER_INSTANT_MAX} callbacks ran at ${this.#nowMs} ms: time would never go on`);
    }
    callback();
  }

  #cancel(timer: VirtualTimer): void {
    if (timer.fire === null) return;
    timer.fire = null;
    this.#cancelled++;
    if (this.#cancelled < 1024 || this.#cancelled * 2 < this.#timers.size) return;
    this.#timers.keep((held) => held.fire !== null);
    this.#cancelled = 0;
  }
}
