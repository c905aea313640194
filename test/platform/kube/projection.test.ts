/** The projection of nodes, leases and pods, also of malformed ones. */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { nodeSchema, podSchema } from "../../../protocols/objects.ts";
import { contestedLeaseSchema } from "../../../protocols/observed.ts";
import {
  type ProjectionIo,
  projectLease,
  projectNode,
  projectPod,
  UNREPORTED,
} from "../../../services/platform/kube/watch/projection.ts";
import { Interner } from "../../../services/structures/interner.ts";

const CREATED = "2026-01-01T00:00:00Z";
const at = (time: string): number => Date.parse(time);

let problems: string[];
let io: ProjectionIo;
beforeEach(() => {
  problems = [];
  io = { interner: new Interner(), problem: (field) => problems.push(field) };
});

const metadata = { name: "x", namespace: "ns", uid: "u", resourceVersion: "7", creationTimestamp: CREATED };
const podOn = (fields: { spec?: object; status?: object; metadata?: object } = {}) => ({
  metadata: { ...metadata, ...fields.metadata },
  spec: { nodeName: "n-1", ...fields.spec },
  status: { phase: "Running", ...fields.status },
});

describe("a node", () => {
  test("keeps identity, known labels, taints, and conditions with instants", () => {
    const raw = {
      metadata: {
        ...metadata,
        labels: { "topology.kubernetes.io/zone": "z", "kubernetes.io/os": "linux", other: "dropped" },
      },
      spec: {
        unschedulable: true,
        taints: [
          { key: "a", value: "v", effect: "NoExecute", timeAdded: "2026-01-01T00:00:01Z" },
          { key: "b", effect: "NoSchedule" },
        ],
      },
      status: {
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "KubeletReady",
            message: "dropped",
            lastHeartbeatTime: "2026-01-01T00:05:00Z",
            lastTransitionTime: "2026-01-01T00:00:10Z",
          },
        ],
      },
    };
    expect(projectNode(raw, io)).toEqual({
      node: "x",
      uid: "u",
      resourceVersion: "7",
      createdAt: at(CREATED),
      labels: { "topology.kubernetes.io/zone": "z", "kubernetes.io/os": "linux" },
      unschedulable: true,
      taints: raw.spec.taints,
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "KubeletReady",
          heartbeatAt: at("2026-01-01T00:05:00Z"),
          transitionAt: at("2026-01-01T00:00:10Z"),
        },
      ],
    });
    expect(problems).toEqual([]);
  });

  test("with its identity alone has neutral values and no problem", () => {
    expect(projectNode({ metadata }, io)).toEqual({
      node: "x",
      uid: "u",
      resourceVersion: "7",
      createdAt: at(CREATED),
      labels: {},
      unschedulable: false,
      taints: [],
      conditions: [],
    });
    expect(problems).toEqual([]);
  });

  test.each([
    ["without a name", { name: undefined }, "metadata.name"],
    ["with an empty name", { name: "" }, "metadata.name"],
    ["whose name is a number", { name: 7 }, "metadata.name"],
    ["without a uid", { uid: null }, "metadata.uid"],
    ["without a resourceVersion", { resourceVersion: undefined }, "metadata.resourceVersion"],
  ])("%s is dropped, and the field is named", (_what, fields, field) => {
    expect(projectNode({ metadata: { ...metadata, ...fields } }, io)).toBeNull();
    expect(problems).toEqual([field]);
  });

  test("keeps the readable taints and conditions, and reports the others", () => {
    const raw = {
      metadata: { ...metadata, creationTimestamp: "long ago" },
      spec: { taints: [{ effect: "NoExecute" }, "taint", { key: "k", effect: "NoExecute", value: 1, timeAdded: 2 }] },
      status: {
        conditions: [
          { status: "True" },
          { type: "Ready", status: "Maybe" },
          { type: "MemoryPressure", status: "True", lastHeartbeatTime: 5 },
        ],
      },
    };
    expect(projectNode(raw, io)).toMatchObject({
      createdAt: 0,
      taints: [{ key: "k", effect: "NoExecute" }],
      conditions: [{ type: "MemoryPressure", status: "True", heartbeatAt: null, transitionAt: null }],
    });
    expect(problems.sort()).toEqual([
      "creationTimestamp",
      "lastHeartbeatTime",
      "spec.taints",
      "spec.taints",
      "status.conditions",
      "status.conditions.status",
    ]);
  });
});

