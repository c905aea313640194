/** Decides which member of the fleet minds which shard. It hears no one: the members come in as an argument. */
import type { ServiceName } from "../../../protocols/ports.ts";
import { fnv1a, SHARD_COUNT } from "../../../protocols/subjects.ts";

/** No member minds more than this many times the mean number of shards of a service, rounded up. */
export const LOAD_BOUND = 1.25;

/** What a member weighs for a shard of a service: a number from 0 on that depends on these three alone. */
export type Weigh = (service: ServiceName, shard: number, member: string) => number;

/**
 * The owner of each shard of a service, by shard; empty when no member runs it. Each shard goes to the member that
 * weighs most for it (rendezvous hashing) and has room left. It depends on the set of members alone, so that all who
 * know the same members agree, and a member that comes or goes moves few shards but its own. It weighs each member once
 * for each shard at most.
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

/** How many shards of a service one of so many members may mind. */
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

/**
 * Spreads a hash over all its bits, because FNV leaves texts that end alike close together (the finalizer of
 * MurmurHash3).
 */
function scatter(hash: number): number {
  let bits = hash ^ (hash >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
