/** The opening of every scenario in which a member loses the API server: a fleet of three and six nodes to stop. */
import { expect } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import type { TestKubelet } from "../support/test-kubelet.ts";
import { type FleetMember, VirtualFleet } from "../support/virtual-fleet.ts";
import { ALL_UNKNOWN, ALL_WELL } from "./spine.ts";

/** The names of the members. */
export const MEMBERS = ["a", "b", "c"];
/** The services that need the API server. */
export const OF_API = ["observer", "node-writer", "pod-writer", "ledger"] as const;
/** The default grace of a node. */
export const GRACE_MS = 50_000;
/** A member that loses the API server loses its shards within watchBlindMs plus the time the members need to agree. */
export const TAKEOVER_MS = 15_000;
const TOLERATIONS = [
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
];

/** A fleet, the nodes that a test stops, and the member that observes first. */
export interface Fixture {
  readonly world: VirtualFleet;
  readonly doomed: readonly TestKubelet[];
  readonly observing: FleetMember;
}

/** A fleet of three, twenty nodes that stay alive, and six nodes to stop with one pod each. */
export function fixture(members: readonly string[] = MEMBERS): Fixture {
  const world = new VirtualFleet();
  for (let index = 0; index < 20; index++) world.addNode({ name: `live-${index}` });
  const doomed = [0, 1, 2, 3, 4, 5].map((index) => world.addNode({ name: `doomed-${index}` }));
  for (const { name } of doomed) world.addPod(name, `pod-of-${name}`, { spec: { tolerations: TOLERATIONS } });
  for (const member of members) world.join(member);
  world.advance(30_000);
  return { world, doomed, observing: world.observing() };
}

/** Stops kubelets. */
export const stopAll = (kubelets: readonly TestKubelet[]) => {
  for (const kubelet of kubelets) kubelet.stop();
};

/** How many of the doomed nodes are Unknown. */
export const unknown = ({ world, doomed }: Fixture) =>
  doomed.filter(({ name }) => world.conditions(name).join() === ALL_UNKNOWN.join()).length;

/** How many of the doomed nodes have lost their pod. */
export const evicted = ({ world, doomed }: Fixture) =>
  doomed.filter(({ name }) => {
    const pod = world.read({ kind: "Pod", namespace: "default", name: `pod-of-${name}` });
    return pod === null || pod.metadata.deletionTimestamp !== undefined;
  }).length;

/** Expects that Vigil wrote nothing about the live nodes. */
export function expectLiveWell({ world }: Fixture): void {
  for (let index = 0; index < 20; index++) {
    expect(world.conditions(`live-${index}`)).toEqual(ALL_WELL);
    expect(world.taints(`live-${index}`)).toEqual([]);
  }
}

/** Expects that each shard of each service has one owner. */
export function expectOneOwnerEach(world: VirtualFleet): void {
  for (const service of SERVICE_NAMES) {
    const owners = Array.from({ length: SHARD_COUNT }, (_, shard) => world.ownersOf(service, shard).length);
    expect([service, new Set(owners)]).toEqual([service, new Set([1])]);
  }
}

/** How many shards of a service each member owns. */
export const shares = (world: VirtualFleet, service: "observer" | "node-writer" | "pod-writer" | "ledger" | "node") =>
  [...world.members.values()].map(
    ({ fleet }) =>
      Array.from({ length: SHARD_COUNT }, (_, shard) => shard).filter((shard) => fleet.owns(service, shard)).length,
  );
