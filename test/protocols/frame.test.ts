/** Shows that a frame's identity can be read back for any source name. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frameId, positionOf } from "../../protocols/frame.ts";

const source = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
const number = fc.maxSafeNat();

describe("positionOf", () => {
  test("reads back what frameId wrote", () => {
    fc.assert(
      fc.property(source, number, number, fc.nat(63), (name, epoch, sequence, shard) => {
        expect(positionOf(frameId(name, epoch, "observed.node", shard, sequence))).toEqual({
          stream: `${name}:observed.node.${shard}`,
          epoch,
          sequence,
        });
      }),
    );
  });

  test("distinguishes streams by source, type and shard", () => {
    const ids = [
      frameId("node@a", 1, "judged.node", 1, 1),
      frameId("node@b", 1, "judged.node", 1, 1),
      frameId("node@a", 1, "asked.taint", 1, 1),
      frameId("node@a", 1, "judged.node", 2, 1),
    ];
    expect(new Set(ids.map((id) => positionOf(id)?.stream)).size).toBe(4);
  });

  test.each([
    "",
    "a",
    "a:b:c",
    ":1:t.1:2",
    "node@a:1:t.1:x",
    "node@a:x:t.1:1",
    "node@a:1:t.1:1.5",
    "node@a:1:t.1:9e99",
  ])("is null for %j", (id) => expect(positionOf(id)).toBeNull());
});
