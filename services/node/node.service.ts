/**
 * The node service: one actor per node of the shards this process minds. Decisions are in the policies, states in the
 * machine.
 */
import type { Service } from "../../protocols/ports.ts";
import { KeyedDeadlines } from "../platform/structures/deadlines.keyed.ts";
import type { NodeActor } from "./node.actor.ts";
import { nodeCounters } from "./node.counters.ts";
import { NodeShard } from "./node.shard.ts";
import { ZoneHalts } from "./zone-halts.ts";

/** Judges nodes and asks for what their state demands. */
export const nodeService: Service = (io) => {
  const { bus, clock, fleet, metrics, profile } = io;
  const shards = new Map<number, NodeShard>();
  const wake = (actor: NodeActor): void => actor.review();
  const graces = new KeyedDeadlines<NodeActor>({ clock, fire: wake });
  const reviews = new KeyedDeadlines<NodeActor>({ clock, fire: wake });
  const shared = { io, graces, reviews, counters: nodeCounters(metrics) };
  const lose = (shard: number): void => {
    shards.get(shard)?.stop();
    shards.delete(shard);
  };
  const stopFollowing = fleet.follow("node", {
    gained: (shard) => shards.set(shard, new NodeShard(shared, shard)),
    lost: lose,
  });
  const stopGaps = bus.onGap((type, shard) => {
    if (type.startsWith("observed.")) shards.get(shard)?.gap();
  });
  const halts = new ZoneHalts(profile);
  const stopZones = bus.subscribe("judged.zone", "all", ({ source, id, body }) => {
    const change = halts.hear(body, source, clock.monotonicMs());
    if (change === null) return;
    for (const shard of shards.values()) shard.zoneHalted(body.zone, change === "began", id);
  });
  return () => {
    stopFollowing();
    stopGaps();
    stopZones();
    for (const shard of shards.keys()) lose(shard);
  };
};
