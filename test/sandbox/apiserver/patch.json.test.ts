/** JSON merge patch and JSON patch. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../../services/sandbox/apiserver/api-objects.ts";
import { InapplicablePatch, jsonMerge, jsonPatch } from "../../../services/sandbox/apiserver/patch/json-patch.ts";

describe("a JSON merge patch", () => {
  test("merges objects, replaces lists and removes what is null", () => {
    const before = { a: { b: 1, c: 2 }, list: [1, 2], gone: true };
    expect(jsonMerge(before, { a: { c: 3, d: 4 }, list: [3], gone: null })).toEqual({
      a: { b: 1, c: 3, d: 4 },
      list: [3],
    });
  });

  test("keeps no null of an object that was not there", () => {
    expect(jsonMerge({}, { a: { b: null, c: 1 } })).toEqual({ a: { c: 1 } });
  });

  test("replaces a value that is no object by one", () => {
    expect(jsonMerge({ a: 1 }, { a: { b: 2 } })).toEqual({ a: { b: 2 } });
  });
});

describe("a JSON patch", () => {
  const before = { metadata: { labels: { "a/b": "1", "c~d": "2" } }, list: ["x", "y"] };

  test.each<[string, Json[], Json]>([
    ["adds to an object", [{ op: "add", path: "/new", value: 1 }], { ...before, new: 1 }],
    ["adds to a list's end", [{ op: "add", path: "/list/-", value: "z" }], { ...before, list: ["x", "y", "z"] }],
    ["adds within a list", [{ op: "add", path: "/list/1", value: "z" }], { ...before, list: ["x", "z", "y"] }],
    ["replaces", [{ op: "replace", path: "/list/0", value: "z" }], { ...before, list: ["z", "y"] }],
    ["removes", [{ op: "remove", path: "/list/0" }], { ...before, list: ["y"] }],
    ["moves", [{ op: "move", from: "/list/0", path: "/list/1" }], { ...before, list: ["y", "x"] }],
    ["copies", [{ op: "copy", from: "/list/0", path: "/first" }], { ...before, first: "x" }],
    [
      "reads escaped names",
      [
        { op: "test", path: "/metadata/labels/a~1b", value: "1" },
        { op: "remove", path: "/metadata/labels/c~0d" },
      ],
      { ...before, metadata: { labels: { "a/b": "1" } } },
    ],
  ])("%s", (_name, operations, after) => {
    expect(jsonPatch(before, operations)).toEqual(after);
  });

  test.each<[string, Json[]]>([
    ["a test that fails", [{ op: "test", path: "/list/0", value: "y" }]],
    ["something to remove that is not there", [{ op: "remove", path: "/nothing" }]],
    ["a way through what is not there", [{ op: "add", path: "/no/where", value: 1 }]],
    ["a place behind a list's end", [{ op: "add", path: "/list/9", value: 1 }]],
    ["a place in a list that is no number", [{ op: "replace", path: "/list/x", value: 1 }]],
    ["an unknown operation", [{ op: "frob", path: "/list" }]],
    ["an operation without a path", [{ op: "add", value: 1 }]],
    ["a document that is no object", [{ op: "replace", path: "", value: 1 }]],
  ])("refuses %s and changes nothing", (_name, operations) => {
    const text = JSON.stringify(before);
    expect(() => jsonPatch(before, operations)).toThrow(InapplicablePatch);
    expect(JSON.stringify(before)).toBe(text);
  });
});
