/** Shows that decode accepts well-formed messages and names the fault of every other payload in one line. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MESSAGE_BYTES_MAX } from "../../protocols/frame.ts";
import { HEARTBEATS_PER_MESSAGE_MAX } from "../../protocols/observed.ts";
import { decode, encode, MalformedMessage } from "../../protocols/wire.ts";

const FRAME = {
  v: 1,
  type: "observed.gone",
  id: "observer@a:1:observed.gone.5:1",
  source: "observer@a",
  at: 1_795_437_315_250,
  cause: null,
  body: { node: "n1", uid: "u1" },
};
const utf8 = new TextEncoder();
const bytesOf = (value: unknown) => utf8.encode(JSON.stringify(value));
const problemOf = (bytes: Uint8Array) => {
  const message = decode(bytes);
  return message instanceof MalformedMessage ? message.problem : null;
};

describe("decode names the field of", () => {
  test.each([
    ["an empty payload", utf8.encode(""), "not JSON in UTF-8"],
    ["a payload that is not JSON", utf8.encode("{"), "not JSON in UTF-8"],
    ["a payload that is not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "not JSON in UTF-8"],
    ["a list", bytesOf([]), "frame: "],
    ["another wire version", bytesOf({ ...FRAME, v: 2 }), "frame.v: "],
    ["a missing id", bytesOf({ ...FRAME, id: undefined }), "frame.id: "],
    ["an instant that is text", bytesOf({ ...FRAME, at: "now" }), "frame.at: "],
    ["a missing cause", bytesOf({ ...FRAME, cause: undefined }), "frame.cause: "],
    ["a source without end", bytesOf({ ...FRAME, source: "s".repeat(300) }), "frame.source: "],
    ["an unknown type", bytesOf({ ...FRAME, type: "asked.coffee" }), 'type: "asked.coffee" is not a message'],
    ["a type of every object", bytesOf({ ...FRAME, type: "constructor" }), 'type: "constructor" is not a message'],
    ["a missing body", bytesOf({ ...FRAME, body: undefined }), "frame.body: "],
    ["a body without its uid", bytesOf({ ...FRAME, body: { node: "n1" } }), "observed.gone.uid: "],
    ["a node name that is a number", bytesOf({ ...FRAME, body: { node: 7, uid: "u" } }), "observed.gone.node: "],
    [
      "a heartbeat deep inside",
      bytesOf({ ...FRAME, type: "observed.lease", body: { shard: 1, heartbeats: [{ node: "n", kind: "wave" }] } }),
      "observed.lease.heartbeats.0.kind: ",
    ],
    ["a payload over the limit", new Uint8Array(MESSAGE_BYTES_MAX + 1), `${MESSAGE_BYTES_MAX + 1} bytes, at most`],
  ])("%s", (_what, bytes, expected) => {
    const problem = problemOf(bytes);
    expect(problem?.startsWith(expected), `${problem}`).toBe(true);
    expect(problem).not.toContain("\n");
  });
});

describe("decode", () => {
  test("never throws, whatever the bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => problemOf(bytes) !== null));
  });

  test("never throws, whatever the JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        const problem = problemOf(bytesOf({ ...FRAME, body }));
        return problem === null || !problem.includes("\n");
      }),
    );
  });

  test("does not let a body smuggle in a prototype", () => {
    const text = JSON.stringify(FRAME).replace('"uid":"u1"', '"uid":"u1","__proto__":{"admin":true}');
    const message = decode(utf8.encode(text));
    expect(message).toEqual({ ...FRAME, v: undefined });
    expect(Object.getPrototypeOf((message as { body: object }).body)).toBe(Object.prototype);
  });
});

describe("encode", () => {
  const message = { type: "observed.pods", id: "i", source: "s", at: 1, cause: null } as const;

  test("refuses a message over the limit, because its sender must split it", () => {
    const body = { node: "n".repeat(MESSAGE_BYTES_MAX), version: "1", chunk: 0, chunks: 1, pods: [] };
    expect(() => encode({ ...message, body })).toThrow(/observed\.pods i has \d+ bytes, at most 65536 are allowed/);
  });

  test("fits a full batch of heartbeats of the longest node names", () => {
    const instants = { renewedAt: 1e12 + 1 / 3, seenAt: 1e12 + 1 / 3 };
    const heartbeat = { node: "n".repeat(253), kind: "status", ...instants, resourceVersion: "9".repeat(20) } as const;
    const heartbeats = Array.from({ length: HEARTBEATS_PER_MESSAGE_MAX }, () => heartbeat);
    const bytes = encode({ ...message, type: "observed.lease", body: { shard: 63, heartbeats } });
    expect(bytes.length).toBeLessThanOrEqual(MESSAGE_BYTES_MAX);
  });
});
