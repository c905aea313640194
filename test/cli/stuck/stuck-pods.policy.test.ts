/** Which pods are stuck, and what holds them: a table with both sides of each boundary. */
import { describe, expect, test } from "vitest";
import { tableText } from "../../../services/cli/output/text-table.ts";
import { missingSupport } from "../../../services/cli/stuck/out-of-service-support.policy.ts";
import {
  byAge,
  deadStateOf,
  isStuck,
  type NodeSituation,
  stuckPodOf,
  type TerminatingPod,
} from "../../../services/cli/stuck/stuck-pods.policy.ts";
import { STUCK } from "../../../services/cli/stuck/stuck-table.ts";

const NOW = Date.UTC(2026, 0, 1);
const SILENT: NodeSituation = {
  ready: "Unknown",
  since: NOW - 600_000,
  isOutOfService: false,
  isProvedDown: false,
  evicting: [],
};
const PROVED = { ...SILENT, isProvedDown: true };
const POD: TerminatingPod = {
  namespace: "shop",
  name: "db-0",
  uid: "u",
  node: "worker-7",
  graceEndedAt: NOW - 240_000,
  gracePeriodSeconds: 30,
  finalizers: [],
  claims: [],
};
const NO_VOLUMES = { attachments: [], byClaim: new Map() };
const CLUSTER = { volumes: NO_VOLUMES, missing: null };
const node = (ready: NodeSituation["ready"], isOutOfService = false): NodeSituation => ({
  ...SILENT,
  ready,
  isOutOfService,
});

test.each([
  ["True", null],
  ["False", "NotReady"],
  ["Unknown", "Unknown"],
  [null, "NoStatus"],
] as const)("a node with Ready=%s is %s", (ready, state) => {
  expect(deadStateOf(node(ready))).toBe(state);
});

test("a node that is not in the API is gone", () => {
  expect(deadStateOf(undefined)).toBe("Gone");
});

test.each([
  ["a pod that is not terminating", null, SILENT, false],
  ["a pod within its grace", NOW + 1, SILENT, false],
  ["a pod at the end of its grace", NOW, SILENT, false],
  ["a pod past its grace", NOW - 1, SILENT, true],
  ["a pod past its grace on a Ready node", NOW - 1, node("True"), false],
  ["a pod past its grace on a node that is not Ready", NOW - 1, node("False"), true],
  ["a pod past its grace on a node that is gone", NOW - 1, undefined, true],
])("%s: stuck is %s, %j, %s", (_what, deletionAt, its, expected) => {
  expect(isStuck(deletionAt, its, NOW)).toBe(expected);
});

describe("what holds a stuck pod", () => {
  const whys = (pod: Partial<TerminatingPod>, its: NodeSituation | undefined) =>
    stuckPodOf({ ...POD, ...pod }, its, CLUSTER)?.holds.map(({ why }) => why);

  test.each([
    [{}, SILENT, ["node worker-7 is silent, and not proved down"]],
    [{}, node("False"), ["node worker-7 is not Ready, and not proved down"]],
    [{}, node("Unknown", true), ["node worker-7 is out of service, and the pod was not garbage collected yet"]],
    [{}, PROVED, ["node worker-7 is silent, proved down, and not out of service yet"]],
    [{}, undefined, ["node worker-7 is gone, and the pod was not garbage collected yet"]],
    [{ gracePeriodSeconds: null }, SILENT, ["node worker-7 is silent, and not proved down"]],
    [{ gracePeriodSeconds: 0, finalizers: ["a/b"] }, SILENT, ["finalizer a/b"]],
    [{ finalizers: ["a/b", "c/d"] }, undefined, expect.arrayContaining(["finalizer a/b", "finalizer c/d"])],
  ])("%j on %j", (pod, its, expected) => {
    expect(whys(pod, its)).toEqual(expected);
  });

  test("nothing on a node that is Ready", () => {
    expect(stuckPodOf(POD, node("True"), CLUSTER)).toBeNull();
  });

  test("a volume of its claims, attached to its own node", () => {
    const attachments = [
      { name: "csi-1", node: "worker-7", volume: "pv-1" },
      { name: "csi-2", node: "worker-8", volume: "pv-1" },
      { name: "csi-3", node: "worker-7", volume: "pv-2" },
    ];
    const byClaim = new Map([["shop/data-0", "pv-1"]]);
    const cluster = { ...CLUSTER, volumes: { attachments, byClaim } };
    const found = stuckPodOf({ ...POD, gracePeriodSeconds: 0, claims: ["data-0", "other"] }, SILENT, cluster);
    expect(found?.holds.map(({ name, why }) => [name, why])).toEqual([
      ["csi-1", "volume pv-1 of claim data-0 is attached to worker-7"],
    ]);
  });
});

