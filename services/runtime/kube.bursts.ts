/**
 * Reads an answer in bursts: after what has come, its socket rests, and the kernel gathers what comes meanwhile. It
 * changes no byte and no order. A watch of leases brings each event in a TLS record of its own; to be woken for each
 * costs twice the CPU of taking ten at once.
 */
import type { IncomingMessage } from "node:http";

/**
 * What sockets must be made with to rest in truth, in bytes: a paused socket goes on reading until so much lies in it,
 * that is, until the next part has come.
 */
export const RESTING_SOCKET = { highWaterMark: 1 } as const;

/** A burst of so much is a backlog, behind which more waits: it is read without rest. */
const BACKLOG_BYTES = 64 * 1024;

/** From now on rests for `gatherMs` after each burst that is no backlog; the answer's end comes as late at most. */
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
