/** Timeline entries of messages: only changes have one. */
import { expect, test } from "vitest";
import type { AnyMessage, BodyOf, MessageType } from "../../../protocols/messages.ts";
import { historyTextOf } from "../../../services/ledger/record/history-text.policy.ts";
import { ClusterState } from "../../../services/ledger/state/cluster-state.ts";
import { noExecute, observedNode } from "../../support/observed-objects.ts";
import { doneNode, judgedNode, judgedPod, judgedZone } from "../ledger-world.ts";

const S = 1000;
const BY_UNREACHABLE = "node.kubernetes.io/unreachable:NoExecute";

/** The entries of successive messages of one type; null for a message without one. */
function story<T extends MessageType>(
  type: T,
  bodies: readonly BodyOf<T>[],
  facts = new ClusterState(),
): (string | null)[] {
  return bodies.map((body, index) => {
    const message = { type, id: `${type} ${index}`, source: "test@m-0", at: 0, cause: null, body } as AnyMessage;
    const text = historyTextOf(message, facts);
    facts.apply(message);
    return text?.text ?? null;
  });
}

test("a zone has an entry when its state changes, and when evictions halt or resume", () => {
  const down = { state: "FullDisruption", size: 1, notReady: 1 } as const;
  const sentences = story("judged.zone", [
    judgedZone({ state: "Initial" }),
    judgedZone(),
    judgedZone({ notReady: 2 }),
    judgedZone({ state: "PartialDisruption", notReady: 6, taintsPerSecond: 0 }),
    judgedZone(down),
    judgedZone({ ...down, halted: true }),
    judgedZone({ ...down, halted: true, queueLength: 1 }),
    judgedZone({ ...down, taintsPerSecond: 2 }),
  ]);
  expect(sentences).toEqual([
    null,
    "is Normal: 0 of 10 nodes not ready; eviction rate: one node every 10 s",
    null,
    "is PartialDisruption: 6 of 10 nodes not ready; eviction rate: no node at all",
    "is FullDisruption: 1 of 1 node not ready; eviction rate: one node every 10 s",
    "is FullDisruption: 1 of 1 node not ready; evictions are halted because every zone is disrupted",
    null,
    "is FullDisruption: 1 of 1 node not ready; eviction rate: 2 nodes per second",
  ]);
});

test("a request for labels or annotations names each of them, and those that go", () => {
  const target = { node: "n-1", uid: "uid-n-1", resourceVersion: "1" };
  const sentences = story("asked.label", [
    { ...target, labels: { a: "b" } },
    { ...target, labels: {}, annotations: { "vigil.v1/x": "1", "vigil.v1/y": null } },
    { ...target, labels: { a: "b" }, annotations: { "vigil.v1/x": "1" } },
  ]);
  expect(sentences).toEqual([
    "labels requested: a=b",
    "annotations requested: vigil.v1/x=1 and -vigil.v1/y",
    "labels requested: a=b; annotations requested: vigil.v1/x=1",
  ]);
});

test("a pod has an entry when its eviction changes", () => {
  const sentences = story("judged.pod", [
    judgedPod({ eviction: "none" }),
    judgedPod({ deadlineAt: 300 * S }),
    judgedPod({ deadlineAt: 300 * S }),
    judgedPod({ deadlineAt: 360 * S, tolerationSeconds: 60 }),
    judgedPod({ eviction: "due", deadlineAt: 360 * S, tolerationSeconds: 60 }),
    judgedPod({ eviction: "due", deadlineAt: 361 * S, tolerationSeconds: 60 }),
    judgedPod({ eviction: "none" }),
    judgedPod({ eviction: "none" }),
    judgedPod({ eviction: "due", tolerationSeconds: null }),
    judgedPod({ eviction: "none" }),
    judgedPod({ eviction: "due", tolerationSeconds: null, taint: null }),
  ]);
  expect(sentences).toEqual([
    null,
    `may stay until 1970-01-01T00:05:00Z: it tolerates ${BY_UNREACHABLE} for 300 s`,
    null,
    `may stay until 1970-01-01T00:06:00Z: it tolerates ${BY_UNREACHABLE} for 60 s`,
    `must go now: it tolerated ${BY_UNREACHABLE} for 60 s`,
    null,
    "may stay: its eviction is cancelled",
    null,
    `must go at once: it does not tolerate ${BY_UNREACHABLE}`,
    "may stay: its eviction is cancelled",
    "must go at once: it does not tolerate its node's taints",
  ]);
});

