/** The node service: one actor per node of the shards that this process owns. */
import type { NodePolicy, PolicySet } from "../../protocols/policy-set.ts";
import type { Metrics, Service } from "../../protocols/ports.ts";
import { LimitHolds, LimitReceiver } from "../platform/node-policies/limit-holds.ts";
import { ZoneHalts } from "../platform/shard-view/zone-halts.ts";
import { KeyedDeadlines } from "../platform/structures/deadlines.keyed.ts";
import type { NodeActor } from "./node.actor.ts";
import { NodeShard } from "./node.shard.ts";
import { PolicyConflicts } from "./policy-conflicts.ts";

/** Upper bounds of the lateness histogram, in seconds. */
const LATENESS_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Judges nodes and requests the changes that their state demands. */
export const nodeService: Service = (io) => {
  const { bus, clock, fleet, metrics, profile } = io;
  const shards = new Map<number, NodeShard>();
  const fire = (actor: NodeActor): void => actor.review();
  const limits = new LimitHolds(profile);
  const heldActors = new Set<NodeActor>();
  const limitReceiver = new LimitReceiver(io, limits, (cause) => {
    for (const actor of heldActors) actor.review(cause);
  });
  const halts = new ZoneHalts(profile);
  const conflicts = new PolicyConflicts(io.log, io.policies.current()?.policies);
  const shared = {
    io,
    beganMs: clock.monotonicMs(),
    limits,
    heldActors,
    conflicts,
    isHalted: (zone: string) => halts.isHalted(zone),
    haltEndedMs: (zone: string) => halts.endedMs(zone),
    graces: new KeyedDeadlines<NodeActor>({ clock, fire }),
    reviews: new KeyedDeadlines<NodeActor>({ clock, fire }),
    ...nodeMetrics(metrics),
  };
  const lose = (shard: number): void => {
    shards.get(shard)?.stop();
    shards.delete(shard);
  };
  limitReceiver.follow(policiesWithOutOfService(io.policies.current()));
  const stops = [
    fleet.follow("node", { gained: (shard) => shards.set(shard, new NodeShard(shared, shard)), lost: lose }),
    bus.onGap((type, shard) => {
      if (type.startsWith("observed.")) shards.get(shard)?.gap();
    }),
    io.policies.follow((cause) => {
      limitReceiver.follow(policiesWithOutOfService(io.policies.current()));
      conflicts.keep(io.policies.current()?.policies ?? []);
      for (const shard of shards.values()) shard.policiesChanged(cause);
    }),
    bus.subscribe("judged.zone", "all", ({ source, id, body }) => {
      const change = halts.take(body, source, clock.monotonicMs());
      if (change === null) return;
      for (const shard of shards.values()) shard.zoneHalted(body.zone, change === "began", id);
    }),
  ];
  return () => {
    limitReceiver.stop();
    for (const stop of stops) stop();
    for (const shard of shards.keys()) lose(shard);
  };
};

function policiesWithOutOfService(set: PolicySet | null): readonly NodePolicy[] {
  return (set?.policies ?? []).filter(({ outOfService }) => outOfService !== null);
}

function nodeMetrics(metrics: Metrics) {
  return {
    lateness: metrics.histogram({
      name: "vigil_verdict_lateness_seconds",
      help: "How long after the end of its grace a silent node was found.",
      buckets: LATENESS_BUCKETS,
    }),
    refuted: metrics.counter({
      name: "vigil_verdicts_refuted_total",
      help: "Verdicts of silence that a live read before the write refuted.",
    }),
    heldBack: metrics.counter({
      name: "vigil_reviews_held_back_total",
      help: "Reviews of a node whose harmful changes waited because its shard was not synced.",
    }),
  };
}
