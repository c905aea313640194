/** Scenarios on virtual time: a process dies in the middle of its work, and its successor finishes it. */
import { describe, expect, test } from "vitest";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { ALL_UNKNOWN, JUDGES, OBSERVER, SPINE } from "./spine.ts";

/** The names of the pods for which an unready mark was requested, without repeats, sorted. */
function asked(cluster: VirtualCluster): string[] {
  return [...new Set(cluster.published("asked.unready").map(({ body }) => body.name))].toSorted();
}

describe("pods of a dead node", () => {
  test("are to be marked once the API shows Unknown, until they are", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    for (const name of ["pod-1", "pod-2"]) cluster.addPod("node-1", name);
    cluster.start(SPINE);
    cluster.advance(10_000);
    kubelet.stop();
    cluster.advance(50_001);
    expect(asked(cluster)).toEqual(["pod-1", "pod-2"]);
    expect(cluster.published("asked.unready").map(({ atMs }) => atMs)).toEqual([60_001, 60_001]);
    cluster.advance(10_000);
    expect(
      cluster
        .published("asked.unready")
        .map(({ atMs }) => atMs)
        .slice(2),
    ).toEqual([62_001, 62_001, 64_001, 64_001, 68_001, 68_001]);
  });

  test.each([
    { issue: "50067", when: "while it marked them", marked: ["pod-2"], awayMs: 5_000 },
    { issue: "48681", when: "between the node's Unknown and its pods", marked: [], awayMs: 20_000 },
    {
      issue: "135205",
      when: "with all but one marked, and no process ran for ten minutes",
      marked: ["pod-1", "pod-2"],
      awayMs: 600_000,
    },
  ])("are requested again when the process died $when ($issue)", ({ marked, awayMs }) => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    const names = ["pod-1", "pod-2", "pod-3"];
    for (const name of names) cluster.addPod("node-1", name);
    const process = cluster.start(SPINE);
    cluster.advance(10_000);
    kubelet.stop();
    cluster.advance(50_001);
    process.kill();
    for (const name of marked) {
      const pod = { kind: "Pod", namespace: "default", name } as const;
      cluster.patch(pod, { status: { conditions: [{ type: "Ready", status: "False" }] } }, "status");
    }
    cluster.received.length = 0;
    cluster.advance(awayMs);
    cluster.start(SPINE);
    cluster.advance(1_000);
    expect(asked(cluster)).toEqual(names.filter((name) => !marked.includes(name)));
  });

  test("are left alone without Ready, or if the node is back (R3.5)", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    cluster.addPod("node-1", "bare", { ready: null });
    cluster.addPod("node-1", "pod-1");
    cluster.start(SPINE);
    kubelet.stop();
    cluster.advance(50_001);
    expect(asked(cluster)).toEqual(["pod-1"]);
    kubelet.resume();
    cluster.advance(0);
    cluster.received.length = 0;
    cluster.advance(600_000);
    expect(asked(cluster)).toEqual([]);
  });

  test("of a NotReady kubelet are left to it, unless newer (R3.11)", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    cluster.addPod("node-1", "before");
    cluster.start(SPINE);
    cluster.advance(10_000);
    kubelet.report("Ready", "False");
    cluster.advance(2_000);
    cluster.addPod("node-1", "after");
    cluster.advance(1_000);
    expect(asked(cluster)).toEqual(["after"]);
  });
});

test("the next process requests a write whose process died", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  const refused = cluster.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: ({ verb, resource }) => verb === "patch" && resource.plural === "nodes",
  });
  const process = cluster.start(SPINE);
  cluster.advance(10_000);
  kubelet.stop();
  cluster.advance(60_000);
  expect(cluster.published("done.write").some(({ body }) => body.outcome === "failed" && body.retrying)).toBe(true);
  process.kill();
  refused();
  cluster.start(SPINE);
  cluster.advance(50_001);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
});

test("a writer that dies after its write but before the reply does no harm", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start(OBSERVER);
  cluster.start(JUDGES);
  cluster.advance(10_000);
  cluster.api.faults.add({
    fault: { kind: "lostReply" },
    times: 1,
    when: ({ verb, subresource }) => verb === "patch" && subresource === "status",
  });
  kubelet.stop();
  cluster.advance(60_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  const outcomes = cluster.published("done.write").filter(({ body }) => body.ask === "asked.condition");
  expect(outcomes.map(({ body }) => body.outcome)).toEqual(["unknown", "ok"]);
  expect(outcomes.at(-1)?.body.change).toBe("");
});