describe("the authors of a node's failure", () => {
  const ofReady = { "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { "f:status": {} } } } };
  const ofTaints = { "f:spec": { "f:taints": {} } };
  const node = (status: string, managedFields: unknown) => ({
    metadata: { name: "n-1", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", managedFields },
    spec: { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }] },
    status: { conditions: [{ type: "Ready", status }] },
  });
  const entry = (manager: string, fieldsV1: object) => ({ manager, operation: "Update", fieldsV1 });

  test.each<[string, unknown, object | undefined]>([
    [
      "are the managers of the fields",
      [entry("kubelet", { "f:metadata": {} }), entry("kcm", ofReady), entry("vigil", ofTaints)],
      { ready: "kcm", taints: "vigil" },
    ],
    ["are not known where two manage a field", [entry("a", ofReady), entry("b", ofReady)], undefined],
    ["are not known without managed fields", undefined, undefined],
    ["are not known from fields of another form", [entry("a", { "f:status": 1 }), null, "x"], undefined],
  ])("%s", (_what, managedFields, writtenBy) => {
    expect(projectNode(node("Unknown", managedFields), UNREPORTED)?.writtenBy).toEqual(writtenBy);
  });

  test("are read only of a failure", () => {
    expect(projectNode(node("True", [entry("kubelet", ofReady)]), UNREPORTED)?.writtenBy).toBeUndefined();
  });
});

describe("a lease", () => {
  test("has the uid of the node that owns it, and a holder that is not the node", () => {
    const owned = (kind: string, holderIdentity: string) =>
      projectLease(
        { metadata: { ...metadata, ownerReferences: [{ kind, uid: "u-9" }] }, spec: { holderIdentity } },
        io,
      );
    expect(owned("Node", "x")).toEqual({ node: "x", renewedAt: null, ownerUid: "u-9" });
    expect(owned("Pod", "y")).toEqual({ node: "x", renewedAt: null, ownerUid: null, holder: "y" });
  });

  test("is its node and its renewal to the microsecond, or null without one", () => {
    const renewed = { metadata, spec: { renewTime: "2026-01-01T00:00:00.000250Z" } };
    expect(projectLease(renewed, io)).toEqual({ node: "x", renewedAt: at(CREATED) + 0.25, ownerUid: null });
    expect(projectLease({ metadata }, io)).toEqual({ node: "x", renewedAt: null, ownerUid: null });
    expect(problems).toEqual([]);
  });

  test("with an unreadable renewal has none, and is counted", () => {
    expect(projectLease({ metadata, spec: { renewTime: "yesterday" } }, io)).toEqual({
      node: "x",
      renewedAt: null,
      ownerUid: null,
    });
    expect(problems).toEqual(["renewTime"]);
  });
});

