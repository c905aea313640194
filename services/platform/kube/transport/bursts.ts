/**
 * Reads an answer in bursts: after each its socket rests, while the kernel gathers what comes next. It changes no byte
 * and no order. A watch of leases brings each event in a TLS record of its own, and waking for each costs twice the CPU
 * of taking ten at once.
 */
import type { IncomingMessage } from "node:http";

/**
 * How sockets must be made so that they really rest: a paused socket goes on reading until it holds `highWaterMark`
 * bytes, so with 1 it stops at the next part.
 */
export const RESTING_SOCKET = { highWaterMark: 1 } as const;

/** A burst of at least this size is a backlog, with more waiting behind it: it is read without rest. */
const BACKLOG_BYTES = 64 * 1024;

/** From now on rests for `gatherMs` after each burst that is no backlog; the answer's end may come that much later. */
export function readInBursts(answer: IncomingMessage, gatherMs: number): void {
  const { socket } = answer;
  let bytes = 0;
  let resting: NodeJS.Timeout | undefined;
  const rest = (): void => {
    const isBacklog = bytes >= BACKLOG_BYTES;
    bytes = 0;
    // After its answer the socket is another request's.
    if (isBacklog || answer.complete || answer.destroyed) return;
    socket.pause();
    resting = setTimeout(() => socket.resume(), gatherMs);
  };
  answer.on("data", (chunk: Uint8Array) => {
    // What was read at once comes within one turn, and only after it Node lets the socket go on by itself.
    if (bytes === 0) setImmediate(rest);
    bytes += chunk.length;
  });
  answer.once("close", () => clearTimeout(resting));
}
