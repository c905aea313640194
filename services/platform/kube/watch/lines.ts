/** Cuts a stream of bytes into lines. It does not read them. */

const NEWLINE = 0x0a;

/**
 * Collects chunks and gives each whole line, without its newline; a line that is still open is kept for the next chunk.
 */
export class LineSplitter {
  #open: Uint8Array[] = [];

  /** Takes one chunk; `line` gets a view that is only valid during the call. */
  push(chunk: Uint8Array, line: (bytes: Uint8Array) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      if (this.#open.length === 0) {
        line(piece);
      } else {
        const whole = Buffer.concat([...this.#open, piece]);
        this.#open = [];
        line(whole);
      }
    }
    if (start < chunk.length) this.#open.push(chunk.subarray(start));
  }
}
