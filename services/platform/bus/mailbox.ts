/** The bounded first-in-first-out queue of messages that wait for an actor. */

interface MailboxEntry<T> {
  /** Null once it was removed or dropped. */
  content: T | null;
}

/** How many removed entries may precede the waiting ones. */
const REMOVED_ENTRIES_MAX = 1024;

/** A bounded queue. A full one drops its oldest expendable entry, or the new one if none is expendable. */
export class Mailbox<T> {
  readonly #entriesMax: number;
  #entries: MailboxEntry<T>[] = [];
  #start = 0;
  #expendable: MailboxEntry<T>[] = [];
  #expendableStart = 0;
  #size = 0;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an entry. False when this one or another was dropped because the mailbox is full. */
  put(content: T, expendable: boolean): boolean {
    const full = this.#size >= this.#entriesMax;
    if (full && !this.#dropOldestExpendable()) return false;
    const entry: MailboxEntry<T> = { content };
    this.#entries.push(entry);
    if (expendable) this.#expendable.push(entry);
    this.#size++;
    return !full;
  }

  /** Removes and returns the oldest entry; null when there is none. */
  take(): T | null {
    for (let entry = this.#entries[this.#start]; entry !== undefined; entry = this.#entries[this.#start]) {
      this.#start++;
      if (entry.content === null) continue;
      const { content } = entry;
      entry.content = null;
      this.#size--;
      this.#forgetRemoved();
      return content;
    }
    this.#entries = [];
    this.#start = 0;
    this.#expendable = [];
    this.#expendableStart = 0;
    return null;
  }

  #dropOldestExpendable(): boolean {
    while (this.#expendableStart < this.#expendable.length) {
      const entry = this.#expendable[this.#expendableStart++];
      if (entry === undefined || entry.content === null) continue;
      entry.content = null;
      this.#size--;
      return true;
    }
    return false;
  }

  /** Cuts off removed entries once they are the larger part, so that no entry is copied more than a few times. */
  #forgetRemoved(): void {
    if (this.#start < REMOVED_ENTRIES_MAX || this.#start * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#start);
    this.#start = 0;
    this.#expendable = this.#expendable.slice(this.#expendableStart).filter((entry) => entry.content !== null);
    this.#expendableStart = 0;
  }
}
