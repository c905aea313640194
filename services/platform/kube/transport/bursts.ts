/**
 * Reads a response in bursts: pauses the socket after each while the kernel gathers more. It changes neither bytes nor
 * order. A watch of leases brings each event in a TLS record of its own, and waking for each costs twice the CPU of
 * reading ten at once.
 */
import type { IncomingMessage } from "node:http";

/**
 * Socket options that make pausing effective: a paused socket reads on until it holds `highWaterMark` bytes, so with 1
 * it stops at the next chunk.
 */
export const RESTING_SOCKET = { highWaterMark: 1 } as const;

/** A burst of at least this size is a backlog with more behind it, and is read without a pause. */
const BACKLOG_BYTES = 64 * 1024;
/**
 * How much is gathered in a pause: half of what a Linux socket takes in at first. A server that cannot send on ends
 * the watch.
 */
const GATHERED_BYTES = 32 * 1024;
/** The pause under any load, in milliseconds. Shorter ones save nothing. */
const PAUSE_LEAST_MS = 20;

/** The pause after a burst of so many bytes, which arrived in `spanMs`: as long as it gathers no more than it may. */
export function pauseAfterMs(bytes: number, spanMs: number, gatherMs: number): number {
  return Math.min(gatherMs, Math.max(PAUSE_LEAST_MS, (GATHERED_BYTES / bytes) * spanMs));
}

/** A response that is read in bursts. */
export interface BurstReading {
  /** How long the chunk that arrives now may have waited in the kernel, in milliseconds. */
  waitedMs(): number;
  /** Reads on, and pauses no more for so long. */
  readAtOnce(forMs: number): void;
}

/**
 * Pauses for at most `gatherMs` after each burst that is no backlog; the end of the response may come that much later.
 */
export function readInBursts(answer: IncomingMessage, gatherMs: number): BurstReading {
  const { socket } = answer;
  let bytes = 0;
  let readMs = performance.now();
  let pausedMs = 0;
  let hurriedUntilMs = Number.NEGATIVE_INFINITY;
  let resting: NodeJS.Timeout | undefined;
  const rest = (): void => {
    const nowMs = performance.now();
    const isBacklog = bytes >= BACKLOG_BYTES;
    // After the response the socket belongs to another request.
    const isResting = !(isBacklog || answer.complete || answer.destroyed || nowMs < hurriedUntilMs);
    pausedMs = isResting ? pauseAfterMs(bytes, nowMs - readMs, gatherMs) : 0;
    bytes = 0;
    readMs = nowMs;
    if (!isResting) return;
    socket.pause();
    resting = setTimeout(() => {
      resting = undefined;
      socket.resume();
    }, pausedMs);
  };
  answer.on("data", (chunk: Uint8Array) => {
    // Chunks read together arrive in one turn of the event loop; only after it does Node resume the socket by itself.
    if (bytes === 0) setImmediate(rest);
    bytes += chunk.length;
  });
  answer.once("close", () => clearTimeout(resting));
  return {
    waitedMs: () => Math.min(pausedMs, performance.now() - readMs),
    readAtOnce: (forMs) => {
      hurriedUntilMs = performance.now() + forMs;
      if (resting === undefined || answer.complete || answer.destroyed) return;
      clearTimeout(resting);
      resting = undefined;
      socket.resume();
    },
  };
}
