/** Shows that subjects are correct: tokens are injective and NATS-valid, patterns match what they cover. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MESSAGES } from "../../protocols/messages.ts";
import { fnv1a, matches, patternOf, SHARD_COUNT, shardOf, subjectOf, token } from "../../protocols/subjects.ts";

const anyText = fc.string({ unit: "binary" });
const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
const type = fc.constantFrom(...Object.keys(MESSAGES));
const shard = fc.integer({ min: 0, max: SHARD_COUNT - 1 });

describe("token", () => {
  test("gives one NATS token for any text, lone surrogates too", () => {
    fc.assert(fc.property(anyUnits, (text) => /^[A-Za-z0-9=_-]+$/.test(token(text))));
  });

  test("gives different texts different tokens", () => {
    fc.assert(fc.property(anyUnits, anyUnits, (left, right) => (left === right) === (token(left) === token(right))));
  });

  test.each([
    ["", "_"],
    ["_", "=005f"],
    ["=005f", "=003d005f"],
    ["node-1", "node-1"],
    ["ip-10-0-3-17.ec2.internal", "ip-10-0-3-17=002eec2=002einternal"],
    ["eu:\u0000:a", "eu=003a=0000=003aa"],
    ["ü", "=00fc"],
    ["*", "=002a"],
    [">", "=003e"],
  ])("writes %j as %s", (text, expected) => expect(token(text)).toBe(expected));
});

describe("subjectOf", () => {
  test("has no empty token and no wildcard", () => {
    fc.assert(
      fc.property(anyText, type, shard, fc.array(anyText, { maxLength: 3 }), (cluster, kind, number, key) => {
        const tokens = subjectOf(cluster, kind, number, key).split(".");
        return tokens.every((part) => part !== "" && !/[*>\s]/.test(part)) && tokens.length === 6 + key.length;
      }),
    );
  });

  test("gives different keys different subjects", () => {
    const key = fc.array(anyText, { minLength: 2, maxLength: 2 });
    fc.assert(
      fc.property(key, key, (left, right) => {
        const same = subjectOf("c", "observed.node", 1, left) === subjectOf("c", "observed.node", 1, right);
        return same === (left.join("\n") === right.join("\n") && left[0] === right[0]);
      }),
    );
  });
});

describe("patternOf", () => {
  test("covers its type, shard and key length, and nothing else", () => {
    fc.assert(
      fc.property(type, type, shard, shard, anyText, (wanted, sent, wantedShard, sentShard, name) => {
        const subject = subjectOf("c", sent, sentShard, [name]);
        expect(matches(patternOf("c", wanted, wantedShard, 1), subject)).toBe(
          wanted === sent && wantedShard === sentShard,
        );
        expect(matches(patternOf("c", wanted, "all", 1), subject)).toBe(wanted === sent);
        expect(matches(patternOf("other", wanted, "all", 1), subject)).toBe(false);
        expect(matches(patternOf("c", wanted, "all", 2), subject)).toBe(false);
      }),
    );
  });
});

describe("matches", () => {
  test.each([
    ["a.b", "a.b", true],
    ["a.b", "a.b.c", false],
    ["a.b.c", "a.b", false],
    ["a.*", "a.b", true],
    ["a.*", "a", false],
    ["*.b", "a.b", true],
    ["a.>", "a.b.c", true],
    ["a.>", "a", false],
    [">", "a", true],
    ["a.*.c", "a.b.d", false],
  ])("%s over %s is %s, as in NATS", (pattern, subject, expected) => {
    expect(matches(pattern, subject)).toBe(expected);
  });
});

describe("fnv1a", () => {
  test.each([
    ["", 0x811c9dc5],
    ["a", 0xe40c292c],
    ["foobar", 0xbf9cf968],
    ["chongo was here!\n", 0xd49930d5],
  ])("of %j is the published value", (text, expected) => expect(fnv1a(text)).toBe(expected));

  test("reads a text as its UTF-8 bytes", () => {
    const bytewise = (text: string) =>
      new TextEncoder().encode(text).reduce((hash, byte) => Math.imul(hash ^ byte, 16777619) >>> 0, 2166136261);
    fc.assert(fc.property(anyText, (text) => fnv1a(text) === bytewise(text)));
  });
});

describe("shardOf", () => {
  test("is a shard for any text", () => {
    fc.assert(fc.property(anyText, (text) => shardOf(text) >= 0 && shardOf(text) < SHARD_COUNT));
  });

  test("spreads 10 000 ordinary names, no shard over twice the mean", () => {
    const sizes = Array.from({ length: SHARD_COUNT }, () => 0);
    for (let index = 0; index < 10_000; index++) {
      const at = shardOf(`node-${index}`);
      sizes[at] = (sizes[at] ?? 0) + 1;
    }
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThan((2 * 10_000) / SHARD_COUNT);
  });
});
