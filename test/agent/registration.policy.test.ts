/** The node that is registered, and the four reconcilers. */
import { describe, expect, it } from "vitest";
import type { AgentSettings } from "../../services/agent/agent.settings.ts";
import type { NodeObject, ResourceList } from "../../services/agent/node-object.ts";
import {
  initialNode,
  reconcile,
  reconcileAttachDetach,
  reconcileExtendedResources,
  reconcileHugePages,
  reconcileLabels,
} from "../../services/agent/registration.policy.ts";
import { nodeOf, STATS, settingsOf } from "./agent-fixtures.ts";

const CMAD = "volumes.kubernetes.io/controller-managed-attach-detach";
const initial = (settings: Partial<AgentSettings> = {}) => initialNode(settingsOf(settings), STATS);

describe("the initial node", () => {
  it("carries the default labels and the attach-detach annotation", () => {
    expect(initial()).toEqual({
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: "node-1",
        labels: {
          "kubernetes.io/hostname": "host-1",
          "kubernetes.io/os": "linux",
          "kubernetes.io/arch": "amd64",
          "beta.kubernetes.io/os": "linux",
          "beta.kubernetes.io/arch": "amd64",
        },
        annotations: { [CMAD]: "true" },
      },
      spec: {},
    });
  });

  it("has zone, region and instance type under stable and beta keys", () => {
    const { labels } = initial({ zone: "z", region: "r", instanceType: "big" }).metadata;
    expect(labels).toMatchObject({
      "topology.kubernetes.io/zone": "z",
      "failure-domain.beta.kubernetes.io/zone": "z",
      "topology.kubernetes.io/region": "r",
      "failure-domain.beta.kubernetes.io/region": "r",
      "node.kubernetes.io/instance-type": "big",
      "beta.kubernetes.io/instance-type": "big",
    });
  });

  it("prefers configured labels", () => {
    const labels = { "kubernetes.io/os": "other", mine: "1" };
    expect(initial({ labels }).metadata.labels).toMatchObject(labels);
  });

  it("has the external cloud's taint once, even if configured too", () => {
    const taints = [{ key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" }];
    expect(initial({ taints, externalCloudProvider: true }).spec?.taints).toEqual(taints);
  });

  it("has its configured taints before the external cloud's", () => {
    const mine = { key: "mine", value: "v", effect: "NoExecute" };
    const cloud = { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" };
    expect(initial({ taints: [mine], externalCloudProvider: true }).spec).toEqual({ taints: [mine, cloud] });
  });

  it("carries its provider id", () => {
    expect(initial({ providerId: "cloud://1" }).spec).toEqual({ providerID: "cloud://1" });
  });
});

describe("the attach-detach reconciler", () => {
  const withMark = (value: string | undefined) =>
    nodeOf({ metadata: value === undefined ? {} : { annotations: { [CMAD]: value, other: "x" } } });

  it.each([
    [undefined, undefined, false],
    ["true", "true", false],
    [undefined, "", false],
    ["true", undefined, true],
    ["true", "false", true],
    [undefined, "true", true],
  ])("wanting %s on a node with %s changes it: %s (R9.5)", (wanted, existing, changed) => {
    const result = reconcileAttachDetach(withMark(wanted), withMark(existing));
    expect(result.changed).toBe(changed);
    expect(result.node.metadata.annotations?.[CMAD] || undefined).toBe(wanted);
    if (existing !== undefined) expect(result.node.metadata.annotations?.other).toBe("x");
  });
});

describe("the label reconciler", () => {
  const labelled = (labels: Record<string, string>) => nodeOf({ metadata: { labels } });

  it.each<[string, Record<string, string>, Record<string, string>, Record<string, string>, boolean]>([
    ["copies a missing default label", { "kubernetes.io/os": "linux" }, {}, { "kubernetes.io/os": "linux" }, true],
    [
      "corrects another value",
      { "kubernetes.io/arch": "arm64" },
      { "kubernetes.io/arch": "x" },
      { "kubernetes.io/arch": "arm64" },
      true,
    ],
    ["leaves labels that are not default", { mine: "new" }, { mine: "old" }, { mine: "old" }, false],
    [
      "leaves a default label that the desired node lacks",
      {},
      { "kubernetes.io/os": "linux" },
      { "kubernetes.io/os": "linux" },
      false,
    ],
    ["empties by deleting", { "kubernetes.io/os": "" }, { "kubernetes.io/os": "linux" }, {}, true],
    [
      "deletes an empty one, which alone is no change",
      { "kubernetes.io/os": "" },
      { "kubernetes.io/os": "" },
      {},
      false,
    ],
  ])("%s", (_, wanted, existing, labels, changed) => {
    expect(reconcileLabels(labelled(wanted), labelled(existing))).toEqual({ node: labelled(labels), changed });
  });

  it.each([
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/windows-build",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
  ])("updates %s", (label) => {
    expect(reconcileLabels(labelled({ [label]: "new" }), labelled({})).changed).toBe(true);
  });
});

const resources = (capacity?: ResourceList, allocatable?: ResourceList): NodeObject =>
  nodeOf({ status: { ...(capacity && { capacity }), ...(allocatable && { allocatable }) } });

describe("extended resources", () => {
  it("missing on a node are taken from the desired one (R9.5, D35)", () => {
    const wanted = resources({ cpu: "1" }, { cpu: "1" });
    expect(reconcileExtendedResources(wanted, nodeOf(), false)).toEqual({ node: wanted, changed: true });
  });

  it("missing on both become empty lists, which is no change", () => {
    expect(reconcileExtendedResources(nodeOf(), nodeOf(), false)).toEqual({ node: resources({}, {}), changed: false });
  });

  it("of a recreated machine are 0, a change even from 0", () => {
    const existing = resources({ cpu: "1", "example.com/gpu": "0" }, { cpu: "1", "example.com/gpu": "0" });
    expect(reconcileExtendedResources(nodeOf(), existing, true)).toEqual({ node: existing, changed: true });
    const used = resources({ "example.com/gpu": "4" }, { "example.com/gpu": "3" });
    const zeroed = resources({ "example.com/gpu": "0" }, { "example.com/gpu": "0" });
    expect(reconcileExtendedResources(nodeOf(), used, true)).toEqual({ node: zeroed, changed: true });
  });

  it("leaves them alone otherwise", () => {
    const existing = resources({ "example.com/gpu": "4" }, { "example.com/gpu": "3" });
    expect(reconcileExtendedResources(nodeOf(), existing, false)).toEqual({ node: existing, changed: false });
  });
});

describe("the huge pages reconciler", () => {
  const page = "hugepages-2Mi";

  it.each<[string, NodeObject, NodeObject, NodeObject, boolean]>([
    [
      "adds a new size",
      resources({ [page]: "1Gi" }, { [page]: "1Gi" }),
      resources({}, {}),
      resources({ [page]: "1Gi" }, { [page]: "1Gi" }),
      true,
    ],
    [
      "corrects a changed size",
      resources({ [page]: "1Gi" }, { [page]: "512Mi" }),
      resources({ [page]: "2Gi" }, { [page]: "2Gi" }),
      resources({ [page]: "1Gi" }, { [page]: "512Mi" }),
      true,
    ],
    [
      "corrects allocatable alone",
      resources({ [page]: "1Gi" }, { [page]: "0" }),
      resources({ [page]: "1Gi" }, { [page]: "1Gi" }),
      resources({ [page]: "1Gi" }, { [page]: "0" }),
      true,
    ],
    [
      "removes a missing size",
      resources({}, {}),
      resources({ [page]: "1Gi", cpu: "1" }, { [page]: "1Gi", cpu: "1" }),
      resources({ cpu: "1" }, { cpu: "1" }),
      true,
    ],
    [
      "compares amounts, not texts",
      resources({ [page]: "1Gi" }, { [page]: "1Gi" }),
      resources({ [page]: "1024Mi" }, { [page]: "1024Mi" }),
      resources({ [page]: "1024Mi" }, { [page]: "1024Mi" }),
      false,
    ],
    [
      "ignores other resources",
      resources({ cpu: "2" }, { cpu: "2" }),
      resources({ cpu: "1" }, { cpu: "1" }),
      resources({ cpu: "1" }, { cpu: "1" }),
      false,
    ],
  ])("%s", (_, wanted, existing, result, changed) => {
    expect(reconcileHugePages(wanted, existing)).toEqual({ node: result, changed });
  });
});

describe("reconciliation", () => {
  it("runs every reconciler and leaves the spec alone (R9.5, R9.6)", () => {
    const wanted: NodeObject = {
      ...initial({ taints: [{ key: "mine", effect: "NoSchedule" }], providerId: "cloud://1" }),
      status: { capacity: { "hugepages-2Mi": "1Gi" }, allocatable: { "hugepages-2Mi": "1Gi" } },
    };
    const existing = nodeOf({ spec: {}, status: { capacity: { "example.com/gpu": "4" }, allocatable: {} } });
    const { node, changed } = reconcile(wanted, existing, true);
    expect(changed).toBe(true);
    expect(node.metadata).toEqual(wanted.metadata);
    expect(node.spec).toEqual({});
    expect(node.status?.capacity).toEqual({ "example.com/gpu": "0", "hugepages-2Mi": "1Gi" });
  });

  it("changes nothing on a reconciled node", () => {
    const wanted: NodeObject = { ...initial(), status: { capacity: { cpu: "1" }, allocatable: { cpu: "1" } } };
    const { node } = reconcile(wanted, nodeOf({ spec: {} }), false);
    expect(reconcile(wanted, node, false)).toEqual({ node, changed: false });
  });
});
