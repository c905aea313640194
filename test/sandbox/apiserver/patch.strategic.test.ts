/** Strategic merge patch, on the lists and maps of nodes and pods. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { mergeRulesOf } from "../../../services/sandbox/apiserver/patch/schema.ts";
import { strategicMerge } from "../../../services/sandbox/apiserver/patch/strategic.ts";

const NODE = mergeRulesOf("Node");
const POD = mergeRulesOf("Pod");

const condition = (type: string, status = "True"): JsonObject => ({ type, status });
const withConditions = (...conditions: JsonObject[]): JsonObject => ({ status: { conditions } });
const patched = (conditions: JsonObject[], more: JsonObject = {}): JsonObject => ({ status: { ...more, conditions } });

describe("merged conditions", () => {
  const ready = withConditions(condition("MemoryPressure", "False"), { ...condition("Ready"), message: "fine" });

  test("change in place and keep what the patch does not name", () => {
    expect(strategicMerge(ready, patched([condition("Ready", "Unknown")]), NODE)).toEqual(
      withConditions(condition("MemoryPressure", "False"), { ...condition("Ready", "Unknown"), message: "fine" }),
    );
  });

  test("new ones go before those that only the server has", () => {
    const merged = strategicMerge(withConditions(condition("Own")), patched([condition("A"), condition("B")]), NODE);
    expect(typesIn(merged)).toEqual(["A", "B", "Own"]);
  });

  test("$patch delete removes one", () => {
    const merged = strategicMerge(ready, patched([{ type: "Ready", $patch: "delete" }]), NODE);
    expect(typesIn(merged)).toEqual(["MemoryPressure"]);
  });

  test("$patch replace keeps only what the patch names", () => {
    const merged = strategicMerge(ready, patched([condition("X"), { $patch: "replace" }]), NODE);
    expect(merged).toEqual(withConditions(condition("X")));
  });

  test("are ordered by $setElementOrder, the server's own in place", () => {
    const three = withConditions(condition("A"), condition("Own"), condition("B"));
    const order = { "$setElementOrder/conditions": [{ type: "B" }, { type: "A" }] };
    expect(typesIn(strategicMerge(three, patched([condition("A", "False")], order), NODE))).toEqual(["Own", "B", "A"]);
    expect(typesIn(strategicMerge(three, { status: order }, NODE))).toEqual(["Own", "B", "A"]);
  });

  test("an order that is not the patch's own is refused", () => {
    const order = { "$setElementOrder/conditions": [{ type: "B" }, { type: "A" }] };
    const both = [condition("A"), condition("B")];
    expect(() => strategicMerge(ready, patched(both, order), NODE)).toThrow("doesn't match $setElementOrder");
    expect(() => strategicMerge(ready, patched([condition("C")], order), NODE)).toThrow("$setElementOrder");
  });

  test.each([
    ["merge", "merging lists cannot yet be specified"],
    ["bogus", 'unknown patch type: "bogus"'],
  ])("$patch %s of an item is refused", (directive, words) => {
    expect(() => strategicMerge(ready, patched([{ type: "A", $patch: directive }]), NODE)).toThrow(words);
  });

  test("without a key are refused where an item must be found", () => {
    expect(() => strategicMerge(ready, patched([{ status: "True" }]), NODE)).toThrow("merge key: type");
  });

  test("fill an absent list as they are, without directives", () => {
    const list = [condition("A"), condition("A", "False"), { type: "B", $patch: "delete" }];
    expect(strategicMerge({}, patched(list), NODE)).toEqual(withConditions(condition("A"), condition("A", "False")));
  });
});

describe("lists without a key", () => {
  test("taints are replaced whole (R4.13), and null removes them", () => {
    const tainted = { spec: { taints: [{ key: "a", effect: "NoSchedule" }], unschedulable: true } };
    const other = { spec: { taints: [{ key: "b", effect: "NoExecute" }] } };
    expect(strategicMerge(tainted, other, NODE)).toEqual({ spec: { ...tainted.spec, ...other.spec } });
    expect(strategicMerge(tainted, { spec: { taints: null } }, NODE)).toEqual({ spec: { unschedulable: true } });
  });

  test("tolerations are replaced as a whole", () => {
    const pod = { spec: { tolerations: [{ key: "a" }, { key: "b" }] } };
    const patch = { spec: { tolerations: [{ key: "c" }] } };
    expect(strategicMerge(pod, patch, POD)).toEqual(patch);
  });

  test("finalizers are a set: a patch adds, and a directive removes", () => {
    const held = { metadata: { finalizers: ["a", "b"] } };
    expect(strategicMerge(held, { metadata: { finalizers: ["b", "c"] } }, NODE)).toEqual({
      metadata: { finalizers: ["a", "b", "c"] },
    });
    const removal = { metadata: { "$deleteFromPrimitiveList/finalizers": ["a"] } };
    expect(strategicMerge(held, removal, NODE)).toEqual({ metadata: { finalizers: ["b"] } });
  });
});

test("addresses merge by type, which overwrites the first of two (R9.26)", () => {
  const address = (ip: string): JsonObject => ({ type: "InternalIP", address: ip });
  const before = { status: { addresses: [address("10.0.0.1"), address("10.0.0.2")] } };
  const patch = [address("10.0.0.3"), address("10.0.0.4")];
  expect(strategicMerge(before, { status: { addresses: patch } }, NODE)).toEqual({
    status: { addresses: [address("10.0.0.4"), address("10.0.0.2")] },
  });
  expect(strategicMerge(before, { status: { addresses: [...patch, { $patch: "replace" }] } }, NODE)).toEqual({
    status: { addresses: patch },
  });
});

test("containers merge by name, and what is in them by its own keys", () => {
  const [x, y] = [
    { name: "X", value: "1" },
    { name: "Y", value: "2" },
  ];
  const pod = { spec: { containers: [{ name: "a", image: "i", env: [x] }, { name: "b" }] } };
  const patch = { spec: { containers: [{ name: "a", env: [y] }] } };
  expect(strategicMerge(pod, patch, POD)).toEqual({
    spec: { containers: [{ name: "a", image: "i", env: [y, x] }, { name: "b" }] },
  });
});

test("owner references merge by uid", () => {
  const owned = { metadata: { ownerReferences: [{ uid: "1", name: "a" }] } };
  const patch = {
    metadata: {
      ownerReferences: [
        { uid: "2", name: "b" },
        { uid: "1", $patch: "delete" },
      ],
    },
  };
  expect(strategicMerge(owned, patch, NODE)).toEqual({ metadata: { ownerReferences: [{ uid: "2", name: "b" }] } });
});

test("$retainKeys drops the object's other fields, $patch replaces or empties one", () => {
  const object = { spec: { a: 1, b: 2, c: 3 } };
  expect(strategicMerge(object, { spec: { $retainKeys: ["a", "d"], d: 4 } }, {})).toEqual({ spec: { a: 1, d: 4 } });
  expect(strategicMerge(object, { spec: { $patch: "replace", d: 4, e: null } }, {})).toEqual({ spec: { d: 4 } });
  expect(strategicMerge(object, { spec: { $patch: "delete" } }, {})).toEqual({ spec: {} });
  expect(() => strategicMerge(object, { spec: { $patch: "x" } }, {})).toThrow('unknown patch type: "x"');
});

test("a patch applied twice is a patch applied once, and neither side is changed", () => {
  const conditions = fc.uniqueArray(fc.constantFrom("A", "B", "C", "D"), { minLength: 1 });
  const status = fc.constantFrom("True", "False", "Unknown");
  fc.assert(
    fc.property(conditions, conditions, status, (present, named, to) => {
      const before = withConditions(...present.map((type) => condition(type)));
      const patch = patched(named.map((type) => condition(type, to)));
      const [beforeText, patchText] = [JSON.stringify(before), JSON.stringify(patch)];
      const once = strategicMerge(before, patch, NODE);
      expect(strategicMerge(once, patch, NODE)).toEqual(once);
      expect([JSON.stringify(before), JSON.stringify(patch)]).toEqual([beforeText, patchText]);
      expect(typesIn(once).toSorted()).toEqual([...new Set([...present, ...named])].toSorted());
    }),
  );
});

function typesIn(object: JsonObject): string[] {
  const { conditions } = object.status as { conditions: { type: string }[] };
  return conditions.map(({ type }) => type);
}
