/** Who minds which shard. What a shard's owner does with it is the services' affair. */
import type { Fleet } from "../../protocols/ports.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";

/** The fleet of a process that is alone: it minds every shard of every service, from the start and for ever. */
export function aloneFleet(member: string): Fleet {
  return {
    member,
    owns: () => true,
    follow(_service, follower) {
      for (let shard = 0; shard < SHARD_COUNT; shard++) follower.gained(shard);
      return () => {};
    },
  };
}
