/** Answers on a connection that carries many, however they are cut into chunks. */
import { describe, expect, test } from "vitest";
import { AnswerStream } from "../../../services/platform/kube/transport/answer-stream.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nzäh!";
const GONE = "HTTP/1.1 404 Not Found\r\nretry-after: 3\r\ncontent-length:0\r\n\r\n";
const CHUNKS = "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n";
const EMPTY = "HTTP/1.1 204 No Content\r\n\r\n";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

const STREAM = Buffer.from(`${OK}${CONTINUE}${GONE}${EMPTY}${CHUNKS}${OK}`);
const ANSWERS = ["200 zäh!", "404 ", "204 ", "201 abc0123456789", "200 zäh!"];

/** The answers to a stream that arrives in chunks of this size. */
function read(bytes: Buffer, size: number): string[] {
  const stream = new AnswerStream();
  const answers: string[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    stream.push(bytes.subarray(at, at + size));
    for (let answer = stream.next(); answer !== null; answer = stream.next()) {
      answers.push(`${answer.status} ${answer.text}`);
    }
  }
  return answers;
}

describe("answers on one connection", () => {
  test.each([1, 2, 7, 50, STREAM.length])("are the same in chunks of %i bytes", (size) => {
    expect(read(STREAM, size)).toEqual(ANSWERS);
  });

  test("keep the pause that a refusal names", () => {
    const stream = new AnswerStream();
    stream.push(Buffer.from(GONE));
    expect(stream.next()?.headers).toEqual({ "retry-after": "3" });
  });

  test("say when the connection ends after them", () => {
    const stream = new AnswerStream();
    stream.push(Buffer.from("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
    expect(stream.closes).toBe(false);
    stream.next();
    expect(stream.closes).toBe(true);
  });

  test.each([
    ["another protocol", "SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1"],
    ["a body without a length", "HTTP/1.1 200 OK\r\n\r\nbody", "without a length"],
    ["a chunk without a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "without a size"],
    ["a head without an end", `HTTP/1.1 200 OK\r\n${"a".repeat(70_000)}`, "without end"],
  ])("end with %s", (_what, text, problem) => {
    const stream = new AnswerStream();
    stream.push(Buffer.from(text));
    expect(() => stream.next()).toThrow(problem);
  });
});
