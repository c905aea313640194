/** A guarded patch has the effect of the versioned one, and applies only while its tests hold. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../protocols/ports.ts";
import {
  guardedPatch,
  type PatchBasis,
  type VersionedPatch,
} from "../../../services/platform/requests/guarded-patch.ts";
import type { JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { jsonPatch } from "../../../services/sandbox/apiserver/patch/json-patch.ts";
import { mergeRulesOf } from "../../../services/sandbox/apiserver/patch/schema.ts";
import { strategicMerge } from "../../../services/sandbox/apiserver/patch/strategic.ts";

const UID = "6e1f0c1a";
const BOUND = { uid: UID, resourceVersion: "7" };
const READY = { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime: "2026-01-01T00:00:00Z" };
const POSTED = { ...READY, lastHeartbeatTime: "2026-01-01T00:00:10Z" };
const DISK = { type: "DiskPressure", status: "False" };
const HUMAN = { key: "human", effect: "NoSchedule" };
const OURS = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };

interface Parts {
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  readonly uid?: string;
  readonly taints?: readonly object[] | undefined;
  readonly conditions?: readonly object[];
}

function node({ uid = UID, annotations, labels, taints, conditions = [DISK, READY] }: Parts = {}): KubeObject {
  return JSON.parse(
    JSON.stringify({
      metadata: { name: "node-1", uid, resourceVersion: "7", annotations, labels },
      spec: { taints },
      status: { conditions },
    }),
  );
}

/** The result of the guarded patch made from `read`, applied to `current`. */
function patched(patch: VersionedPatch, read: KubeObject, current: KubeObject = read, basis?: PatchBasis): JsonObject {
  return jsonPatch(current as JsonObject, JSON.parse(JSON.stringify(guardedPatch(patch, read, basis))));
}

/** The object without irrelevant differences: the order of conditions, and empty annotations. */
function comparable({ metadata, spec, status }: JsonObject) {
  const { annotations = {}, ...rest } = metadata as JsonObject;
  const { conditions } = status as { conditions: { type: string }[] };
  const byType = conditions.toSorted((left, right) => left.type.localeCompare(right.type));
  return { rest, annotations, spec, byType };
}

const unknown: VersionedPatch = {
  metadata: BOUND,
  status: { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime: "2026-01-01T00:01:00Z" }] },
};
const tainted: VersionedPatch = { metadata: BOUND, spec: { taints: [OURS] } };

describe("a guarded patch", () => {
  const names = fc.constantFrom("a", "b/c", "d~e");
  const texts = fc.dictionary(names, fc.string({ maxLength: 2 }), { maxKeys: 3 });
  const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined });
  const condition = fc.record({
    type: fc.constantFrom("Ready", "DiskPressure", "MemoryPressure", "Custom"),
    status: fc.constantFrom("True", "False", "Unknown"),
    reason: fc.string({ maxLength: 2 }),
  });
  const conditions = fc.uniqueArray(condition, { selector: ({ type }) => type });
  const taints = fc.uniqueArray(fc.constantFrom(HUMAN, OURS), { minLength: 1 });
  const read = fc.record({ annotations: optional(texts), taints: optional(taints), conditions }).map(node);
  const patch = fc.oneof(
    conditions.map((changed): VersionedPatch => ({ metadata: BOUND, status: { conditions: changed } })),
    fc
      .tuple(taints, fc.dictionary(names, fc.option(fc.string({ maxLength: 2 })), { maxKeys: 2 }))
      .map(([list, annotations]): VersionedPatch => ({ metadata: { ...BOUND, annotations }, spec: { taints: list } })),
  );

  test("has the effect of the strategic merge patch", () => {
    fc.assert(
      fc.property(read, patch, (object, change) => {
        const merged = strategicMerge(object as JsonObject, JSON.parse(JSON.stringify(change)), mergeRulesOf("Node"));
        expect(comparable(patched(change, object))).toEqual(comparable(merged));
      }),
    );
  });

  test("removes the last taints", () => {
    const after = patched({ metadata: BOUND, spec: { taints: null } }, node({ taints: [OURS] }));
    expect(after.spec).toEqual({});
  });

  test.each([
    ["labels and annotations", node({ labels: { a: "b" }, annotations: { c: "d" } })],
    ["a condition that it does not touch", node({ conditions: [{ ...DISK, status: "True" }, READY] })],
  ])("is not held up by a change of %s", (_what, current) => {
    expect(patched(unknown, node(), current).status).toMatchObject({ conditions: [{}, { status: "Unknown" }] });
    expect(patched(tainted, node(), current).spec).toEqual({ taints: [OURS] });
  });

  test.each([
    ["conditions", "another node has the name", unknown, node({ uid: "other" })],
    ["conditions", "the kubelet has posted", unknown, node({ conditions: [DISK, POSTED] })],
    ["conditions", "the conditions moved in their list", unknown, node({ conditions: [READY, DISK] })],
    ["conditions", "the node lost its conditions", unknown, node({ conditions: [] })],
    ["taints", "another node has the name", tainted, node({ uid: "other" })],
    ["taints", "another client has tainted the node", tainted, node({ taints: [HUMAN] })],
    ["taints", "the node is no longer ready", tainted, node({ conditions: [DISK, { ...READY, status: "False" }] })],
  ])("of %s does not apply when %s", (_of, _when, change, current) => {
    expect(() => patched(change, node(), current)).toThrow(/test failed|missing path/);
  });

  test("for a missing condition does not apply if conditions were added", () => {
    const read = node({ conditions: [DISK] });
    expect(patched(unknown, read).status).toMatchObject({ conditions: [DISK, { type: "Ready", status: "Unknown" }] });
    expect(() => patched(unknown, read, node())).toThrow("test failed");
  });

  test("is null for a node without conditions", () => {
    expect(guardedPatch(unknown, { metadata: { name: "node-1" } })).toBeNull();
  });
});

describe("a guarded patch that depends on more", () => {
  const basis = { conditions: ["Ready"], annotations: ["a/b"] };
  const annotations = { "a/b": "1" };
  const based = node({ annotations });
  test.each([
    ["the annotation is as it was", based, node({ annotations: { "a/b": "1", other: "2" }, labels: { c: "d" } })],
    ["there is still no annotation of the name", node({ annotations: { c: "d" } }), node({ annotations: {} })],
    ["there are still no annotations", node(), node({ labels: { c: "d" } })],
    ["the kubelet posts the same status", based, node({ annotations, conditions: [DISK, POSTED] })],
  ])("applies while %s", (_when, read, current) => {
    expect(patched(tainted, read, current, basis).spec).toEqual({ taints: [OURS] });
  });

  const again = { ...READY, lastTransitionTime: "2026-01-01T00:02:00Z" };
  test.each([
    ["the annotation has changed", based, node({ annotations: { "a/b": "2" } })],
    ["the annotation is gone", based, node({ annotations: { c: "d" } })],
    ["the annotation has come", node({ annotations: {} }), based],
    ["the first annotations have come", node(), based],
    ["Ready has the same status after another transition", based, node({ annotations, conditions: [DISK, again] })],
  ])("does not apply when %s", (_when, read, current) => {
    expect(() => patched(tainted, read, current, basis)).toThrow(/test failed|missing path/);
  });
});
