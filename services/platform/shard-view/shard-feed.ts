/** Feeds a ShardView from the bus and requests resyncs: the wiring that every reader of a shard shares. */
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import type { Io, Stop } from "../../../protocols/ports.ts";
import type { PodsOfNode } from "./shard-pods.ts";
import { ShardView } from "./shard-view.ts";

/** What a reader does with the messages of a shard; `cause` is the id of the message. */
export interface ShardReader {
  /** A node's state was published; `previous` is the last known state under its name. */
  node(node: ObservedNode, previous: ObservedNode | null, cause: string): void;
  gone(node: ObservedNode, cause: string): void;
  /** A node's pods are complete in a new version. A reader without this method keeps no pods. */
  pods?(node: ObservedNode, pods: PodsOfNode, cause: string): void;
  /** A pulse names other outages than the one before; called before `pulse`. */
  outagesChanged?(cause: string): void;
  /** A pulse was received: the view may have become current. */
  pulse?(cause: string): void;
}

/** A view that is fed until `stop`. */
export interface ShardFeed {
  readonly view: ShardView;
  /** Marks the view as suspect and requests a resync, unless the last request is more recent than resyncRetryMs. */
  markSuspect(reason: string, cause: string | null): void;
  stop: Stop;
}

/** Subscribes a reader to one shard and requests its first resync. The caller reports gaps through `markSuspect`. */
export function feedShard(
  io: Io,
  shard: number,
  { needs, reader }: { needs: readonly WatchName[]; reader: ShardReader },
): ShardFeed {
  const { bus, clock, profile } = io;
  const beganMs = clock.monotonicMs();
  const view = new ShardView({ needs, holdsPods: reader.pods !== undefined, profile, beganMs });
  const requestIfNeeded = (cause: string | null): void => {
    const reason = view.resyncReason(clock.monotonicMs());
    if (reason !== null) bus.publish("asked.resync", { shard, reason }, cause);
  };
  const stops = [
    bus.subscribe("observed.node", shard, (message) => {
      const { body, id } = message;
      if (!view.isOutdated(message)) reader.node(body, view.onNode(body), id);
    }),
    bus.subscribe("observed.gone", shard, ({ body, id }) => {
      const gone = view.onGone(body);
      if (gone !== null) reader.gone(gone, id);
    }),
    bus.subscribe("observed.pulse", shard, (message) => {
      const outagesBefore = view.outages;
      for (const node of view.onPulse(message, clock.monotonicMs())) reader.gone(node, message.id);
      requestIfNeeded(message.id);
      if (!areSame(view.outages, outagesBefore)) reader.outagesChanged?.(message.id);
      reader.pulse?.(message.id);
    }),
  ];
  if (reader.pods !== undefined) {
    const onPods = ({ body, id }: Message<"observed.pods">): void => {
      const complete = view.onPods(body);
      const node = view.node(body.node);
      if (complete !== null && node !== null) reader.pods?.(node, complete, id);
    };
    stops.push(bus.subscribe("observed.pods", shard, onPods));
  }
  requestIfNeeded(null);
  return {
    view,
    markSuspect(reason, cause) {
      view.markSuspect(reason);
      requestIfNeeded(cause);
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function areSame(left: readonly FrozenInterval[], right: readonly FrozenInterval[]): boolean {
  return left.length === right.length && JSON.stringify(left) === JSON.stringify(right);
}
