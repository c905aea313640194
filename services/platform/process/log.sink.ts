/**
 * Where log lines go: to a descriptor, one write each. A line that cannot be written, because the disk is full or
 * nobody reads any more, is counted and dropped, and the process goes on. How bytes are written and waited for is
 * given.
 */

/** What a sink is made of. */
export interface LogSinkOptions {
  /** Writes bytes at once and returns how many it took. Throws the file system's Error. */
  readonly write: (bytes: Uint8Array) => number;
  /** Blocks for so many milliseconds, because the reader of a pipe is behind. */
  readonly pause: (ms: number) => void;
  /** Called for each line that was dropped. */
  readonly dropped: () => void;
}

/** A reader that is behind is waited for this long in all: longer, and the log would hold up what it reports. */
const PATIENCE_MS = 100;
const PAUSE_MS = 5;

/** Writes lines, whole or not at all as far as that can be had. */
export class LogSink {
  readonly #options: LogSinkOptions;
  readonly #encoder = new TextEncoder();
  /** Whether the last line that was begun could not be ended. */
  #isTorn = false;
  /** Lines dropped since the last that was written. */
  #lost = 0;

  constructor(options: LogSinkOptions) {
    this.#options = options;
  }

  /** Writes a line; returns how many were dropped before it since the last one, or null when it was dropped itself. */
  write(line: string): number | null {
    const bytes = this.#encoder.encode(this.#isTorn ? `\n${line}` : line);
    const writtenBytes = this.#writeAll(bytes);
    if (writtenBytes < bytes.length) {
      this.#isTorn ||= writtenBytes > 0;
      this.#lost++;
      this.#options.dropped();
      return null;
    }
    const lost = this.#lost;
    this.#isTorn = false;
    this.#lost = 0;
    return lost;
  }

  /** Returns how many bytes were written before an error, or before patience ended. */
  #writeAll(bytes: Uint8Array): number {
    let offset = 0;
    // While lines are being dropped, a reader that is behind is not waited for with each of them again.
    let leftMs = this.#lost === 0 ? PATIENCE_MS : 0;
    while (offset < bytes.length) {
      try {
        offset += this.#options.write(bytes.subarray(offset));
      } catch (error) {
        if (!isReaderBehind(error) || leftMs <= 0) return offset;
        this.#options.pause(PAUSE_MS);
        leftMs -= PAUSE_MS;
      }
    }
    return offset;
  }
}

/** Whether a pipe is full for the moment. */
function isReaderBehind(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
