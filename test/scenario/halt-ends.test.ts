/**
 * The end of a halt on virtual time, with nodes that never reported. A kube-controller-manager of 1.37 panics there
 * (k/k#141572).
 */
import { describe, expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { domainKeyOf } from "../../services/domain/zone-key.ts";
import { judgedZone } from "../ledger/ledger-world.ts";
import { EvictionWorld } from "../support/eviction-world.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { NODE, OBSERVER } from "./spine.ts";

const S = 1000;
const inZone = (zone: string) => ({ "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": zone });
const DEAD = ["a-0", "a-1", "a-2"];

/** Two zones of three nodes each. All are found silent, so Vigil taints nothing. */
function halted(): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.addZone("b", 3);
  world.run();
  world.advance(30 * S);
  world.silence([...DEAD, "b-0", "b-1", "b-2"]);
  world.advance(120 * S);
  expect(world.published("judged.zone").at(-1)?.body).toMatchObject({ state: "FullDisruption", halted: true });
  return world;
}

/** Creates a node that has neither posted a status nor renewed a lease. */
function createBare(world: EvictionWorld, name: string): void {
  const body = { apiVersion: "v1", kind: "Node", metadata: { name, labels: inZone("a") } };
  world.write({ verb: "create", urgency: 0, ref: { kind: "Node", namespace: "", name }, body });
}

const readyOf = (world: EvictionWorld, name: string) =>
  world.node(name).status.conditions?.find(({ type }) => type === "Ready")?.status;

describe("when a halt ends", () => {
  test("a node created then gets a startup grace; others are tainted", () => {
    const world = halted();
    createBare(world, "bare");
    world.register("fresh", inZone("b"));
    world.revive(["b-0", "b-1", "b-2"]);
    world.advance(59 * S);
    expect(readyOf(world, "bare")).toBeUndefined();
    expect(readyOf(world, "fresh")).toBe("True");
    world.advance(60 * S);
    expect(readyOf(world, "bare")).toBe("Unknown");
    expect(readyOf(world, "fresh")).toBe("True");
    expect(world.tainted.map(({ name }) => name).sort()).toEqual([...DEAD, "bare"]);
  });

  test("a node replaced under its name in that instant is a new node", () => {
    const world = halted();
    world.write({ verb: "delete", urgency: 0, ref: { kind: "Node", namespace: "", name: "a-2" } });
    createBare(world, "a-2");
    world.revive(["b-0", "b-1", "b-2"]);
    world.advance(59 * S);
    expect(readyOf(world, "a-2")).toBeUndefined();
    world.advance(60 * S);
    expect(readyOf(world, "a-2")).toBe("Unknown");
    expect(world.tainted.map(({ name }) => name).sort()).toEqual(DEAD);
  });

  test("a node older than Vigil that never reported is found too", () => {
    const world = halted();
    createBare(world, "bare");
    world.crash(1 * S);
    world.revive(["b-0", "b-1", "b-2"]);
    world.advance(150 * S);
    expect(readyOf(world, "bare")).toBe("Unknown");
    expect(world.tainted.map(({ name }) => name).sort()).toEqual([...DEAD, "bare"]);
  });

  test("a node that another process takes over has its grace again", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "a-0", labels: inZone("a") });
    cluster.start(OBSERVER);
    const fleet = new HandFleet("heir");
    cluster.start(NODE, { member: "heir", fleet });
    cluster.advance(60 * S);
    kubelet.stop();
    const zone = domainKeyOf(inZone("a"), null);
    const owner = cluster.busOf("zone", "owner");
    owner.publish("judged.zone", judgedZone({ zone, halted: true }), null);
    cluster.advance(20 * S);
    owner.publish("judged.zone", judgedZone({ zone, halted: false }), null);
    cluster.advance(2 * S);
    fleet.set("node", shardOf("a-0"), true);
    cluster.advance(cluster.profile.nodeMonitorGraceMs - 3 * S);
    expect(cluster.published("asked.condition")).toEqual([]);
    cluster.advance(3 * S);
    expect(cluster.published("asked.condition").at(0)?.body.node).toBe("a-0");
  });
});
