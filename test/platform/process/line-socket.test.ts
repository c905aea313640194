/** Lines answered over a Unix socket. */
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { answerLines, requestLine } from "../../../services/platform/process/line-socket.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "line-socket-"));
  path = join(folder, "s.sock");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("each line is answered, even a long one", async () => {
  const socket = await answerLines(path, (line) => `received ${line.length}`);
  const answers = await Promise.all(["", "abc", "x".repeat(200_000)].map((line) => requestLine(path, line)));
  expect(answers).toEqual(["received 0", "received 3", "received 200000"]);
  await socket.close();
});

test("only the owner can reach the socket", async () => {
  const socket = await answerLines(path, (line) => line);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await socket.close();
});

test("a second process is refused while the first one answers", async () => {
  const socket = await answerLines(path, (line) => line);
  await expect(answerLines(path, (line) => line)).rejects.toThrow(`${path}: another process answers there`);
  await socket.close();
});

test("a file that is not a socket is left alone, even behind a link", async () => {
  const file = join(folder, "notes");
  writeFileSync(file, "kept");
  symlinkSync(file, path);
  for (const taken of [file, path]) {
    await expect(answerLines(taken, (line) => line)).rejects.toThrow(`${taken}: is not a socket, name another path`);
  }
  expect(readFileSync(path, "utf8")).toBe("kept");
});

test("a socket that a killed process left behind is replaced", async () => {
  const left = createServer();
  await new Promise<void>((resolve) => left.listen(join(folder, "left"), resolve));
  renameSync(join(folder, "left"), path);
  await new Promise((resolve) => left.close(resolve));
  const socket = await answerLines(path, (line) => line);
  expect(await requestLine(path, "x")).toBe("x");
  await socket.close();
});

test("a missing process is reported in one line", async () => {
  await expect(requestLine(path, "x")).rejects.toThrow(`ENOENT ${path}`);
});

test("a client that disconnects does not disturb the next one", async () => {
  const socket = await answerLines(path, (line) => line);
  await new Promise<void>((resolve) => {
    const client = createConnection(path, () => client.write("half a li", () => client.destroy()));
    client.once("close", () => resolve());
  });
  expect(await requestLine(path, "whole")).toBe("whole");
  await socket.close();
});