describe("who acts on the out-of-service taint", () => {
  const OUT = node("Unknown", true);
  const NOTHING = "nothing in Kubernetes 1.23 acts on the out-of-service taint";
  const GATED =
    "Kubernetes 1.25 acts on the out-of-service taint only with the feature gate NodeOutOfServiceVolumeDetach";
  const NOT_COLLECTED = "node worker-7 is out of service, and the pod was not garbage collected yet";
  const GC = "the pod garbage collector of kube-controller-manager";
  const FORCED = `kubectl delete pod --force once its machine is surely off: ${NOTHING}`;

  test.each([
    [23, "none"],
    [24, "gated"],
    [25, "gated"],
    [26, undefined],
    [36, undefined],
  ])("in Kubernetes 1.%d: missing is %s", (minor, kind) => {
    expect(missingSupport({ major: 1, minor })?.kind).toBe(kind);
  });

  test.each([[null], [{ major: 2, minor: 0 }]])("is not called missing in %j", (version) => {
    expect(missingSupport(version)).toBeNull();
  });

  test.each<[number, NodeSituation, string, string]>([
    [26, OUT, NOT_COLLECTED, `${GC} 1.26 or later`],
    [25, OUT, `${NOT_COLLECTED}: ${GATED}`, `${GC} with that gate, or kubectl delete pod --force`],
    [23, OUT, `node worker-7 is out of service, but ${NOTHING}`, "kubectl delete pod --force"],
    [
      23,
      PROVED,
      "node worker-7 is silent, proved down, and not out of service yet",
      `kubectl delete pod --force: ${NOTHING}`,
    ],
    [23, SILENT, "node worker-7 is silent, and not proved down", `its kubelet, the deletion of the Node, or ${FORCED}`],
  ])("in Kubernetes 1.%d, %j", (minor, its, why, releasedBy) => {
    const cluster = { ...CLUSTER, missing: missingSupport({ major: 1, minor }) };
    expect(stuckPodOf(POD, its, cluster)?.holds).toEqual([{ kind: "Node", name: "worker-7", why, releasedBy }]);
  });
});

test("the longest stuck pod comes first, then by name", () => {
  const pods = [
    { namespace: "b", name: "x", stuckSince: 2 },
    { namespace: "a", name: "y", stuckSince: 2 },
    { namespace: "c", name: "z", stuckSince: 1 },
  ];
  expect(pods.sort(byAge).map(({ name }) => name)).toEqual(["z", "y", "x"]);
});

test("the table shows since when, what holds the pod, and what would release it", () => {
  const pod = stuckPodOf({ ...POD, finalizers: ["a/b"] }, SILENT, CLUSTER);
  if (pod === null) throw new Error("not stuck");
  expect(tableText(STUCK.heading, [STUCK.cells(pod, NOW)])).toBe(
    [
      "NAMESPACE   POD    NODE       NODE STATE   STUCK FOR   HELD BY",
      "shop        db-0   worker-7   Unknown      4 min       finalizer a/b; node worker-7 is silent, and not proved down\n",
    ].join("\n"),
  );
  expect(STUCK.wide?.cells(pod)).toEqual([
    "2025-12-31T23:56:00Z",
    "2025-12-31T23:50:00Z",
    expect.stringContaining("the controller of the finalizer, which removes it; its kubelet"),
  ]);
  expect(STUCK.document(pod)).toMatchObject({ nodeState: "Unknown", nodeSince: "2025-12-31T23:50:00Z" });
});
