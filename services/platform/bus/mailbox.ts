/** The messages that wait for an actor: first in, first out, and bounded. It does not read them. */

interface MailboxEntry<T> {
  /** Null once it was taken or dropped. */
  content: T | null;
}

/** How many letters that are gone may lie before the waiting ones. */
const TAKEN_ENTRIES_MAX = 1024;

/**
 * A bounded queue. When it is full the oldest expendable letter is dropped; when none of those waits, the new one is.
 */
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

  /** Puts a letter in. False when one had to be dropped for want of room, this one or another. */
  put(content: T, expendable: boolean): boolean {
    const full = this.#size >= this.#entriesMax;
    if (full && !this.#dropOldestExpendable()) return false;
    const entry: MailboxEntry<T> = { content };
    this.#entries.push(entry);
    if (expendable) this.#expendable.push(entry);
    this.#size++;
    return !full;
  }

  /** Takes the oldest letter; null when there is none. */
  take(): T | null {
    for (let entry = this.#entries[this.#start]; entry !== undefined; entry = this.#entries[this.#start]) {
      this.#start++;
      if (entry.content === null) continue;
      const { content } = entry;
      entry.content = null;
      this.#size--;
      this.#forgetTaken();
      return content;
    }
    this.clear();
    return null;
  }

  clear(): void {
    this.#entries = [];
    this.#start = 0;
    this.#expendable = [];
    this.#expendableStart = 0;
    this.#size = 0;
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

  /** Cuts off what is gone once it is the larger part, so that no letter is moved more than a few times. */
  #forgetTaken(): void {
    if (this.#start < TAKEN_ENTRIES_MAX || this.#start * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#start);
    this.#start = 0;
    this.#expendable = this.#expendable.slice(this.#expendableStart).filter((letter) => letter.content !== null);
    this.#expendableStart = 0;
  }
}
