/** The node service: one actor per node of the shards that this process owns. */
import type { Io, Metrics, Service } from "../../protocols/ports.ts";
import { readinessBreakersOf } from "../domain/limited-policies.ts";
import { LimitHolds, LimitReceiver } from "../platform/node-policies/limit-holds.ts";
import { ZoneHalts } from "../platform/shard-view/zone-halts.ts";
import { KeyedDeadlines } from "../structures/deadlines.keyed.ts";
import type { NodeActor } from "./node.actor.ts";
import { NodeShard } from "./node.shard.ts";
import { PolicyConflicts } from "./concerns/selection/policy-conflicts.ts";

/** Upper bounds of the lateness histogram, in seconds. */
const LATENESS_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Reviews some actors. A review may put its actor back into the set, which a loop over it would visit again. */
function reviewAll(actors: ReadonlySet<NodeActor>, cause: string): void {
  const present = [...actors];
  for (const actor of present) actor.review(cause);
}

const reviewNow = (actor: NodeActor): void => actor.review();

/** Judges nodes and requests the changes that their state demands. */
export const nodeService: Service = (io) => {
  const { bus, clock, fleet, metrics, profile } = io;
  const shards = new Map<number, NodeShard>();
  const limits = new LimitHolds(profile);
  const heldActors = new Set<NodeActor>();
  const limitReceiver = new LimitReceiver(io, limits, (cause) => reviewAll(heldActors, cause));
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
    graces: new KeyedDeadlines<NodeActor>({ clock, fire: reviewNow }),
    reviews: new KeyedDeadlines<NodeActor>({ clock, fire: reviewNow }),
    ...nodeMetrics(metrics),
  };
  const lose = (shard: number): void => {
    shards.get(shard)?.stop();
    shards.delete(shard);
  };
  followLimits(limitReceiver, io);
  const stops = [
    fleet.follow("node", { gained: (shard) => shards.set(shard, new NodeShard(shared, shard)), lost: lose }),
    bus.onGap((type, shard) => {
      if (type.startsWith("observed.")) shards.get(shard)?.gap();
    }),
    io.policies.follow((cause) => {
      followLimits(limitReceiver, io);
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

/** Follows the limits that may hold an out-of-service taint back, or marks of pods. */
function followLimits(receiver: LimitReceiver, { policies, profile }: Pick<Io, "policies" | "profile">): void {
  const waiting = (policies.current()?.policies ?? []).filter(
    ({ outOfService, circuitBreaker }) => outOfService !== null || circuitBreaker?.holdsReadiness === true,
  );
  receiver.follow(waiting, readinessBreakersOf(null, profile).length > 0);
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
