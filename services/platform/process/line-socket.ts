/** Answers single lines of text over a Unix socket that only its owner can reach. */
import { once } from "node:events";
import { chmod, lstat, unlink } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";

/** A socket that answers lines. */
export interface LineSocket {
  close(): Promise<void>;
}

const ANSWER_MS_MAX = 10_000;
const LINE_LENGTH_MAX = 1_048_576;

/**
 * Answers each line received on the socket at `path`, in place of a socket left by a process that is gone. Rejects when
 * another process answers there or the path names something other than a socket.
 */
export async function answerLines(path: string, answer: (line: string) => string): Promise<LineSocket> {
  if (await isAnswered(path)) throw new Error(`${path}: another process answers there`);
  await removeSocket(path);
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    eachLine(socket, (line) => socket.write(`${answer(line)}\n`));
  });
  await once(server.listen(path), "listening");
  await chmod(path, 0o600);
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function removeSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isSocket()) throw new Error(`${path}: is not a socket, name another path`);
  await unlink(path);
}

/** Sends one line and resolves with the answer. Rejects with an Error that names the path. */
export function requestLine(path: string, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path, () => socket.write(`${line}\n`));
    socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error(`${path}: no answer`)));
    socket.once("error", reject);
    socket.once("close", () => reject(new Error(`${path}: closed without an answer`)));
    eachLine(socket, (answered) => {
      resolve(answered);
      socket.destroy();
    });
  });
}

/** Calls `take` for each line. A line longer than LINE_LENGTH_MAX ends the connection. */
function eachLine(socket: Socket, take: (line: string) => void): void {
  let rest = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
    if (rest.length > LINE_LENGTH_MAX) socket.destroy();
  });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