test("a pod's entry names the taint whose toleration counts", () => {
  const toleratedTaint = noExecute("node.kubernetes.io/not-ready");
  const sentences = story("judged.pod", [
    judgedPod({ deadlineAt: 300 * S, toleratedTaint }),
    judgedPod({ deadlineAt: null, toleratedTaint }),
    judgedPod({ eviction: "due", deadlineAt: 300 * S, toleratedTaint }),
  ]);
  expect(sentences).toEqual([
    "may stay until 1970-01-01T00:05:00Z: it tolerates node.kubernetes.io/not-ready:NoExecute for 300 s",
    "may stay: it tolerates node.kubernetes.io/not-ready:NoExecute for 300 s",
    "must go now: it tolerated node.kubernetes.io/not-ready:NoExecute for 300 s",
  ]);
});

test("a node has an entry for added and removed taints", () => {
  const [a, b] = [noExecute("a"), noExecute("b")];
  const sentences = story("observed.node", [
    observedNode("n", { taints: [a] }),
    observedNode("n", { taints: [a], resourceVersion: "2" }),
    observedNode("n", { taints: [a, b] }),
    observedNode("n", { taints: [b] }),
    observedNode("n", { taints: [a] }),
    observedNode("n", { uid: "another", taints: [a] }),
  ]);
  expect(sentences).toEqual([
    "carries a:NoExecute",
    null,
    "now carries b:NoExecute",
    "no longer carries a:NoExecute",
    "now carries a:NoExecute and no longer carries b:NoExecute",
    "is a new node of the same name and carries a:NoExecute",
  ]);
});

test("a node has an entry when its readiness or its eviction changes", () => {
  const silent = { readiness: "unknown", since: 50 * S, heartbeatAt: 0 } as const;
  const sentences = story("judged.node", [
    judgedNode("n", { readiness: "starting" }),
    judgedNode("n"),
    judgedNode("n", silent),
    judgedNode("n", silent),
    judgedNode("n", { ...silent, eviction: "toBeEvicted" }),
    judgedNode("n", { ...silent, eviction: "evicted" }),
    judgedNode("n", { readiness: "notReady", eviction: "evicted" }),
    judgedNode("n"),
  ]);
  expect(sentences).toEqual([
    null,
    null,
    "judged unknown: silent for 50 s",
    null,
    "waits for eviction in zone a",
    "admitted for eviction",
    "judged not ready: its kubelet reports Ready=False",
    "judged ready: its kubelet reports Ready=True and renews its lease; no longer due for eviction",
  ]);
});

test("a late judgement of a replaced node has no entry", () => {
  const facts = new ClusterState();
  story("observed.node", [observedNode("n", { uid: "new" })], facts);
  const late = { readiness: "unknown", heartbeatAt: null } as const;
  const sentences = story(
    "judged.node",
    [judgedNode("n", { ...late, uid: "old" }), judgedNode("n", { ...late, uid: "new" })],
    facts,
  );
  expect(sentences).toEqual([null, "judged unknown: no heartbeat within its grace period"]);
});

test.each([
  [{}, "written after 12 ms: something"],
  [{ change: "" }, "written after 12 ms"],
  [{ outcome: "conflict", retrying: true }, "the object had changed: something; will be retried"],
  [{ outcome: "denied", detail: "403: no" }, "denied by the API server: something (403: no)"],
  [{ outcome: "shadowed" }, "would have been written: something"],
] as const)("what came of a write with %j is %j", (fields, text) => {
  expect(story("done.write", [doneNode("asked.taint", "n", fields)])).toEqual([text]);
});
