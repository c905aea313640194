/** A fleet for tests. It finds no members and decides nothing by itself. */
import type { Fleet, ServiceName, ShardFollower, Stop } from "../../protocols/ports.ts";

/** A fleet with ownership that a test sets by hand. */
export class HandFleet implements Fleet {
  readonly member: string;
  readonly #owned = new Set<string>();
  readonly #followers = new Set<{ readonly service: ServiceName; readonly follower: ShardFollower }>();

  constructor(member: string) {
    this.member = member;
  }

  owns(service: ServiceName, shard: number): boolean {
    return this.#owned.has(`${service}/${shard}`);
  }

  follow(service: ServiceName, follower: ShardFollower): Stop {
    const entry = { service, follower };
    this.#followers.add(entry);
    for (const owned of this.#owned) {
      const [name, shard] = owned.split("/");
      if (name === service) follower.gained(Number(shard));
    }
    return () => this.#followers.delete(entry);
  }

  /** Gives a shard of a service to this member, or removes it. */
  set(service: ServiceName, shard: number, isOwned: boolean): void {
    const key = `${service}/${shard}`;
    if (this.#owned.has(key) === isOwned) return;
    if (isOwned) this.#owned.add(key);
    else this.#owned.delete(key);
    for (const { service: followed, follower } of this.#followers) {
      if (followed !== service) continue;
      if (isOwned) follower.gained(shard);
      else follower.lost(shard);
    }
  }
}
