/**
 * Writes log lines to a file descriptor. A line that cannot be written, because the disk is full or no reader is left,
 * is counted and dropped; the process continues.
 */

/** How a sink writes and waits. */
export interface LogSinkOptions {
  /** Writes bytes at once and returns how many it took. Throws the file system's Error. */
  readonly write: (bytes: Uint8Array) => number;
  /** Blocks for `ms` milliseconds, because the reader of a pipe is behind. */
  readonly pause: (ms: number) => void;
  readonly dropped: () => void;
}

/** How long one line waits for a slow reader: longer, and the log would delay the work it reports. */
const PATIENCE_MS = 100;
const PAUSE_MS = 5;

/** Writes each line whole if possible. */
export class LogSink {
  readonly #options: LogSinkOptions;
  readonly #encoder = new TextEncoder();
  /** Whether the last line written is incomplete. */
  #isTorn = false;
  /** Lines dropped since the last written one. */
  #lost = 0;

  constructor(options: LogSinkOptions) {
    this.#options = options;
  }

  /** Writes a line. Returns how many lines were dropped just before it, or null when it was dropped itself. */
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

  /** Returns how many bytes were written before an error or the end of the patience. */
  #writeAll(bytes: Uint8Array): number {
    let offset = 0;
    // While lines are being dropped, no further line waits for the reader.
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

/** Whether a pipe is full at the moment. */
function isReaderBehind(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
