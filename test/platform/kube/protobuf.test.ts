/** Objects decoded from protobuf, compared with the same objects as JSON. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, MalformedProtobuf, type Shape } from "../../../services/platform/kube/protobuf/protobuf.ts";
import { ProtobufList } from "../../../services/platform/kube/protobuf/protobuf-list.ts";
import { LEASE, NODE, POD } from "../../../services/platform/kube/protobuf/protobuf-shapes.ts";
import { projectLease, projectNode, projectPod } from "../../../services/platform/kube/watch/projection.ts";
import { Interner } from "../../../services/structures/interner.ts";
import { encode, encodedList, TABLES } from "./protobuf-encoder.ts";

const text = fc.string({ unit: "binary", maxLength: 12 });
const someText = fc.string({ unit: "binary", minLength: 1, maxLength: 12 });
/** Whole seconds from the first year that JSON writes with four digits to the last. */
const seconds = fc.oneof(
  fc.integer({ min: 0, max: 4_102_444_800 }),
  fc.integer({ min: -62_167_219_200, max: 253_402_300_799 }),
);
const time = seconds.map((at) => `${new Date(at * 1000).toISOString().slice(0, 19)}Z`);
const microTime = fc
  .tuple(fc.integer({ min: 0, max: 4_102_444_800 }), fc.integer({ min: 0, max: 999_999 }))
  .map(([at, micros]) => `${new Date(at * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, "0")}Z`);
const seconds64 = fc.oneof(fc.integer(), fc.maxSafeInteger());
const labels = fc.dictionary(fc.oneof(fc.constant("topology.kubernetes.io/zone"), someText), text);

/** An object in which any of these fields may be missing. */
const some = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(fields, { requiredKeys: [] });

/** What a manager has set: the fields of a verdict, of a list of taints, or others. */
const managed = fc.constantFrom(
  { "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:status": {} } } } },
  { "f:spec": { "f:taints": {} } },
  { "f:metadata": { "f:labels": { "f:ä": {} } } },
);

const metadata = some({
  name: text,
  generateName: text,
  namespace: text,
  uid: text,
  resourceVersion: text,
  generation: fc.nat(),
  creationTimestamp: time,
  deletionTimestamp: time,
  labels,
  annotations: labels,
  ownerReferences: fc.array(some({ kind: someText, name: text, controller: fc.boolean() })),
  managedFields: fc.array(some({ manager: text, time, fieldsV1: managed })),
});
const conditions = fc.array(
  some({
    type: fc.oneof(fc.constantFrom("Ready", "PodScheduled"), someText),
    status: fc.oneof(fc.constantFrom("True", "False", "Unknown"), someText),
    lastHeartbeatTime: time,
    lastTransitionTime: time,
    reason: someText,
    message: text,
  }),
);
const taint = fc.record(
  { key: someText, value: someText, effect: fc.oneof(fc.constant("NoExecute"), someText), timeAdded: time },
  { requiredKeys: ["key"] },
);
const toleration = some({
  key: someText,
  operator: someText,
  value: someText,
  effect: someText,
  tolerationSeconds: seconds64,
});
const node = some({
  metadata,
  spec: some({ podCIDR: text, unschedulable: fc.boolean(), taints: fc.array(taint) }),
  status: some({ conditions }),
});
const pod = some({
  metadata,
  spec: some({ restartPolicy: text, nodeName: text, tolerations: fc.array(toleration) }),
  status: some({ phase: text, conditions, startTime: time }),
});
const lease = some({ metadata, spec: some({ holderIdentity: text, renewTime: microTime }) });

function projectionOf(project: typeof projectNode | typeof projectPod | typeof projectLease, raw: unknown): unknown {
  const problems: string[] = [];
  const projection = project(raw, { interner: new Interner(), problem: (field) => problems.push(field) });
  return { projection, problems };
}

describe("a kept object", () => {
  test.each([
    ["node", node, "Node", NODE, projectNode],
    ["pod", pod, "Pod", POD, projectPod],
    ["lease", lease, "Lease", LEASE, projectLease],
  ] as const)("that is a %s is the same from protobuf as from JSON", (_what, arbitrary, kind, shape, project) => {
    fc.assert(
      fc.property(arbitrary as fc.Arbitrary<object>, (object) => {
        const read = decode(encode(object, TABLES[kind]), shape);
        expect(projectionOf(project, read)).toEqual(projectionOf(project, JSON.parse(JSON.stringify(object))));
      }),
      { numRuns: 1000 },
    );
  });

  test("has an unreadable time where protobuf is outside the calendar", () => {
    const seconds = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    const spec = Buffer.from([0x12, seconds.length + 2, 0x22, seconds.length, ...seconds]);
    const bytes = Buffer.concat([encode({ metadata: { name: "n" } }, TABLES.Lease), spec]);
    expect(projectionOf(projectLease, decode(bytes, LEASE))).toEqual({
      projection: { node: "n", renewedAt: null, ownerUid: null },
      problems: ["renewTime"],
    });
  });
});

/** Gives a list its bytes in pieces of these lengths, and the rest at once. */
function read(bytes: Uint8Array, lengths: readonly number[], shape: Shape = POD) {
  const items: unknown[] = [];
  const list = new ProtobufList(shape, (item) => items.push(item));
  for (const piece of piecesOf(bytes, lengths)) list.push(piece);
  return { items, metadata: list.metadata() };
}

function piecesOf(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  let from = 0;
  const pieces = lengths.map((length) => {
    from += length;
    return bytes.subarray(from - length, from);
  });
  return [...pieces, bytes.subarray(from)];
}

const list = fc.record({ resourceVersion: someText, next: text, items: fc.array(pod as fc.Arbitrary<object>) });

describe("a list", () => {
  test("gives its items and its metadata, in any chunks", () => {
    fc.assert(
      fc.property(list, fc.array(fc.nat(40)), (value, cuts) => {
        const { items, metadata: about } = read(encodedList("Pod", value), cuts);
        expect(items).toEqual(value.items.map((item) => decode(encode(item, TABLES.Pod), POD)));
        expect(about).toEqual({
          resourceVersion: value.resourceVersion,
          ...(value.next === "" ? {} : { continue: value.next }),
        });
      }),
    );
  });

  test("a byte at a time gives the same as all at once", () => {
    const bytes = encodedList("Pod", { items: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }] });
    const pieces = Array.from(bytes, () => 1);
    expect(read(bytes, pieces)).toEqual(read(bytes, []));
    expect(read(bytes, []).items).toHaveLength(2);
  });

  test("that is cut off anywhere is malformed", () => {
    const bytes = encodedList("Pod", { items: [{ metadata: { name: "a" } }] });
    // After the list no more bytes are needed, but its last bytes are a field: a list ends only between two fields.
    const tail = Buffer.from([0x1a, 0, 0x22, 0]).length;
    for (let length = 0; length < bytes.length - tail; length++) {
      expect(() => read(bytes.subarray(0, length), [])).toThrow(MalformedProtobuf);
    }
  });

  test("of random bytes is either decoded or malformed", () => {
    const valid = list.map((value) => encodedList("Pod", value));
    const changed = fc
      .tuple(valid, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1 }))
      .map(([bytes, changes]) => {
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        return bytes;
      });
    let malformed = 0;
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), changed), fc.array(fc.nat(40)), (bytes, cuts) => {
        try {
          read(bytes, cuts);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedProtobuf);
          malformed++;
        }
      }),
      { numRuns: 2000 },
    );
    expect(malformed).toBeGreaterThan(0);
  });
});
