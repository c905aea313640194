/** When Vigil's own pods are deleted: a table with both sides of each boundary. */
import { expect, test } from "vitest";
import {
  decisiveNodes,
  type Heartbeats,
  type OwnPod,
  type Renewals,
  verdictsOf,
  verdictText,
  type Workload,
} from "../../../services/cli/rescue/rescue.policy.ts";

const NOW = Date.UTC(2026, 0, 1);
const SILENT_FOR_MS = 120_000;
const OLD = NOW - SILENT_FOR_MS;
const WRITER: Workload = { kind: "Deployment", name: "vigil-writer" };
const STATEFUL: Workload = { kind: "StatefulSet", name: "vigil-writer" };

/** A pod on a node of the same letter, such as `writer-a` on `node-a`. */
function pod(letter: string, fields: Partial<OwnPod> = {}): OwnPod {
  const name = `writer-${letter}`;
  const identity = { name, uid: `uid-${letter}`, resourceVersion: "7" };
  return { ...identity, workload: WRITER, node: `node-${letter}`, isLeaving: false, ...fields };
}

function heartbeats(renewals: Record<string, number | null>, before: Renewals | null = null): Heartbeats {
  return { renewals: new Map(Object.entries(renewals)), before, nowAt: NOW, silentForMs: SILENT_FOR_MS };
}

test.each<[string, OwnPod[], Record<string, number | null>, string]>([
  ["on silent nodes", [pod("a"), pod("b")], { "node-a": OLD, "node-b": OLD - 1 }, "lost writer-a writer-b"],
  ["on a node that is silent for less", [pod("a")], { "node-a": OLD + 1 }, "alive"],
  ["of which one is on a living node", [pod("a"), pod("b")], { "node-a": OLD, "node-b": NOW - 5_000 }, "alive"],
  ["on a node whose clock is ahead", [pod("a")], { "node-a": NOW + 60_000 }, "alive"],
  ["on a node without a lease", [pod("a")], { "node-a": null }, "alive"],
  ["on a node that was not read", [pod("a")], {}, "alive"],
  ["that are Terminating on silent nodes", [pod("a", { isLeaving: true })], { "node-a": OLD }, "starting"],
  ["that are Terminating on a living node", [pod("a", { isLeaving: true })], { "node-a": NOW }, "starting"],
  ["that are not bound", [pod("a", { node: null })], {}, "starting"],
  [
    "on a silent node, with a replacement that runs",
    [pod("a", { isLeaving: true }), pod("b")],
    { "node-a": OLD, "node-b": NOW },
    "alive",
  ],
  [
    "on a silent node, with one that found no place",
    [pod("a"), pod("b", { node: null })],
    { "node-a": OLD },
    "lost writer-a",
  ],
  [
    "on a silent node, with one that is Terminating elsewhere",
    [pod("a"), pod("b", { isLeaving: true })],
    { "node-a": OLD, "node-b": NOW },
    "lost writer-a",
  ],
  ["of a StatefulSet on silent nodes", [pod("a", { workload: STATEFUL })], { "node-a": OLD }, "stuck writer-a"],
  [
    "without a controller on silent nodes",
    [pod("a", { workload: { kind: "Pod", name: "writer-a" } })],
    { "node-a": OLD },
    "stuck writer-a",
  ],
])("pods %s", (_what, pods, renewals, expected) => {
  const [verdict, ...others] = verdictsOf(pods, heartbeats(renewals));
  const lost = verdict !== undefined && "pods" in verdict ? verdict.pods.map(({ name }) => name) : [];
  expect([verdict?.kind, ...lost].join(" ")).toBe(expected);
  expect(others).toEqual([]);
});

test.each<[string, Record<string, number | null> | null, string]>([
  ["were not renewed while they were watched", { "node-a": OLD }, "lost"],
  ["were renewed, with a clock that is behind", { "node-a": OLD - 10_000 }, "alive"],
  ["appeared meanwhile", { "node-a": null }, "alive"],
  ["were not watched", {}, "alive"],
])("leases that %s", (_what, before, kind) => {
  const known = before === null ? null : new Map(Object.entries(before));
  expect(verdictsOf([pod("a")], heartbeats({ "node-a": OLD }, known)).map((verdict) => verdict.kind)).toEqual([kind]);
});

test("each workload has a verdict of its own: a reader that lives writes nothing", () => {
  const reader = pod("b", { name: "reader-b", workload: { kind: "Deployment", name: "vigil-reader" } });
  const verdicts = verdictsOf([pod("a"), reader], heartbeats({ "node-a": OLD, "node-b": NOW }));
  expect(verdicts.map(({ kind, workload }) => [workload.name, kind])).toEqual([
    ["vigil-reader", "alive"],
    ["vigil-writer", "lost"],
  ]);
});

test("without pods there is no verdict", () => {
  expect(verdictsOf([], heartbeats({}))).toEqual([]);
});

test("only nodes of pods that count are read, each once", () => {
  const pods = [pod("a"), pod("b", { node: "node-a" }), pod("c", { node: null }), pod("d", { isLeaving: true })];
  expect(decisiveNodes(pods)).toEqual(["node-a"]);
});

test.each<[OwnPod, number | null, Renewals | null, string]>([
  [
    pod("a"),
    NOW - 4_000,
    null,
    "Deployment vigil-writer may be alive: pod writer-a: the kubelet of node-a renewed its lease 4 s ago",
  ],
  [
    pod("a"),
    NOW + 9,
    null,
    "Deployment vigil-writer may be alive: pod writer-a: the kubelet of node-a renewed its lease just now",
  ],
  [pod("a"), null, null, "Deployment vigil-writer may be alive: pod writer-a: node node-a has no lease"],
  [
    pod("a"),
    OLD,
    new Map(),
    "Deployment vigil-writer may be alive: pod writer-a: the lease of node-a was renewed, or the pod was bound, meanwhile",
  ],
  [pod("a"), OLD, null, "Deployment vigil-writer is lost: pod writer-a is on node-a, silent for 2 min"],
  [
    pod("a", { workload: STATEFUL }),
    OLD,
    null,
    "StatefulSet vigil-writer is lost: pod writer-a is on node-a, silent for 2 min; a pod of it is only replaced once it is " +
      "gone: delete its Node, or, if you know that the machine is off, the pod with --force",
  ],
  [
    pod("a", { node: null }),
    null,
    null,
    "Deployment vigil-writer waits: no pod of it is on a node, and its replacements are not scheduled yet",
  ],
])("a verdict is one line", (own, renewedAt, before, text) => {
  const beats = { ...heartbeats(own.node === null ? {} : { [own.node]: renewedAt }), before };
  expect(verdictsOf([own], beats).map(verdictText)).toEqual([text]);
});
