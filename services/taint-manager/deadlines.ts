/** Very many deadlines behind one timer: a heap in flat arrays. It does not know what is due. */
import type { Clock, Timer } from "../../protocols/ports.ts";

/** Slots at first; the arrays double when they are full, and shrink to this again when nothing is held. */
const SLOTS_MIN = 64;

/** What stands in for a slot that has no place in the heap. */
const NOWHERE = -1;

/** What deadlines are made of. `fire` gets what was added; its slot stays its own until it is removed. */
export interface DeadlinesOptions<T> {
  readonly clock: Clock;
  readonly fire: (item: T) => void;
}

/**
 * A binary heap of slots ordered by due time, then by slot. Beside its item a slot costs 24 bytes, and moving or
 * removing one costs the logarithm of their number. Instants are monotonic milliseconds.
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #fire: (item: T) => void;
  #items: (T | null)[] = [];
  #dueMs = new Float64Array(SLOTS_MIN);
  /** The heap: at each place a slot. */
  #slots = new Int32Array(SLOTS_MIN);
  /** Where in the heap a slot stands. */
  #places = new Int32Array(SLOTS_MIN).fill(NOWHERE);
  #size = 0;
  readonly #free: number[] = [];
  #timer: Timer | null = null;
  #wakeMs = Number.POSITIVE_INFINITY;

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
    return this.#places[slot] === NOWHERE ? Number.POSITIVE_INFINITY : (this.#dueMs[slot] ?? 0);
  }

  /** Sets or moves the deadline of a slot. One in the past fires as soon as the clock can. */
  set(slot: number, dueMs: number): void {
    this.#dueMs[slot] = dueMs;
    if (this.#places[slot] === NOWHERE) this.#put(slot, this.#size++);
    const place = this.#places[slot] ?? 0;
    this.#sink(slot, this.#rise(slot, place));
    this.#arm();
  }

  /** Takes the deadline of a slot away; nothing happens when it has none. */
  clear(slot: number): void {
    const place = this.#places[slot] ?? NOWHERE;
    if (place === NOWHERE) return;
    this.#places[slot] = NOWHERE;
    const last = this.#slots[--this.#size] ?? 0;
    if (last === slot) return;
    this.#put(last, place);
    this.#sink(last, this.#rise(last, place));
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
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#items = [];
    this.#free.length = 0;
    this.#size = 0;
    this.#dueMs = new Float64Array(SLOTS_MIN);
    this.#slots = new Int32Array(SLOTS_MIN);
    this.#places = new Int32Array(SLOTS_MIN).fill(NOWHERE);
  }

  #grow(): void {
    const length = this.#dueMs.length * 2;
    this.#dueMs = copied(new Float64Array(length), this.#dueMs);
    this.#slots = copied(new Int32Array(length), this.#slots);
    this.#places = copied(new Int32Array(length).fill(NOWHERE), this.#places);
  }

  #isBefore(left: number, right: number): boolean {
    const leftMs = this.#dueMs[left] ?? 0;
    const rightMs = this.#dueMs[right] ?? 0;
    return leftMs < rightMs || (leftMs === rightMs && left < right);
  }

  #put(slot: number, place: number): void {
    this.#slots[place] = slot;
    this.#places[slot] = place;
  }

  #rise(slot: number, from: number): number {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = this.#slots[above] ?? 0;
      if (!this.#isBefore(slot, parent)) break;
      this.#put(parent, place);
      place = above;
    }
    this.#put(slot, place);
    return place;
  }

  #sink(slot: number, from: number): void {
    let place = from;
    for (let below = this.#leastBelow(place); below < this.#size; below = this.#leastBelow(place)) {
      const child = this.#slots[below] ?? 0;
      if (!this.#isBefore(child, slot)) break;
      this.#put(child, place);
      place = below;
    }
    this.#put(slot, place);
  }

  #leastBelow(place: number): number {
    const left = 2 * place + 1;
    if (left + 1 >= this.#size) return left;
    return this.#isBefore(this.#slots[left + 1] ?? 0, this.#slots[left] ?? 0) ? left + 1 : left;
  }

  /**
   * Sees to it that the clock wakes us when the first deadline is due, and no later. A deadline taken away may wake us
   * for nothing.
   */
  #arm(): void {
    const first = this.#slots[0] ?? 0;
    const dueMs = this.#size === 0 ? Number.POSITIVE_INFINITY : (this.#dueMs[first] ?? 0);
    if (dueMs >= this.#wakeMs) return;
    this.#timer?.cancel();
    this.#wakeMs = dueMs;
    this.#timer = this.#clock.after(Math.max(0, dueMs - this.#clock.monotonicMs()), () => this.#wake());
  }

  #wake(): void {
    // While firing, whatever is set is looked at by the loop or armed after it.
    this.#wakeMs = Number.NEGATIVE_INFINITY;
    try {
      this.#fireUntil(this.#clock.monotonicMs());
    } finally {
      this.#wakeMs = Number.POSITIVE_INFINITY;
      this.#arm();
    }
  }

  #fireUntil(now: number): void {
    while (this.#size > 0) {
      const slot = this.#slots[0] ?? 0;
      if ((this.#dueMs[slot] ?? 0) > now) return;
      this.clear(slot);
      const item = this.#items[slot];
      if (item !== null && item !== undefined) this.#fire(item);
    }
  }
}

function copied<A extends Float64Array | Int32Array>(target: A, source: A): A {
  target.set(source);
  return target;
}
