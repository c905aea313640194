/** Regressions on virtual time, named after the issues of Kubernetes that report them. */
import { describe, expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const tolerating = (seconds: number, key = "maintenance"): Toleration[] => [
  { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: seconds },
];

/** Three nodes under Vigil, 10 s old. */
function cluster(): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.run();
  world.advance(10 * S);
  return world;
}

/** Whether the pod of this name is being deleted. */
function isTerminating(world: EvictionWorld, name: string): boolean {
  const pod = world.read({ kind: "Pod", namespace: "default", name });
  return pod?.metadata.deletionTimestamp !== undefined;
}

describe("107543: a recreated pod is evicted", () => {
  test("after its predecessor", () => {
    const world = cluster();
    world.addTolerantPod("a-0", "stateful-0", tolerating(30));
    world.taint("a-0", [MAINTENANCE]);
    world.advance(30 * S);
    expect(isTerminating(world, "stateful-0")).toBe(true);
    world.removePod("stateful-0");
    world.addTolerantPod("a-0", "stateful-0", tolerating(30));
    world.advance(29 * S);
    expect(isTerminating(world, "stateful-0")).toBe(false);
    world.advance(1 * S);
    expect(isTerminating(world, "stateful-0")).toBe(true);
  });

  test("but not at its deadline, on any node", () => {
    const world = cluster();
    world.addTolerantPod("a-0", "stateful-0", tolerating(30));
    world.taint("a-0", [MAINTENANCE]);
    world.advance(20 * S);
    world.removePod("stateful-0");
    world.addTolerantPod("a-1", "stateful-0", tolerating(30));
    world.advance(300 * S);
    expect(isTerminating(world, "stateful-0")).toBe(false);
  });
});

test("125332: a pod created again in one instant on a dead node is evicted", () => {
  const world = cluster();
  world.addTolerantPod("a-0", "pod", tolerating(30));
  world.taint("a-0", [MAINTENANCE]);
  world.advance(15 * S);
  world.api.faults.cutWatches({ storage: "pods", how: "break" });
  world.removePod("pod");
  world.addTolerantPod("a-0", "pod", tolerating(30));
  world.advance(30 * S - 1);
  expect(isTerminating(world, "pod")).toBe(false);
  world.advance(1);
  expect(isTerminating(world, "pod")).toBe(true);
});

describe("119862: a gone taint evicts no pod", () => {
  test("if the watch is late, the pod new (139992)", () => {
    const world = cluster();
    world.taint("a-0", [MAINTENANCE]);
    world.advance(1 * S);
    const speak = world.api.faults.silenceWatches("nodes");
    world.taint("a-0", []);
    world.addTolerantPod("a-0", "new");
    world.advance(60 * S);
    speak();
    world.advance(60 * S);
    expect(isTerminating(world, "new")).toBe(false);
    const outcomes = world.published("done.write").filter(({ body }) => body.ask === "asked.eviction");
    expect(outcomes.map(({ body }) => body.outcome)).toContain("refused");
  });

  test("that a CNI sets for 0.1 s (cilium 19890)", () => {
    const world = cluster();
    world.addTolerantPod("a-0", "tolerating", tolerating(5, "node.cilium.io/agent-not-ready"));
    world.taint("a-0", [{ key: "node.cilium.io/agent-not-ready", effect: "NoExecute" }]);
    world.advance(100);
    world.taint("a-0", []);
    world.advance(60 * S);
    expect(isTerminating(world, "tolerating")).toBe(false);
  });
});

