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

/** Pauses for `gatherMs` after each burst that is no backlog; the end of the response may come that much later. */
export function readInBursts(answer: IncomingMessage, gatherMs: number): void {
  const { socket } = answer;
  let bytes = 0;
  let resting: NodeJS.Timeout | undefined;
  const rest = (): void => {
    const isBacklog = bytes >= BACKLOG_BYTES;
    bytes = 0;
    // After the response the socket belongs to another request.
    if (isBacklog || answer.complete || answer.destroyed) return;
    socket.pause();
    resting = setTimeout(() => socket.resume(), gatherMs);
  };
  answer.on("data", (chunk: Uint8Array) => {
    // Chunks read together arrive in one turn of the event loop; only after it does Node resume the socket by itself.
    if (bytes === 0) setImmediate(rest);
    bytes += chunk.length;
  });
  answer.once("close", () => clearTimeout(resting));
}
