/** The scan of list responses, compared with parsing them whole. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ListScanner } from "../../../services/platform/kube/watch/list-scan.ts";

function scan(bytes: Uint8Array, chunkBytes: readonly number[]): { items: unknown[]; rest: unknown } {
  const items: unknown[] = [];
  const scanner = new ListScanner((json) => items.push(JSON.parse(json)));
  let from = 0;
  for (const length of chunkBytes) {
    scanner.push(bytes.subarray(from, from + length));
    from += length;
  }
  scanner.push(bytes.subarray(from));
  return { items, rest: JSON.parse(scanner.rest()) };
}

const item = fc.dictionary(fc.string(), fc.jsonValue());
const list = fc.record({
  kind: fc.constant("PodList"),
  metadata: fc.record({ resourceVersion: fc.string(), continue: fc.string(), odd: fc.array(fc.jsonValue()) }),
  items: fc.array(item),
});

describe("the list scan", () => {
  test("gives the items and the rest of any list, in any chunks and layout", () => {
    fc.assert(
      fc.property(list, fc.array(fc.nat(40)), fc.boolean(), fc.nat(2), (value, cuts, itemsFirst, indent) => {
        const { items, ...head } = value;
        const json = JSON.stringify(itemsFirst ? { items, ...head } : { ...head, items }, null, indent);
        const scanned = scan(new TextEncoder().encode(json), cuts);
        expect(scanned.items).toEqual(JSON.parse(JSON.stringify(items)));
        expect(scanned.rest).toEqual(JSON.parse(JSON.stringify({ ...head, items: [] })));
      }),
    );
  });

  test("a byte at a time gives the same as all at once", () => {
    const text = JSON.stringify({
      kind: "NodeList",
      metadata: { resourceVersion: "7" },
      items: [{ a: '"}]\\' }, { b: [{}] }],
    });
    const bytes = new TextEncoder().encode(text);
    expect(
      scan(
        bytes,
        Array.from(bytes, () => 1),
      ),
    ).toEqual(scan(bytes, []));
  });

  test("a list whose items are null or missing has none", () => {
    for (const json of ['{"metadata":{"resourceVersion":"1"},"items":null}', '{"metadata":{"resourceVersion":"1"}}']) {
      const { items, rest } = scan(new TextEncoder().encode(json), []);
      expect(items).toEqual([]);
      expect(rest).toMatchObject({ metadata: { resourceVersion: "1" } });
    }
  });

  test("an array beside the items is not mistaken for them", () => {
    const json = '{"columns":[{"name":"Name"}],"metadata":{"items":[{"x":1}]},"items":[{"y":2}]}';
    expect(scan(new TextEncoder().encode(json), []).items).toEqual([{ y: 2 }]);
  });
});
