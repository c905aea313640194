/** Very many deadlines behind one timer: a hierarchical timing wheel in flat arrays. */
import type { Clock, Timer } from "../../protocols/ports.ts";

/** Slots at first. The arrays double when full, and shrink to this size when the last slot is removed. */
const SLOTS_MIN = 64;

/** Buckets of each wheel; one bucket of the next wheel spans all of them. */
const WIDTH = 256;
/** Five wheels reach 35 years from the start of the clock, in milliseconds. */
const WHEELS = 5;
const BUCKETS = WHEELS * WIDTH;
const TICK_MAX = WIDTH ** WHEELS - 1;

/** The neighbour of a slot without a deadline. */
const NOWHERE = -1;

/** The context of deadlines. `fire` receives the item added; its slot stays valid until it is removed. */
export interface DeadlinesOptions<T> {
  readonly clock: Clock;
  readonly fire: (item: T) => void;
}

/**
 * Deadlines by slot; each fires at the first whole millisecond (the tick) not before its due time. Ticks are numbers to
 * the base WIDTH, with one wheel per digit. A tick is filed on the wheel of the highest digit in which it differs from
 * the current tick, in the bucket of that digit, and filed again when the current tick reaches that bucket. So setting,
 * moving and firing cost the same for any number of deadlines. A slot costs 16 bytes besides its item. Instants are
 * monotonic milliseconds.
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #fire: (item: T) => void;
  #items: (T | null)[] = [];
  #dueMs = new Float64Array(SLOTS_MIN);
  /**
   * Rings of places: first one head per bucket, then the slots. A bucket is empty when its head is alone. Each place
   * has its next and its previous neighbour side by side, because the deadlines of one bucket lie far apart in memory:
   * firing a million of them in mixed order spends most of its time fetching both.
   */
  #rings = newRings();
  /** Everything up to this tick has fired. */
  #tick = 0;
  #size = 0;
  readonly #free: number[] = [];
  #timer: Timer | null = null;
  #wakeTick = Number.POSITIVE_INFINITY;

  constructor({ clock, fire }: DeadlinesOptions<T>) {
    this.#clock = clock;
    this.#fire = fire;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an item without a deadline; returns its slot. */
  add(item: T): number {
    const slot = this.#free.pop() ?? this.#items.length;
    if (slot === this.#dueMs.length) this.#grow();
    this.#items[slot] = item;
    return slot;
  }

  /** When a slot is due; infinite when it has no deadline. */
  dueAt(slot: number): number {
    return this.#rings[2 * (BUCKETS + slot)] === NOWHERE ? Number.POSITIVE_INFINITY : (this.#dueMs[slot] ?? 0);
  }

  /** Sets or moves the deadline of a slot. One in the past fires as soon as the clock runs. */
  set(slot: number, dueMs: number): void {
    this.clear(slot);
    if (this.#size === 0) this.#tick = Math.max(this.#tick, Math.floor(this.#clock.monotonicMs()));
    this.#dueMs[slot] = dueMs;
    this.#size += 1;
    this.#arm(this.#file(slot));
  }

  clear(slot: number): void {
    if (this.#rings[2 * (BUCKETS + slot)] === NOWHERE) return;
    this.#size -= 1;
    this.#unlink(BUCKETS + slot);
  }

  /** Frees a slot and its deadline; it must not be used any more. */
  remove(slot: number): void {
    this.clear(slot);
    this.#items[slot] = null;
    this.#free.push(slot);
    if (this.#free.length === this.#items.length) this.stop();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#wakeTick = Number.POSITIVE_INFINITY;
    this.#items = [];
    this.#free.length = 0;
    this.#size = 0;
    this.#dueMs = new Float64Array(SLOTS_MIN);
    this.#rings = newRings();
  }

  #grow(): void {
    const length = this.#dueMs.length * 2;
    this.#dueMs = copied(new Float64Array(length), this.#dueMs);
    this.#rings = copied(new Int32Array(2 * (BUCKETS + length)).fill(NOWHERE), this.#rings);
  }

  /** Puts a slot into the bucket for its tick; returns the first tick of that bucket. */
  #file(slot: number): number {
    const tick = Math.min(Math.max(Math.ceil(this.#dueMs[slot] ?? 0), this.#tick), TICK_MAX);
    let wheel = 0;
    let span = 1;
    while (wheel < WHEELS - 1 && Math.floor(tick / (span * WIDTH)) !== Math.floor(this.#tick / (span * WIDTH))) {
      span *= WIDTH;
      wheel += 1;
    }
    const digits = Math.floor(tick / span);
    this.#link(BUCKETS + slot, wheel * WIDTH + (digits % WIDTH));
    return digits * span;
  }

  /** Appends a place to a bucket. */
  #link(place: number, head: number): void {
    const last = this.#rings[2 * head + 1] ?? head;
    this.#rings[2 * last] = place;
    this.#rings[2 * place + 1] = last;
    this.#rings[2 * place] = head;
    this.#rings[2 * head + 1] = place;
  }

  #unlink(place: number): void {
    const next = this.#rings[2 * place] ?? NOWHERE;
    const previous = this.#rings[2 * place + 1] ?? NOWHERE;
    this.#rings[2 * previous] = next;
    this.#rings[2 * next + 1] = previous;
    this.#rings[2 * place] = NOWHERE;
  }

  /** Arms the timer for a tick unless it fires earlier. After a removed deadline it may fire for nothing. */
  #arm(tick: number): void {
    if (tick >= this.#wakeTick) return;
    this.#timer?.cancel();
    this.#wakeTick = tick;
    this.#timer = this.#clock.after(Math.max(0, tick - this.#clock.monotonicMs()), () => this.#wake());
  }

  #wake(): void {
    // Deadlines set while firing are found by the loop, or armed after it.
    this.#wakeTick = Number.NEGATIVE_INFINITY;
    try {
      this.#advance(Math.floor(this.#clock.monotonicMs()));
    } finally {
      this.#wakeTick = Number.POSITIVE_INFINITY;
      const head = this.#firstHead();
      if (head !== NOWHERE) this.#arm(this.#beginOf(head));
    }
  }

  /** Fires up to a tick, bucket by bucket in order, so that no higher wheel has a bucket in the past. */
  #advance(tick: number): void {
    for (let head = this.#firstHead(); head !== NOWHERE; head = this.#firstHead()) {
      const begin = this.#beginOf(head);
      if (begin > tick) break;
      this.#tick = begin;
      this.#empty(head);
    }
    this.#tick = Math.max(this.#tick, tick);
  }

  /** Fires the slots of a bucket of the first wheel; files those of another wheel again, further down. */
  #empty(head: number): void {
    for (let place = this.#rings[2 * head] ?? head; place !== head; place = this.#rings[2 * head] ?? head) {
      this.#unlink(place);
      if (head < WIDTH) this.#execute(place - BUCKETS);
      else this.#file(place - BUCKETS);
    }
  }

  #execute(slot: number): void {
    this.#size -= 1;
    const item = this.#items[slot];
    if (item !== null && item !== undefined) this.#fire(item);
  }

  /** The first bucket that is not empty; NOWHERE when all are. */
  #firstHead(): number {
    for (let wheel = 0, span = 1; wheel < WHEELS; wheel++, span *= WIDTH) {
      // On a higher wheel the current bucket is empty: its slots lie further down.
      const from = wheel * WIDTH + (Math.floor(this.#tick / span) % WIDTH);
      for (let head = from; head < (wheel + 1) * WIDTH; head++) if (this.#rings[2 * head] !== head) return head;
    }
    return NOWHERE;
  }

  /** The first tick of a bucket. */
  #beginOf(head: number): number {
    const span = WIDTH ** Math.floor(head / WIDTH);
    return (Math.floor(this.#tick / (span * WIDTH)) * WIDTH + (head % WIDTH)) * span;
  }
}

/** Empty rings. They are copied each time the last slot is removed, which is often. */
const EMPTY_RINGS = new Int32Array(2 * (BUCKETS + SLOTS_MIN)).map((_, at) => (at < 2 * BUCKETS ? at >> 1 : NOWHERE));

function newRings(): Int32Array<ArrayBuffer> {
  return EMPTY_RINGS.slice();
}

function copied<A extends Float64Array | Int32Array>(target: A, source: A): A {
  target.set(source);
  return target;
}
