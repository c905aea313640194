/** The messages that wait for an actor: first in, first out, and bounded. It does not read them. */

interface Letter<T> {
  /** Null once it was taken or dropped. */
  content: T | null;
}

/** How many letters that are gone may lie before the waiting ones. */
const GONE_LETTERS_MAX = 1024;

/**
 * A bounded queue. When it is full the oldest expendable letter is dropped; when none of those waits, the new one is.
 */
export class Mailbox<T> {
  readonly #lettersMax: number;
  #letters: Letter<T>[] = [];
  #start = 0;
  #expendable: Letter<T>[] = [];
  #expendableStart = 0;
  #size = 0;

  constructor(lettersMax: number) {
    this.#lettersMax = lettersMax;
  }

  get size(): number {
    return this.#size;
  }

  /** Puts a letter in. False when one had to be dropped for want of room, this one or another. */
  put(content: T, expendable: boolean): boolean {
    const full = this.#size >= this.#lettersMax;
    if (full && !this.#dropOldestExpendable()) return false;
    const letter: Letter<T> = { content };
    this.#letters.push(letter);
    if (expendable) this.#expendable.push(letter);
    this.#size++;
    return !full;
  }

  /** Takes the oldest letter; null when there is none. */
  take(): T | null {
    for (let letter = this.#letters[this.#start]; letter !== undefined; letter = this.#letters[this.#start]) {
      this.#start++;
      if (letter.content === null) continue;
      const { content } = letter;
      letter.content = null;
      this.#size--;
      this.#forgetGone();
      return content;
    }
    this.clear();
    return null;
  }

  clear(): void {
    this.#letters = [];
    this.#start = 0;
    this.#expendable = [];
    this.#expendableStart = 0;
    this.#size = 0;
  }

  #dropOldestExpendable(): boolean {
    while (this.#expendableStart < this.#expendable.length) {
      const letter = this.#expendable[this.#expendableStart++];
      if (letter === undefined || letter.content === null) continue;
      letter.content = null;
      this.#size--;
      return true;
    }
    return false;
  }

  /** Cuts off what is gone once it is the larger part, so that no letter is moved more than a few times. */
  #forgetGone(): void {
    if (this.#start < GONE_LETTERS_MAX || this.#start * 2 < this.#letters.length) return;
    this.#letters = this.#letters.slice(this.#start);
    this.#start = 0;
    this.#expendable = this.#expendable.slice(this.#expendableStart).filter((letter) => letter.content !== null);
    this.#expendableStart = 0;
  }
}
