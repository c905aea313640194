/**
 * A client that only writes: the least that a controller's writes cost on this machine. It sends the most urgent one
 * first and so many at once; what a controller is later than it, the controller is to blame for, and the rest is the
 * API server's.
 */

/** As many as Vigil has in flight at first. */
const AT_ONCE = 16;

/** One write; it may lead to others. */
export type BareWrite = () => Promise<unknown>;

/** Writes by urgency: 0 is sent first. */
export class BareClient {
  readonly #waiting: BareWrite[][] = [];
  #underWay = 0;
  #sent = 0;

  /** How many writes have been sent. */
  get sent(): number {
    return this.#sent;
  }

  /** Sends a write as soon as there is room; what becomes of it is for the caller to watch. */
  write(urgency: number, send: BareWrite): void {
    this.#waiting[urgency] ??= [];
    this.#waiting[urgency].push(send);
    this.#drain();
  }

  #drain(): void {
    while (this.#underWay < AT_ONCE) {
      const send = this.#waiting.find((line) => line !== undefined && line.length > 0)?.shift();
      if (send === undefined) return;
      this.#underWay++;
      this.#sent++;
      const ended = (): void => {
        this.#underWay--;
        this.#drain();
      };
      send().then(ended, ended);
    }
  }
}
