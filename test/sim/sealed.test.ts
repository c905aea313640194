/** The seal around a simulated run: the real world behind it is out of reach, and within reach afterwards. */
import { randomBytes, randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { setTimeout as later } from "node:timers";
import { describe, expect, it } from "vitest";
import { sealed } from "./sealed.ts";

const TOUCHES: Readonly<Record<string, () => unknown>> = {
  "the present by Date.now": () => Date.now(),
  "the present by new Date()": () => new Date(),
  "the present by Date()": () => Date(),
  "the time since the start": () => performance.now(),
  "a fine clock": () => process.hrtime(),
  "a timer": () => setTimeout(() => {}, 0),
  "a timer that was imported": () => later(() => {}, 0),
  "the next turn of the event loop": () => setImmediate(() => {}),
  "the end of this one": () => process.nextTick(() => {}),
  "a microtask": () => queueMicrotask(() => {}),
  "a promise": () => Promise.resolve(),
  "a function that waits": () => (async () => {})(),
  chance: () => Math.random(),
  "an identity": () => crypto.randomUUID(),
  "an identity that was imported": () => randomUUID(),
  "random bytes": () => randomBytes(1),
  "random values": () => crypto.getRandomValues(new Uint8Array(1)),
  "a socket": () => new Socket().connect(1),
};

describe("a sealed run", () => {
  it.each(Object.entries(TOUCHES))("fails when it touches %s", (_, touch) => {
    expect(() => sealed(touch)).toThrow("of the real world was touched in a simulated run");
  });

  it("may use given instants", () => {
    const instants = sealed(() => [new Date(0).toISOString(), Date.UTC(1970, 0, 2), new Date(0) instanceof Date]);
    expect(instants).toEqual(["1970-01-01T00:00:00.000Z", 86_400_000, true]);
  });

  it("gives the real world back in any case", () => {
    expect(() => sealed(() => Math.random())).toThrow("random");
    expect(randomUUID()).not.toBe(randomUUID());
    expect(Date.now()).toBeGreaterThan(Date.UTC(2020));
  });
});
