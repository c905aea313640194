/** Shows that no message field can hold more than the API server could store or a service could compute with. */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX, INSTANT_MIN } from "../../protocols/bounds.ts";
import { decode, MalformedMessage } from "../../protocols/wire.ts";
import { readGolden } from "./golden.ts";
import { leavesOf, withLeaf } from "./leaves.ts";

const utf8 = new TextEncoder();
const isRefused = (frame: unknown) => decode(utf8.encode(JSON.stringify(frame))) instanceof MalformedMessage;
/** Every field of every golden message that holds a value of this kind. */
const fieldsOf = (kind: "number" | "string") =>
  readGolden().flatMap(({ frame }) =>
    leavesOf(frame)
      .filter(({ value }) => typeof value === kind)
      .map(({ path }) => ({ field: `${frame.type} ${path.join(".")}`, frame, path })),
  );
/** Every field that is an instant, a count or a shard. A reader would format or compute with an absurd one. */
const ABSURD = [1e300, -1e300];

describe("decode refuses", () => {
  test.each(fieldsOf("number"))("an absurd number in $field", ({ frame, path }) => {
    for (const absurd of ABSURD) expect(isRefused(withLeaf(frame, path, absurd)), String(absurd)).toBe(true);
  });

  test.each(fieldsOf("string"))("an endless text in $field", ({ frame, path }) => {
    expect(isRefused(withLeaf(frame, path, "x".repeat(40_000)))).toBe(true);
  });

  test.each([-1, 64, 1.5])("shard %d", (shard) => {
    const [golden] = readGolden().filter(({ frame }) => frame.type === "asked.resync");
    expect(isRefused(withLeaf(golden?.frame, ["body", "shard"], shard))).toBe(true);
  });

  test("a map of more labels than a node can have", () => {
    const [golden] = readGolden().filter(({ frame }) => frame.type === "observed.node");
    const labels = Object.fromEntries(Array.from({ length: 1025 }, (_, index) => [`l${index}`, ""]));
    expect(isRefused(withLeaf(golden?.frame, ["body", "labels"], labels))).toBe(true);
  });
});

test.each([INSTANT_MIN, 0, INSTANT_MAX])("decode accepts the instant %d", (at) => {
  for (const { frame } of readGolden()) expect(isRefused({ ...frame, at })).toBe(false);
});

test("decode refuses a name that no URL can hold, because a writer would throw", () => {
  const [golden] = readGolden().filter(({ frame }) => frame.type === "asked.label");
  expect(isRefused(withLeaf(golden?.frame, ["body", "node"], "\ud800"))).toBe(true);
});
