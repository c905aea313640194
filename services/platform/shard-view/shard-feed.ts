/**
 * Keeps a ShardView fed from the bus and asks for resyncs: the wiring every reader of a shard shares. It decides
 * nothing.
 */

import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Io, Stop } from "../../../protocols/ports.ts";
import type { PodsOfNode } from "./shard-pods.ts";
import { ShardView } from "./shard-view.ts";

/** What a reader is told of a shard; `cause` is the id of the message that told it. */
export interface ShardReader {
  /** A node is new, or was told again; `previous` is what was held under its name. */
  node(node: ObservedNode, previous: ObservedNode | null, cause: string): void;
  gone(node: ObservedNode, cause: string): void;
  /** A whole version of a node's pods; left out by readers that hold no pods. */
  pods?(node: ObservedNode, pods: PodsOfNode, cause: string): void;
  /** A pulse came: eyes may have opened. */
  pulse?(cause: string): void;
}

/** A fed view; `stop` ends its subscriptions. */
export interface ShardFeed {
  readonly view: ShardView;
  /** Notes a reason to distrust the view and asks for a resync, when the last one asked for is old enough. */
  markSuspect(reason: string, cause: string | null): void;
  stop: Stop;
}

/** Subscribes a reader to one shard and asks for its first resync. The caller tells it of gaps through `doubt`. */
export function feedShard(
  io: Io,
  shard: number,
  { needs, reader }: { needs: readonly WatchName[]; reader: ShardReader },
): ShardFeed {
  const { bus, clock, profile } = io;
  const beganMs = clock.monotonicMs();
  const view = new ShardView({ needs, holdsPods: reader.pods !== undefined, profile, beganMs });
  const askIfNeeded = (cause: string | null): void => {
    const reason = view.resyncReason(clock.monotonicMs());
    if (reason !== null) bus.publish("asked.resync", { shard, reason }, cause);
  };
  const takePods = (body: BodyOf<"observed.pods">, cause: string): void => {
    const whole = view.takePods(body);
    const node = view.node(body.node);
    if (whole !== null && node !== null) reader.pods?.(node, whole, cause);
  };
  const stops = [
    bus.subscribe("observed.node", shard, ({ body, id }) => reader.node(body, view.takeNode(body), id)),
    bus.subscribe("observed.gone", shard, ({ body, id }) => {
      const held = view.takeGone(body);
      if (held !== null) reader.gone(held, id);
    }),
    bus.subscribe("observed.pulse", shard, (message) => {
      for (const node of view.takePulse(message, clock.monotonicMs())) reader.gone(node, message.id);
      askIfNeeded(message.id);
      reader.pulse?.(message.id);
    }),
  ];
  if (reader.pods !== undefined) {
    stops.push(bus.subscribe("observed.pods", shard, ({ body, id }) => takePods(body, id)));
  }
  askIfNeeded(null);
  return {
    view,
    markSuspect(reason, cause) {
      view.markSuspect(reason);
      askIfNeeded(cause);
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}
