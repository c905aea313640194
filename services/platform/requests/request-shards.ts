/** Subscribes a writer to the requests of each shard that its process owns. It carries none of them out. */
import type { Fleet, ServiceName, Stop } from "../../../protocols/ports.ts";

/** What a writer does about its shards. */
export interface RequestShards {
  readonly service: ServiceName;
  /** Subscribes to what is requested of a shard that was gained. */
  readonly subscribe: (shard: number) => readonly Stop[];
  /** Drops what is under way of a shard that was lost: its next owner is asked again. */
  readonly drop: (shard: number) => void;
}

/** Follows the shards of a writer until it is stopped; then it drops what is under way of all of them. */
export function followRequests(fleet: Pick<Fleet, "follow">, { service, subscribe, drop }: RequestShards): Stop {
  const subscriptions = new Map<number, readonly Stop[]>();
  const lose = (shard: number): void => {
    for (const stop of subscriptions.get(shard) ?? []) stop();
    subscriptions.delete(shard);
    drop(shard);
  };
  const stopFollowing = fleet.follow(service, {
    gained: (shard) => subscriptions.set(shard, subscribe(shard)),
    lost: lose,
  });
  return () => {
    stopFollowing();
    for (const shard of subscriptions.keys()) lose(shard);
  };
}
