/**
 * Scenarios at the edges of the rules: nodes that are down at a start, zones of excluded nodes, denied deletions, pods
 * of healed nodes.
 */
import { expect, test } from "vitest";
import { EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";

const S = 1000;
const NODE_A = { kind: "Node", namespace: "", name: "a-0" } as const;
const EXCLUDED = { "node.kubernetes.io/exclude-disruption": "" };

test("a cluster that is down when Vigil starts is halted: no NoExecute taint (R6.13)", () => {
  const world = new EvictionWorld();
  const nodes = [...world.addZone("a", 3), ...world.addZone("b", 2)];
  world.advance(S);
  world.silence(nodes);
  world.run();
  world.advance(300 * S);
  expect(nodes.map((node) => world.conditions(node).includes("Ready=Unknown"))).toEqual(nodes.map(() => true));
  expect(world.tainted).toEqual([]);
  expect(world.published("judged.zone").findLast(({ body }) => body.size > 0)?.body).toMatchObject({ halted: true });
});

test("a zone of excluded nodes has the usual rate and keeps its bucket (R6.19, L9)", () => {
  const world = new EvictionWorld();
  world.addZone("well", 3);
  const excluded = ["x-0", "x-1", "x-2"];
  const zone = { "topology.kubernetes.io/zone": "x", ...EXCLUDED };
  for (const name of excluded) world.register(name, zone);
  world.run();
  world.advance(30 * S);
  world.silence(excluded);
  world.advance(90 * S);
  const grantsMs = world.tainted.map(({ atMs }) => atMs);
  expect(grantsMs).toHaveLength(3);
  const pauses = grantsMs.slice(1).map((atMs, index) => Math.round((atMs - (grantsMs[index] ?? 0)) / S));
  expect(pauses).toEqual([10, 10]);
});

test("a pod whose deletion is denied delays no other pod of its node (L41)", () => {
  const world = new EvictionWorld();
  const [node = ""] = world.addZone("a", 2);
  for (const name of ["kept", "left", "right"]) world.addTolerantPod(node, name, []);
  world.run();
  world.advance(S);
  world.api.faults.add({
    fault: { kind: "status", code: 403, message: "a webhook says no" },
    when: ({ verb, name }) => verb === "delete" && name === "kept",
  });
  world.taint(node, [{ key: "example.com/out", effect: "NoExecute" }]);
  world.advance(5 * S);
  expect(["kept", "left", "right"].map((name) => world.deletedAt(name) !== undefined)).toEqual([false, true, true]);
});

test("pods marked NotReady are left for their kubelet to mark Ready again (R3.6)", () => {
  const world = new EvictionWorld();
  const [node = ""] = world.addZone("a", 2);
  world.addTolerantPod(node, "web");
  world.run();
  world.advance(30 * S);
  world.silence([node]);
  world.advance(60 * S);
  expect(world.podReady("web")).toBe("False");
  world.revive([node]);
  world.advance(120 * S);
  expect(world.conditions(node)).toContain("Ready=True");
  expect(world.podReady("web")).toBe("False");
});

test("labels are reconciled although the node's taints cannot be written (R4.25)", () => {
  const world = new EvictionWorld();
  world.api.faults.add({
    fault: { kind: "status", code: 403 },
    when: ({ verb, resource, body }) =>
      verb === "patch" && resource.plural === "nodes" && body?.includes('taints"') === true,
  });
  world.register("a-0", { "kubernetes.io/os": "linux" });
  world.run();
  world.advance(5 * S);
  expect(world.taints("a-0")).toContain("node.kubernetes.io/not-ready:NoSchedule");
  expect(world.node("a-0").metadata.labels).toMatchObject({ "beta.kubernetes.io/os": "linux" });
});

test.each([
  ["reports MemoryPressure", (world: EvictionWorld) => world.kubelet("a-0").report("MemoryPressure", "True")],
  ["is cordoned", (world: EvictionWorld) => world.patch(NODE_A, { spec: { unschedulable: true } })],
] as const)("a node that returns and %s loses our NoExecute taint without leases (R4.33)", (_what, happens) => {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "web");
  world.run();
  world.advance(10 * S);
  world.silence(["a-0"]);
  world.advance(60 * S);
  expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
  world.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: (call) => "resource" in call && call.resource.storage === "leases",
  });
  world.api.faults.cutWatches({ storage: "leases" });
  world.advance(20 * S);
  happens(world);
  world.kubelet("a-0").report("Ready", "True");
  world.advance(400 * S);
  expect(world.taints("a-0").filter((taint) => taint.endsWith(":NoExecute"))).toEqual([]);
  expect(world.deleted).toEqual([]);
});
