/** Keeps the wire format compatible: messages that were sent once decode for ever. */
import { describe, expect, test } from "vitest";
import { isMessageType, MESSAGES, type MessageType } from "../../protocols/messages.ts";
import { decode, encode, MalformedMessage, subjectFor } from "../../protocols/wire.ts";
import { readGolden } from "./golden.ts";

const GOLDEN = readGolden();
const utf8 = new TextEncoder();
const opened = (frame: unknown) => {
  const message = decode(utf8.encode(JSON.stringify(frame)));
  if (message instanceof MalformedMessage) throw new Error(message.problem);
  return message;
};

describe.each(GOLDEN)("golden $file of $frame.type", ({ file, subject, frame }) => {
  test("is in the file of its type", () => expect(file).toBe(`${frame.type}.json`));

  test("decodes without losing a field", () => {
    const { v, ...rest } = frame;
    expect(opened(frame)).toEqual(rest);
    expect(v).toBe(1);
  });

  test("is encoded again to the same frame", () => {
    const bytes = encode(opened(frame));
    expect(JSON.parse(new TextDecoder().decode(bytes))).toEqual(frame);
  });

  test("travels on the same subject", () => {
    const { type, body } = opened(frame);
    expect(subjectFor("prod.eu", type, body)).toBe(subject);
  });

  test("decodes beside fields that a later sender added", () => {
    const later = { ...frame, trace: "t-1", body: { ...Object(frame.body), addedLater: { deep: true } } };
    expect(opened(later).body).toEqual(frame.body);
  });
});

describe("the golden files", () => {
  test("hold at least one message of every type and of no other", () => {
    expect([...new Set(GOLDEN.map(({ frame }) => frame.type))].sort()).toEqual(Object.keys(MESSAGES).sort());
  });

  test.each(Object.keys(MESSAGES).filter(isMessageType))("show every field of %s", (type: MessageType) => {
    const bodies = GOLDEN.filter(({ frame }) => frame.type === type).map(({ frame }) => Object(frame.body));
    const shown = new Set(bodies.flatMap((body) => Object.keys(body)));
    expect([...shown].sort()).toEqual(Object.keys(MESSAGES[type].schema.shape).sort());
  });
});
