/** The status patch: its form, and its result at the API (R9.25, R9.26). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NodeCondition, NodeObject } from "../../services/agent/node-object.ts";
import { statusPatch } from "../../services/agent/status.patch.ts";
import { mergeRulesOf } from "../../services/sandbox/apiserver/patch/schema.ts";
import { strategicMerge } from "../../services/sandbox/apiserver/patch/strategic.ts";
import { conditionWith, NOW, nodeOf } from "./agent-fixtures.ts";

const withConditions = (...conditions: NodeCondition[]) => nodeOf({ status: { conditions } });

describe("the status patch", () => {
  it("sends conditions' changed fields, and the order of all (R9.25)", () => {
    const before = withConditions(conditionWith("Ready", "True"), conditionWith("DiskPressure", "False"));
    const after = withConditions(
      conditionWith("Ready", "True", { lastHeartbeatTime: NOW }),
      conditionWith("DiskPressure", "False"),
    );
    expect(statusPatch(before, after)).toEqual({
      status: {
        "$setElementOrder/conditions": [{ type: "Ready" }, { type: "DiskPressure" }],
        conditions: [{ type: "Ready", lastHeartbeatTime: NOW }],
      },
    });
  });

  it("adds and deletes conditions", () => {
    const added = conditionWith("B", "True");
    expect(statusPatch(withConditions(conditionWith("A", "True")), withConditions(added))).toEqual({
      status: {
        "$setElementOrder/conditions": [{ type: "B" }],
        conditions: [added, { $patch: "delete", type: "A" }],
      },
    });
  });

  it("contains neither spec nor resourceVersion", () => {
    const before = nodeOf({ metadata: { resourceVersion: "1" }, spec: { unschedulable: true } });
    const after = nodeOf({ metadata: { resourceVersion: "2", labels: { a: "1" } }, spec: {} });
    expect(statusPatch(before, after)).toEqual({ metadata: { labels: { a: "1" } } });
  });

  it("is none when nothing differs", () => {
    const node = nodeOf({ spec: { providerID: "x" }, status: { capacity: { cpu: "1" } } });
    expect(statusPatch(node, structuredClone(node))).toBeNull();
  });

  it("removes labels, annotations and resources with null", () => {
    const before = nodeOf({
      metadata: { annotations: { a: "1", b: "2" } },
      status: { capacity: { cpu: "1", x: "1" } },
    });
    const after = nodeOf({ metadata: { annotations: { b: "2" } }, status: { capacity: { cpu: "1" } } });
    expect(statusPatch(before, after)).toEqual({
      metadata: { annotations: { a: null } },
      status: { capacity: { x: null } },
    });
  });

  it("replaces addresses as a whole when there were any (R9.26)", () => {
    const address = (value: string) => ({ type: "InternalIP", address: value });
    const before = nodeOf({ status: { addresses: [address("1"), address("2")] } });
    const after = nodeOf({ status: { addresses: [address("1"), address("3")] } });
    expect(statusPatch(before, after)).toEqual({
      status: { addresses: [address("1"), address("3"), { $patch: "replace" }] },
    });
    expect(statusPatch(nodeOf(), after)).toMatchObject({
      status: { addresses: [{ address: "1" }, { address: "3" }], "$setElementOrder/addresses": [{}, {}] },
    });
  });

  it("turns any node into any other at the API", () => {
    const rules = mergeRulesOf("Node");
    fc.assert(
      fc.property(anyNode(), anyNode(), (before, after) => {
        const patch = statusPatch(before, after) ?? {};
        const merged = strategicMerge(json(before), json(patch), rules);
        expect(meant(merged)).toEqual(meant({ ...json(after), spec: json(before).spec ?? {} }));
      }),
    );
  });
});

type JsonObject = Parameters<typeof strategicMerge>[0];

function json(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function meant({ metadata, spec, status }: JsonObject): unknown {
  return { metadata, spec, status: filled((status ?? {}) as JsonObject) };
}

/** The API shows no empty lists. */
function filled<T>(status: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => !Array.isArray(value) || value.length > 0));
}

function anyNode(): fc.Arbitrary<NodeObject> {
  const text = fc.constantFrom("a", "b", "c");
  const texts = fc.dictionary(text, text, { maxKeys: 3 });
  const condition = fc.record({ type: text, status: text, message: text, lastHeartbeatTime: text });
  const address = fc.record({ type: fc.constant("InternalIP"), address: text });
  const conditions = fc.uniqueArray(condition, { selector: ({ type }) => type, maxLength: 3 });
  const addresses = fc.uniqueArray(address, { selector: (each) => each.address, maxLength: 3 });
  const status = fc.record({ capacity: texts, nodeInfo: texts, conditions, addresses });
  return fc
    .record({ labels: texts, status })
    .map((shown) => nodeOf({ metadata: { labels: shown.labels }, spec: {}, status: filled<unknown>(shown.status) }));
}
