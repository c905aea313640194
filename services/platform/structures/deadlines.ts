/** Very many deadlines behind one timer: a wheel of wheels in flat arrays. It does not know what is due. */
import type { Clock, Timer } from "../../../protocols/ports.ts";

/** Slots at first; the arrays double when they are full, and shrink to this again when nothing is held. */
const SLOTS_MIN = 64;

/** Each wheel has as many buckets as one bucket of the next wheel spans of its own. */
const WIDTH = 256;
/** Five wheels reach 35 years from the beginning of the clock in milliseconds. */
const WHEELS = 5;
const BUCKETS = WHEELS * WIDTH;
const TICK_MAX = WIDTH ** WHEELS - 1;

/** What stands in for the neighbour of a slot without a deadline. */
const NOWHERE = -1;

/** What deadlines are made of. `fire` gets what was added; its slot stays its own until it is removed. */
export interface DeadlinesOptions<T> {
  readonly clock: Clock;
  readonly fire: (item: T) => void;
}

/**
 * Deadlines by slot, each firing at the first whole millisecond (the tick) not before its due time. Ticks are numbers
 * to the base WIDTH, with a wheel for each digit: a tick is filed on the wheel of the highest digit in which it differs
 * from the present one, in the bucket of that digit, and filed anew once the present reaches that bucket. So setting,
 * moving and firing cost the same however many there are. Beside its item a slot costs 16 bytes; instants are monotonic
 * milliseconds.
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #fire: (item: T) => void;
  #items: (T | null)[] = [];
  #dueMs = new Float64Array(SLOTS_MIN);
  /**
   * Rings of places: first one head for each bucket, then the slots. A bucket is empty when its head is alone. Each
   * place has its next and its previous neighbour side by side: deadlines of one bucket lie far apart in memory, and
   * where a million are due in mixed order, most of the time to fire them is fetching both.
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

  /** How many deadlines are set. */
  get size(): number {
    return this.#size;
  }

  /** Takes an item in without a deadline; returns its slot. */
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

  /** Sets or moves the deadline of a slot. One in the past fires as soon as the clock can. */
  set(slot: number, dueMs: number): void {
    this.clear(slot);
    if (this.#size === 0) this.#tick = Math.max(this.#tick, Math.floor(this.#clock.monotonicMs()));
    this.#dueMs[slot] = dueMs;
    this.#size += 1;
    this.#arm(this.#file(slot));
  }

  /** Takes the deadline of a slot away; nothing happens when it has none. */
  clear(slot: number): void {
    if (this.#rings[2 * (BUCKETS + slot)] === NOWHERE) return;
    this.#size -= 1;
    this.#unlink(BUCKETS + slot);
  }

  /** Gives a slot back with its deadline; it must not be used any more. */
  remove(slot: number): void {
    this.clear(slot);
    this.#items[slot] = null;
    this.#free.push(slot);
    if (this.#free.length === this.#items.length) this.stop();
  }

  /** Forgets everything. */
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

  /** Puts a slot into the bucket for its tick; returns the tick with which that bucket begins. */
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

  /** Puts a place at the end of a bucket. */
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

  /** Sees to it that the clock wakes us at a tick, and no later. A deadline taken away may wake us for nothing. */
  #arm(tick: number): void {
    if (tick >= this.#wakeTick) return;
    this.#timer?.cancel();
    this.#wakeTick = tick;
    this.#timer = this.#clock.after(Math.max(0, tick - this.#clock.monotonicMs()), () => this.#wake());
  }

  #wake(): void {
    // While firing, whatever is set is looked at by the loop or armed after it.
    this.#wakeTick = Number.NEGATIVE_INFINITY;
    try {
      this.#advance(Math.floor(this.#clock.monotonicMs()));
    } finally {
      this.#wakeTick = Number.POSITIVE_INFINITY;
      const head = this.#firstHead();
      if (head !== NOWHERE) this.#arm(this.#beginOf(head));
    }
  }

  /** Fires up to a tick. What begins earlier is emptied earlier, so that a higher wheel has nothing in the past. */
  #advance(tick: number): void {
    for (let head = this.#firstHead(); head !== NOWHERE; head = this.#firstHead()) {
      const begin = this.#beginOf(head);
      if (begin > tick) break;
      this.#tick = begin;
      this.#empty(head);
    }
    this.#tick = Math.max(this.#tick, tick);
  }

  /** Fires what a bucket of the first wheel holds; files what one of another wheel holds further down. */
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

  /** The bucket that begins first of all that hold something; NOWHERE when none does. */
  #firstHead(): number {
    for (let wheel = 0, span = 1; wheel < WHEELS; wheel++, span *= WIDTH) {
      // On a higher wheel the present bucket is empty: what was in it lies further down.
      const from = wheel * WIDTH + (Math.floor(this.#tick / span) % WIDTH);
      for (let head = from; head < (wheel + 1) * WIDTH; head++) if (this.#rings[2 * head] !== head) return head;
    }
    return NOWHERE;
  }

  /** The tick with which a bucket begins. */
  #beginOf(head: number): number {
    const span = WIDTH ** Math.floor(head / WIDTH);
    return (Math.floor(this.#tick / (span * WIDTH)) * WIDTH + (head % WIDTH)) * span;
  }
}

function newRings(): Int32Array<ArrayBuffer> {
  return new Int32Array(2 * (BUCKETS + SLOTS_MIN)).map((_, at) => (at < 2 * BUCKETS ? at >> 1 : NOWHERE));
}

function copied<A extends Float64Array | Int32Array>(target: A, source: A): A {
  target.set(source);
  return target;
}