describe("a pod", () => {
  test("that is not bound is skipped without a problem", () => {
    expect(projectPod({ metadata, spec: {} }, io)).toBeNull();
    expect(problems).toEqual([]);
  });

  test("was bound when scheduled, else when started, else when created", () => {
    const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-01T00:00:02Z" };
    const status = { conditions: [scheduled], startTime: "2026-01-01T00:00:03Z" };
    expect(projectPod(podOn({ status }), io)?.pod.boundAt).toBe(at("2026-01-01T00:00:02Z"));
    const unscheduled = { ...status, conditions: [{ ...scheduled, status: "False" }] };
    expect(projectPod(podOn({ status: unscheduled }), io)?.pod.boundAt).toBe(at("2026-01-01T00:00:03Z"));
    expect(projectPod(podOn(), io)?.pod.boundAt).toBe(at(CREATED));
  });

  test("has its readiness and the kind of its controller, or null for none", () => {
    const ownerReferences = [{ kind: "Other" }, { kind: "DaemonSet", controller: true }];
    const ready = podOn({
      metadata: { ownerReferences },
      status: { conditions: [{ type: "Ready", status: "False" }] },
    });
    expect(projectPod(ready, io)?.pod).toMatchObject({ ready: "False", owner: "DaemonSet" });
    expect(projectPod(podOn(), io)?.pod).toMatchObject({ ready: null, owner: null });
  });

  test("with an unreadable deletion time is terminating", () => {
    const marked = podOn({ metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } });
    expect(projectPod(marked, io)?.pod.deletionAt).toBe(at("2026-01-01T00:01:00Z"));
    expect(projectPod(podOn({ metadata: { deletionTimestamp: "soon" } }), io)?.pod.deletionAt).toBe(0);
    expect(projectPod(podOn(), io)?.pod.deletionAt).toBeNull();
  });

  test("with an unreadable toleration tolerates everything and is not evicted", () => {
    const tolerations = [{ key: "k", operator: "Exists", tolerationSeconds: "300" }, { key: 5 }, "Exists"];
    expect(projectPod(podOn({ spec: { tolerations } }), io)?.pod.tolerations).toEqual([
      { key: "k", operator: "Exists" },
      { operator: "Exists" },
    ]);
    expect(problems.sort()).toEqual(["spec.tolerations", "spec.tolerations", "spec.tolerations.tolerationSeconds"]);
  });

  test.each([1e300, -9_223_372_036_854_778_000, Number.NaN])(
    "tolerates for ever what it tolerates for %d s",
    (seconds) => {
      const tolerations = [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: seconds }];
      expect(projectPod(podOn({ spec: { tolerations } }), io)?.pod.tolerations).toEqual([
        { key: "k", operator: "Exists", effect: "NoExecute" },
      ]);
      expect(problems).toEqual(["spec.tolerations.tolerationSeconds"]);
    },
  );

  test("shares equal tolerations and strings with other pods", () => {
    const tolerations = [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }];
    const read = (name: string) =>
      projectPod(JSON.parse(JSON.stringify(podOn({ spec: { tolerations }, metadata: { name } }))), io);
    expect(read("a")?.pod.tolerations).toBe(read("b")?.pod.tolerations);
    expect(read("a")?.pod.tolerations).toEqual(tolerations);
  });
});

/** A value that is mostly of its kind, and sometimes anything. */
function maybe<T>(real: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof(real, fc.jsonValue());
}

/** An object that has any of these fields, each mostly of its kind. */
function someOf(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  const doubtful = Object.entries(fields).map(([name, value]) => [name, maybe(value)] as const);
  return maybe(fc.record(Object.fromEntries(doubtful), { requiredKeys: [] }));
}

const time = fc.constantFrom(CREATED, "2026-01-01T00:00:00.5+05:30", "9999-12-31T23:59:59Z");
const texts = fc.dictionary(fc.string(), fc.string());
const condition = someOf({
  type: fc.constant("Ready"),
  status: fc.constant("True"),
  lastHeartbeatTime: time,
  lastTransitionTime: time,
  reason: fc.string(),
});
const taint = someOf({ key: fc.string(), effect: fc.string(), value: fc.string(), timeAdded: time });
const toleration = someOf({ key: fc.string(), tolerationSeconds: fc.double() });
/** Also what UTF-8 cannot hold, and what is longer than any name. */
const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\ud800", "x".repeat(254)));
const anyObject = someOf({
  metadata: someOf({
    name: fc.string(),
    namespace: fc.string(),
    uid: fc.string(),
    resourceVersion: fc.string(),
    creationTimestamp: time,
    deletionTimestamp: time,
    labels: texts,
    annotations: texts,
    ownerReferences: fc.array(fc.oneof(fc.jsonValue(), fc.record({ kind: fc.constant("Node"), uid: anyText }))),
  }),
  spec: someOf({
    nodeName: fc.string(),
    unschedulable: fc.boolean(),
    taints: fc.array(taint),
    tolerations: fc.array(toleration),
    renewTime: time,
    holderIdentity: anyText,
  }),
  status: someOf({ phase: fc.string(), conditions: fc.array(condition), startTime: time }),
});

test("any JSON is projected to what the protocol allows, or to null", () => {
  fc.assert(
    fc.property(anyObject, (raw) => {
      const node = projectNode(raw, io);
      if (node !== null) expect(nodeSchema.safeParse(node).error).toBeUndefined();
      const bound = projectPod(raw, io);
      if (bound !== null) expect(podSchema.safeParse(bound.pod).error).toBeUndefined();
      const lease = projectLease(raw, io);
      if (lease === null) return;
      const { ownerUid, holder = "n", node: _, renewedAt: __, ...rest } = lease;
      expect(rest).toEqual({});
      const contest = { node: "n", ...(ownerUid == null ? {} : { ownerUid }), holders: [holder, "n"] };
      expect(contestedLeaseSchema.safeParse(contest).error).toBeUndefined();
    }),
    { numRuns: 2000 },
  );
});
