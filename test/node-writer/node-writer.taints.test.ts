/** How the node-writer changes taints on a virtual API: what it reads first, what it writes, what it retries. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { NODE, Scene, UNREACHABLE } from "./node-writer-scene.ts";

describe("taints", () => {
  test("are patched without a read if nothing has changed", () => {
    const scene = new Scene();
    scene.ask("asked.taint", scene.taintAsk());
    expect(scene.calls).toEqual(["patch nodes"]);
    expect(scene.cluster.taints("node-1")).toContain("node.kubernetes.io/memory-pressure:NoSchedule");
  });

  test("are refused beside upstream, which sets and removes them", () => {
    const scene = new Scene({ upstream: "beside" });
    scene.ask("asked.taint", scene.taintAsk());
    expect(scene.calls).toEqual([]);
    expect(scene.outcomes()).toEqual(["refused"]);
  });

  test("that evict are patched after one live read of the node", () => {
    const scene = new Scene();
    scene.ask("asked.taint", scene.grantedTaintAsk(), "zone");
    expect(scene.calls).toEqual(["get nodes", "patch nodes"]);
    expect(scene.cluster.taints("node-1")).toContain("node.kubernetes.io/unreachable:NoExecute");
  });

  test("that only the request names are not written", () => {
    const scene = new Scene();
    scene.cluster.patch(NODE, { spec: { taints: [{ key: "human", effect: "NoSchedule" }] } });
    scene.ask("asked.taint", scene.taintAsk({ taints: [{ key: "forged", effect: "NoExecute" }] }));
    scene.cluster.advance(0);
    expect(scene.outcomes()).toEqual(["conflict…", "ok"]);
    expect(scene.cluster.taints("node-1")).toEqual([
      "human:NoSchedule",
      "node.kubernetes.io/memory-pressure:NoSchedule",
    ]);
  });

  test("are removed together with the record of a swap, without a read", () => {
    const scene = new Scene();
    const taints = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];
    scene.cluster.patch(NODE, { spec: { taints }, metadata: { annotations: { "vigil.v1/taint-swap": "{}" } } });
    const taintSwap = { at: 0, firstKey: UNREACHABLE.key, firstAt: 0, secondAt: 0 };
    scene.ask("asked.taint", scene.taintAsk({ add: [], remove: [UNREACHABLE], why: "healing", taintSwap }));
    expect(scene.calls).toEqual(["patch nodes"]);
    expect(scene.cluster.taints("node-1")).toEqual([]);
    expect(scene.cluster.records("node-1")).toEqual({});
  });

  test("that others added meanwhile are kept", () => {
    const scene = new Scene();
    const ask = scene.taintAsk();
    scene.cluster.patch(NODE, { spec: { taints: [{ key: "human", effect: "NoSchedule" }] } });
    scene.ask("asked.taint", ask);
    scene.cluster.advance(0);
    expect(scene.cluster.taints("node-1")).toEqual([
      "human:NoSchedule",
      "node.kubernetes.io/memory-pressure:NoSchedule",
    ]);
  });

  test("are not set on a node that recovered meanwhile", () => {
    const scene = new Scene();
    const ask = scene.taintAsk({ ready: "Unknown", resourceVersion: "1" });
    scene.ask("asked.taint", ask);
    scene.cluster.advance(0);
    expect(scene.outcomes()).toEqual(["conflict…", "refused"]);
    expect(scene.cluster.taints("node-1")).not.toContain("node.kubernetes.io/unreachable:NoExecute");
  });

  test("requested by zone and node do not replace each other", () => {
    const scene = new Scene();
    const other = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };
    const [zone, node] = [scene.grantedTaintAsk(), scene.taintAsk({ add: [other], ready: "Unknown" })];
    const slow = scene.cluster.api.faults.add({ fault: { kind: "latency", requestMs: 500 } });
    scene.ask("asked.taint", zone, "zone");
    scene.ask("asked.taint", node, "node");
    scene.cluster.advance(5_000);
    slow();
    expect(scene.cluster.taints("node-1")).toEqual(
      expect.arrayContaining([
        "node.kubernetes.io/unreachable:NoExecute",
        "node.kubernetes.io/memory-pressure:NoSchedule",
      ]),
    );
  });
});

test("a grant whose write fails is not retried, because its token is spent", () => {
  const scene = new Scene();
  const ask = scene.grantedTaintAsk();
  scene.cluster.api.faults.add({
    fault: { kind: "status", code: 500 },
    times: 1,
    when: ({ verb }) => verb === "patch",
  });
  scene.ask("asked.taint", ask, "zone");
  scene.cluster.advance(60_000);
  expect(scene.outcomes()).toEqual(["failed"]);
  expect(scene.cluster.taints("node-1")).not.toContain("node.kubernetes.io/unreachable:NoExecute");
});

describe("the same request during an attempt", () => {
  function askTwice(again: Partial<BodyOf<"asked.taint">>): Scene {
    const scene = new Scene();
    const ask = scene.taintAsk();
    scene.cluster.api.faults.add({ fault: { kind: "latency", requestMs: 500 }, when: ({ verb }) => verb === "patch" });
    scene.ask("asked.taint", ask);
    scene.cluster.advance(100);
    scene.ask("asked.taint", { ...ask, ...again });
    scene.cluster.advance(5_000);
    return scene;
  }

  test("ends with that attempt", () => {
    const scene = askTwice({});
    expect(scene.calls).toEqual(["patch nodes"]);
    expect(scene.outcomes()).toEqual(["ok"]);
  });

  test("is attempted if based on another version", () => {
    const scene = askTwice({ resourceVersion: "1" });
    expect(scene.calls).toEqual(["patch nodes", "patch nodes", "get nodes"]);
    expect(scene.outcomes()).toEqual(["ok", "conflict…", "ok"]);
  });
});
