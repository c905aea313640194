/**
 * Shadow mode without another writer: each write that would be made is published once, and nothing is requested in
 * vain.
 */
import { expect, test } from "vitest";
import type { Service, ServiceName } from "../../protocols/ports.ts";
import { shadowKube } from "../../services/platform/kube/kube.ts";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";
import type { Services } from "../support/virtual-cluster.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

/** Some of the services that evict, in shadow. */
function shadowed(names: readonly ServiceName[] = Object.keys(EVICTING) as ServiceName[]): Services {
  const inShadow = (start: Service): Service => {
    return (io) => start({ ...io, kube: shadowKube(io.kube, (run) => io.clock.soon(run)) });
  };
  return Object.fromEntries(names.flatMap((name) => (EVICTING[name] ? [[name, inShadow(EVICTING[name])]] : [])));
}

/** Six nodes with a pod each, 30 s old, under Vigil in shadow. */
function rehearsal(profile: ConstructorParameters<typeof EvictionWorld>[0] = {}): EvictionWorld {
  const world = new EvictionWorld(profile);
  for (const node of world.addZone("a", 6)) world.addTolerantPod(node, `pod-${node}`);
  world.start(shadowed());
  world.advance(30 * S);
  return world;
}

/** The shadowed writes of one kind of request about a node, as `outcome change`. */
function toldOf(world: EvictionWorld, node: string, ask: string): string[] {
  const about = world.published("done.write").filter(({ body }) => body.node === node && body.ask === ask);
  return about.map(({ body }) => `${body.outcome} ${body.change}`);
}

const UNKNOWN = "shadowed conditions: Ready=Unknown MemoryPressure=Unknown DiskPressure=Unknown PIDPressure=Unknown";

test("a verdict is published once per silence, however long the node is silent", () => {
  const world = rehearsal();
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(toldOf(world, "a-0", "asked.condition")).toEqual([UNKNOWN]);
  world.revive(["a-0"]);
  world.advance(5 * S);
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(toldOf(world, "a-0", "asked.condition")).toEqual([UNKNOWN, UNKNOWN]);
});

test("a verdict that the API never shows causes no resync", () => {
  const world = rehearsal();
  world.silence(["a-0"]);
  const silencedMs = world.clock.monotonicMs();
  world.advance(600 * S);
  expect(world.published("asked.resync").filter(({ atMs }) => atMs > silencedMs)).toEqual([]);
});

test("taints and labels that are never written are published once per change", () => {
  const world = rehearsal();
  world.advance(300 * S);
  const healing = "shadowed taints: -node.kubernetes.io/not-ready:NoSchedule";
  expect(toldOf(world, "a-0", "asked.taint")).toEqual([healing]);
  world.kubelet("a-0").report("MemoryPressure", "True");
  world.advance(300 * S);
  const both =
    "shadowed taints: +node.kubernetes.io/memory-pressure:NoSchedule -node.kubernetes.io/not-ready:NoSchedule";
  expect(toldOf(world, "a-0", "asked.taint")).toEqual([healing, both]);
  world.kubelet("a-0").report("MemoryPressure", "False");
  world.advance(300 * S);
  expect(toldOf(world, "a-0", "asked.taint")).toEqual([healing, both, healing]);
});

test("an eviction by a taint is published once, and again when the taint is set again", () => {
  const world = rehearsal();
  world.taint("a-0", [MAINTENANCE]);
  world.advance(600 * S);
  const deleted = "shadowed deleted: maintenance:NoExecute";
  expect(toldOf(world, "a-0", "asked.eviction")).toEqual([deleted]);
  world.taint("a-0", []);
  world.advance(300 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(600 * S);
  expect(toldOf(world, "a-0", "asked.eviction")).toEqual([deleted, deleted]);
});

test("a drain and the marking of its pods are published once", () => {
  const world = rehearsal({ evictionMode: "direct", podEvictionTimeoutMs: 30 * S });
  world.silence(["a-0"]);
  world.kubelet("a-0").report("Ready", "Unknown");
  world.advance(600 * S);
  expect(toldOf(world, "a-0", "asked.unready")).toEqual(["shadowed Ready=False"]);
  expect(toldOf(world, "a-0", "asked.eviction")).toEqual(["shadowed deleted: a-0 is lost"]);
});

test("when real writers take over, they write what was shadowed, grants too", () => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  const { "node-writer": _nodes, "pod-writer": _pods, ...readers } = EVICTING;
  world.start(readers);
  const writers = world.start(shadowed(["node-writer", "pod-writer"]));
  world.advance(30 * S);
  world.silence(["a-0", "a-1"]);
  world.kubelet("a-1").report("Ready", "Unknown");
  world.advance(300 * S);
  expect(world.tainted).toEqual([]);
  writers.kill();
  const { "node-writer": nodeWriter, "pod-writer": podWriter } = EVICTING;
  if (nodeWriter === undefined || podWriter === undefined) throw new Error("there are no writers");
  world.start({ "node-writer": nodeWriter, "pod-writer": podWriter });
  world.advance(90 * S);
  expect(world.tainted.map(({ name }) => name).sort()).toEqual(["a-0", "a-1"]);
  expect(world.taints("a-1")).toContain(`${UNREACHABLE}:NoExecute`);
});
