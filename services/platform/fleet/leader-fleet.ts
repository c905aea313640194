/**
 * The fleet of a process that shares its work with no other process but may be on standby. It owns every shard while it
 * leads; taking the lead is a takeover like any other. The observer owns its shards always, because it only reads. A
 * standby therefore receives every heartbeat, and silence that it observed counts when it takes the lead. Example: a
 * node's last heartbeat arrives at second 0, and its grace is 50 s. A standby that takes the lead at second 30 finds
 * the node silent at second 50, not at 80.
 */
import type { Fleet, ServiceName, ShardFollower, Stop } from "../../../protocols/ports.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";

const WARM: ServiceName = "observer";

/** A fleet of one leader and its standbys, as seen by one of them. It is on standby at first. */
export class LeaderFleet implements Fleet {
  readonly member: string;
  readonly #followers = new Map<ShardFollower, ServiceName>();
  #leads = false;

  constructor(member: string) {
    this.member = member;
  }

  owns(service: ServiceName): boolean {
    return this.#leads || service === WARM;
  }

  follow(service: ServiceName, follower: ShardFollower): Stop {
    if (this.owns(service)) forEachShard((shard) => follower.gained(shard));
    this.#followers.set(follower, service);
    return () => this.#followers.delete(follower);
  }

  /** Takes every shard. */
  lead(): void {
    this.#leads = true;
    this.#notify((follower, shard) => follower.gained(shard));
  }

  /** Gives every shard up, because another process may lead. */
  yield(): void {
    this.#leads = false;
    this.#notify((follower, shard) => follower.lost(shard));
  }

  /** A process that leaves keeps its shards until its writes are done: only then is its Lease released. */
  goodbye(left: () => void = () => {}): void {
    left();
  }

  #notify(change: (follower: ShardFollower, shard: number) => void): void {
    for (const [follower, service] of Array.from(this.#followers)) {
      if (service !== WARM) forEachShard((shard) => change(follower, shard));
    }
  }
}

function forEachShard(take: (shard: number) => void): void {
  for (let shard = 0; shard < SHARD_COUNT; shard++) take(shard);
}
