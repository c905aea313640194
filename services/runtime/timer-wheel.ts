/** A hashed timer wheel: very many deadlines behind one timer of the clock. It does not know what a deadline means. */
import type { Clock, Timer } from "../../protocols/ports.ts";

/** How many ticks one turn of the wheel has. */
const SLOT_COUNT = 1024;

interface Entry<K> {
  readonly key: K;
  /** When it shall fire. */
  dueMs: number;
  /** Under which instant it is filed: at or before `dueMs`. */
  filedMs: number;
  previous: Entry<K> | null;
  next: Entry<K> | null;
}

/** What a wheel is made of: ticks only sort deadlines into slots, each fires at its own instant. */
export interface TimerWheelOptions<K> {
  readonly clock: Clock;
  readonly tickMs: number;
  /** `dueMs` is when it was due: how late the call comes is how late the event loop runs. */
  readonly fire: (key: K, dueMs: number) => void;
}

/**
 * Deadlines by key. Moving one later, as every heartbeat does, only overwrites its due time: the entry is filed anew
 * when its old instant comes. Entries of the present tick lie sorted in `near`, all later ones in the slot of their
 * tick. Deadlines due at the same instant fire in the order they were filed; one in the past fires as soon as the clock
 * can.
 */
export class TimerWheel<K> {
  readonly #clock: Clock;
  readonly #tickMs: number;
  readonly #fire: (key: K, dueMs: number) => void;
  readonly #entries = new Map<K, Entry<K>>();
  readonly #slots: (Entry<K> | null)[] = Array.from({ length: SLOT_COUNT }, () => null);
  /** Entries filed up to the open tick, earliest first from `#nearStart` on; some of them cancelled since. */
  #near: Entry<K>[] = [];
  #nearStart = 0;
  #openTick: number;
  #timer: Timer | null = null;
  #wakeMs = Number.POSITIVE_INFINITY;
  #firing = false;

  constructor({ clock, tickMs, fire }: TimerWheelOptions<K>) {
    this.#clock = clock;
    this.#tickMs = tickMs;
    this.#fire = fire;
    this.#openTick = this.#tickOf(clock.monotonicMs());
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The deadline of a key on the monotonic clock; undefined when it has none. */
  dueAt(key: K): number | undefined {
    return this.#entries.get(key)?.dueMs;
  }

  /** Sets or moves the deadline of a key. */
  schedule(key: K, dueMonotonicMs: number): void {
    if (!Number.isFinite(dueMonotonicMs)) throw new RangeError(`a deadline must be finite, not ${dueMonotonicMs}`);
    const held = this.#entries.get(key);
    if (held !== undefined && dueMonotonicMs >= held.filedMs) {
      held.dueMs = dueMonotonicMs;
      return;
    }
    if (held !== undefined) this.#unlink(held);
    const entry: Entry<K> = { key, dueMs: dueMonotonicMs, filedMs: dueMonotonicMs, previous: null, next: null };
    this.#entries.set(key, entry);
    this.#file(entry);
    this.#arm(this.#isNear(entry) ? dueMonotonicMs : this.#tickStart(this.#tickOf(dueMonotonicMs)));
  }

  /** Takes a deadline away; nothing happens when there is none. */
  cancel(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unlink(entry);
    if (this.#entries.size === 0) this.clear();
  }

  /** Takes every deadline away. */
  clear(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#entries.clear();
    this.#slots.fill(null);
    this.#near = [];
    this.#nearStart = 0;
  }

  #tickOf(instantMs: number): number {
    return Math.floor(instantMs / this.#tickMs);
  }

  #tickStart(tick: number): number {
    return tick * this.#tickMs;
  }

  #isNear(entry: Entry<K>): boolean {
    return this.#tickOf(entry.filedMs) <= this.#openTick;
  }

  #file(entry: Entry<K>): void {
    entry.filedMs = entry.dueMs;
    if (this.#isNear(entry)) this.#insertNear(entry);
    else this.#link(entry);
  }

