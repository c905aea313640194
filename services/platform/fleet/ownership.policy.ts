/** Decides which member of the fleet owns which shard of a service, from the set of members alone. */
import type { ServiceName } from "../../../protocols/ports.ts";
import { fnv1a, SHARD_COUNT, scatter } from "../../../protocols/subjects.ts";

/** No member owns more than this many times the mean number of shards of a service, rounded up. */
export const LOAD_BOUND = 1.25;

/** The weight of a member for a shard of a service: a number from 0 that depends on these three alone. */
export type Weigh = (service: ServiceName, shard: number, member: string) => number;

/**
 * The owner of each shard of a service, by shard; empty when no member runs it. Each shard goes to the member with the
 * most weight for it (rendezvous hashing) that has room left. Members that know the same members compute the same
 * owners, and a member that comes or goes moves few other shards. `weigh` is called at most once per member and shard.
 */
export function ownersOf(
  service: ServiceName,
  members: ReadonlySet<string>,
  weigh: Weigh = weightOf,
): readonly string[] {
  if (members.size === 0) return [];
  const room = new Map([...members].sort().map((member) => [member, roomFor(members.size)]));
  return Array.from({ length: SHARD_COUNT }, (_, shard) => {
    const owner = heaviest((member) => weigh(service, shard, member), room);
    room.set(owner, (room.get(owner) ?? 0) - 1);
    return owner;
  });
}

/** How many shards of a service one member of a fleet of this size may own. */
export function roomFor(memberCount: number): number {
  return Math.ceil((LOAD_BOUND * SHARD_COUNT) / memberCount);
}

function heaviest(weigh: (member: string) => number, room: ReadonlyMap<string, number>): string {
  let owner = "";
  let most = -1;
  for (const [member, left] of room) {
    const weight = left > 0 ? weigh(member) : -1;
    if (weight <= most) continue;
    owner = member;
    most = weight;
  }
  return owner;
}

function weightOf(service: ServiceName, shard: number, member: string): number {
  return scatter(fnv1a(`${service}/${shard}/${member}`));
}
