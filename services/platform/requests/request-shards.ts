/** Subscribes a writer to the requests for each shard that its process owns. */
import type { Fleet, ServiceName, Stop } from "../../../protocols/ports.ts";

/** How a writer follows its shards. */
export interface RequestShards {
  readonly service: ServiceName;
  readonly subscribe: (shard: number) => readonly Stop[];
  /** Drops the unfinished requests for a lost shard: its next owner receives them when they are repeated. */
  readonly drop: (shard: number) => void;
}

/** Follows the shards of a writer. The stop function also drops the unfinished requests for all of them. */
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