  #insertNear(entry: Entry<K>): void {
    let low = this.#nearStart;
    let high = this.#near.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#near[middle]?.filedMs ?? 0) <= entry.filedMs) low = middle + 1;
      else high = middle;
    }
    this.#near.splice(low, 0, entry);
  }

  #link(entry: Entry<K>): void {
    const slot = this.#tickOf(entry.filedMs) % SLOT_COUNT;
    const head = this.#slots[slot] ?? null;
    entry.next = head;
    if (head !== null) head.previous = entry;
    this.#slots[slot] = entry;
  }

  /** Takes an entry out of its slot. In `near` it stays and is passed over, because the map no longer holds it. */
  #unlink(entry: Entry<K>): void {
    if (this.#isNear(entry)) return;
    if (entry.previous === null) this.#slots[this.#tickOf(entry.filedMs) % SLOT_COUNT] = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next !== null) entry.next.previous = entry.previous;
    entry.previous = null;
    entry.next = null;
  }

  #arm(wakeMs: number): void {
    if (this.#firing || wakeMs >= this.#wakeMs) return;
    this.#timer?.cancel();
    this.#wakeMs = wakeMs;
    this.#timer = this.#clock.after(Math.max(0, wakeMs - this.#clock.monotonicMs()), () => this.#wake());
  }

  #wake(): void {
    this.#timer = null;
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#firing = true;
    const nowMs = this.#clock.monotonicMs();
    try {
      this.#openTicks(nowMs);
      this.#fireDue(nowMs);
    } finally {
      this.#firing = false;
      if (this.#entries.size > 0) this.#arm(this.#nextWakeMs());
    }
  }

  /** Moves the entries of every tick that has begun from their slots into `near`. */
  #openTicks(nowMs: number): void {
    const tickNow = this.#tickOf(nowMs);
    const opened: Entry<K>[] = [];
    const from = Math.max(this.#openTick + 1, tickNow - SLOT_COUNT + 1);
    this.#openTick = Math.max(this.#openTick, tickNow);
    for (let tick = from; tick <= tickNow; tick++) this.#openSlot(tick % SLOT_COUNT, opened);
    if (opened.length === 0) return;
    this.#near = [...this.#near.slice(this.#nearStart), ...opened].sort((left, right) => left.filedMs - right.filedMs);
    this.#nearStart = 0;
  }

  #openSlot(slot: number, opened: Entry<K>[]): void {
    let entry = this.#slots[slot] ?? null;
    if (entry === null) return;
    this.#slots[slot] = null;
    const listed: Entry<K>[] = [];
    for (; entry !== null; entry = entry.next) listed.push(entry);
    // The list holds the latest filed first.
    for (const filed of listed.reverse()) {
      filed.previous = null;
      filed.next = null;
      filed.filedMs = filed.dueMs;
      if (this.#isNear(filed)) opened.push(filed);
      else this.#link(filed);
    }
  }

  #fireDue(nowMs: number): void {
    for (let entry = this.#near[this.#nearStart]; entry !== undefined; entry = this.#near[this.#nearStart]) {
      if (entry.filedMs > nowMs) return;
      this.#nearStart++;
      if (this.#entries.get(entry.key) !== entry) continue;
      if (entry.dueMs > entry.filedMs) {
        this.#file(entry);
        continue;
      }
      this.#entries.delete(entry.key);
      this.#fire(entry.key, entry.dueMs);
    }
    this.#near = [];
    this.#nearStart = 0;
  }

  #nextWakeMs(): number {
    const nearest = this.#near[this.#nearStart];
    if (nearest !== undefined) return nearest.filedMs;
    for (let ahead = 1; ahead <= SLOT_COUNT; ahead++) {
      if (this.#slots[(this.#openTick + ahead) % SLOT_COUNT] !== null) return this.#tickStart(this.#openTick + ahead);
    }
    return Number.POSITIVE_INFINITY;
  }
}
