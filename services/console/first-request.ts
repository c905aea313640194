/**
 * The entrance of a console: a client may send at most one request first. Many requests at once would cost the time to
 * parse them, and Node parses 64 KiB of them before it does anything else:
 *
 *   connection ──▶ first bytes: one request ──▶ the HTTP server
 *             └──▶ more than one ──▶ nothing is parsed; the connection is held for a second and ends
 *
 * Later requests are handled by readers.ts, which reads no socket while it answers one.
 */
import type { Socket } from "node:net";

/**
 * How long a connection may send nothing before its first request, and how long its TLS handshake may last, in
 * milliseconds.
 */
export const SILENT_MS = 10_000;
/** What the first line of every request ends with. */
const VERSION = " HTTP/1.";

/** What becomes of a connection. */
export interface Door {
  /** How long a connection may send nothing, in milliseconds. */
  readonly silentMs: number;
  readonly admit: (socket: Socket) => void;
  /** Called instead for a client that did not wait for its first answer; the socket is paused. */
  readonly refuse: (socket: Socket) => void;
}

/** Looks at the first bytes of a connection; the server that admits it reads them again. */
export function atTheDoor(socket: Socket, { silentMs, admit, refuse }: Door): void {
  socket.setTimeout(silentMs, () => socket.destroy());
  const failed = (): void => {
    socket.destroy();
  };
  socket.on("error", failed);
  socket.once("data", (first) => {
    socket.pause();
    if (isMoreThanOne(first)) {
      refuse(socket);
      return;
    }
    socket.setTimeout(0);
    socket.removeAllListeners("timeout");
    socket.off("error", failed);
    socket.unshift(first);
    admit(socket);
    socket.resume();
  });
}

function isMoreThanOne(bytes: Buffer): boolean {
  return bytes.indexOf(VERSION, bytes.indexOf(VERSION) + 1) > 0;
}