describe("140639: a refused eviction", () => {
  test.each([
    [
      "denied by a webhook",
      { kind: "status", code: 403, message: 'admission webhook "x" denied the request: no' },
      "denied",
    ],
    ["throttled", { kind: "status", code: 429, retryAfterSeconds: 1 }, "throttled"],
    ["failing", { kind: "status", code: 500 }, "failed"],
    ["without an answer", { kind: "lostRequest" }, "unknown"],
  ] as const)("while %s is reported and retried until it succeeds", (_what, fault, outcome) => {
    const world = cluster();
    world.addTolerantPod("a-0", "pod");
    const mend = world.api.faults.add({ fault, when: ({ verb }) => verb === "delete" });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(600 * S);
    expect(isTerminating(world, "pod")).toBe(false);
    const refused = world.published("done.write").filter(({ body }) => body.outcome === outcome);
    expect(refused.length).toBeGreaterThan(10);
    expect(refused.every(({ body }) => body.ask === "asked.eviction" && body.retrying && body.detail !== "")).toBe(
      true,
    );
    mend();
    world.advance(61 * S);
    expect(isTerminating(world, "pod")).toBe(true);
  });

  test("whose reply was lost is found done, not failed", () => {
    const world = cluster();
    world.addTolerantPod("a-0", "pod");
    world.api.faults.add({ fault: { kind: "lostReply" }, when: ({ verb }) => verb === "delete", times: 1 });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(60 * S);
    expect(world.deleted).toHaveLength(1);
    const outcomes = world.published("done.write").filter(({ body }) => body.ask === "asked.eviction");
    expect(outcomes.map(({ body }) => body.outcome)).toEqual(["unknown", "gone"]);
  });
});

test("90794: when the deciding taint goes, the other's deadline counts", () => {
  const world = cluster();
  const other = { key: "other", effect: "NoExecute", timeAdded: "2026-01-01T00:00:10Z" };
  world.addTolerantPod("a-0", "pod", [...tolerating(60), ...tolerating(600, "other")]);
  world.taint("a-0", [MAINTENANCE, other]);
  world.advance(30 * S);
  world.taint("a-0", [other]);
  world.advance(570 * S - 1);
  expect(isTerminating(world, "pod")).toBe(false);
  world.advance(1);
  expect(world.deletedAt("pod")).toBe(610 * S);
});

test("96363: a completed pod keeps its record and its logs", () => {
  const world = cluster();
  for (const phase of ["Succeeded", "Failed"]) {
    world.addTolerantPod("a-0", phase.toLowerCase());
    world.patch({ kind: "Pod", namespace: "default", name: phase.toLowerCase() }, { status: { phase } }, "status");
  }
  world.addTolerantPod("a-0", "job", tolerating(60));
  world.advance(0);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(30 * S);
  world.patch({ kind: "Pod", namespace: "default", name: "job" }, { status: { phase: "Succeeded" } }, "status");
  world.advance(300 * S);
  expect(world.deleted).toEqual([]);
});

test("96363: a pod that completes while its eviction is refused keeps its record", () => {
  const world = cluster();
  world.addTolerantPod("a-0", "job", tolerating(60));
  const mend = world.api.faults.add({ fault: { kind: "status", code: 500 }, when: ({ verb }) => verb === "delete" });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(120 * S);
  expect(world.published("asked.eviction").length).toBeGreaterThan(0);
  world.patch({ kind: "Pod", namespace: "default", name: "job" }, { status: { phase: "Succeeded" } }, "status");
  mend();
  world.advance(120 * S);
  expect(world.deleted).toEqual([]);
  expect(world.published("judged.pod").at(-1)?.body.eviction).toBe("none");
});

describe("50067, 135205: a crash leaves no pod ready", () => {
  test.each([0, 1, 7, 19])("after %i of 20 pods are marked", (marked) => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    const pods = Array.from({ length: 20 }, (_, index) => `pod-${index}`);
    for (const name of pods) world.addTolerantPod("a-0", name);
    const process = world.start(EVICTING);
    world.advance(30 * S);
    world.silence(["a-0"]);
    let marks = 0;
    const isBeyond = ({ verb, subresource, name }: { verb: string; subresource: string; name: string }): boolean => {
      if (verb !== "patch" || subresource !== "status" || !name.startsWith("pod-")) return false;
      marks += 1;
      return marks > marked;
    };
    world.api.faults.add({ fault: { kind: "stall" }, when: isBeyond });
    world.advance(51 * S);
    expect(world.conditions("a-0")).toContain("Ready=Unknown");
    expect(pods.filter((name) => world.podReady(name) === "False")).toHaveLength(marked);
    process.kill();
    world.api.faults.clear();
    world.start(EVICTING);
    world.advance(5 * S);
    expect(pods.filter((name) => world.podReady(name) !== "False")).toEqual([]);
  });
});
