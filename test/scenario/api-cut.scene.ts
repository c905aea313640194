/** What scenarios of members that lose the API server start with: a fleet of three before a cluster with six to die. */
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
/** A member is left out after watchBlindMs and what it takes to agree on it. */
export const TAKEOVER_MS = 15_000;
const TOLERATIONS = [
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
];

/** A fleet, the nodes that a test stops, and the member that observes at first. */
export interface Scene {
  readonly world: VirtualFleet;
  readonly doomed: readonly TestKubelet[];
  readonly observing: FleetMember;
}

/** A fleet of three before twenty nodes that live and six to be stopped, each of which has a pod. */
export function scene(members: readonly string[] = MEMBERS): Scene {
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
export const unknown = ({ world, doomed }: Scene) =>
  doomed.filter(({ name }) => world.conditions(name).join() === ALL_UNKNOWN.join()).length;

/** How many of the doomed nodes have lost their pod. */
export const evicted = ({ world, doomed }: Scene) =>
  doomed.filter(({ name }) => {
    const pod = world.read({ kind: "Pod", namespace: "default", name: `pod-of-${name}` });
    return pod === null || pod.metadata.deletionTimestamp !== undefined;
  }).length;

/** Expects that nothing was written about a node that lives. */
export function expectLiveWell({ world }: Scene): void {
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

/** The members by how many shards of a service they own. */
export const shares = (world: VirtualFleet, service: "observer" | "node-writer" | "pod-writer" | "ledger" | "node") =>
  [...world.members.values()].map(
    ({ fleet }) =>
      Array.from({ length: SHARD_COUNT }, (_, shard) => shard).filter((shard) => fleet.owns(service, shard)).length,
  );
