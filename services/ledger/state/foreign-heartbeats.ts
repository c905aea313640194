/**
 * The last heartbeats of nodes whose shards other members own. A member could do without them, so it reads them only
 * where they are few, and while somebody asks.
 */
import type { Bus, Clock, Stop } from "../../../protocols/ports.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { translated } from "../../platform/shard-view/watch-health.ts";

/** How long they are followed after somebody has asked. */
const ASKED_MS = 60_000;

/** What they are followed with. */
export interface ForeignHeartbeatOptions {
  readonly bus: Pick<Bus, "subscribe">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly isOwn: (shard: number) => boolean;
  /** How many nodes the cluster has. */
  readonly nodes: () => number;
  readonly isNode: (name: string) => boolean;
  /** In a cluster of up to this many nodes they are always followed. */
  readonly nodesMax: number;
}

/** Last heartbeats by node. Times are monotonic milliseconds. */
export class ForeignHeartbeats {
  readonly #options: ForeignHeartbeatOptions;
  readonly #seenAtMs = new Map<string, number>();
  readonly #followed = new Map<number, Stop>();
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ForeignHeartbeatOptions) {
    this.#options = options;
  }

  /** Follows them for a while, because somebody asks. */
  ask(): void {
    this.#askedMs = this.#options.clock.monotonicMs();
    this.review();
  }

  /** Follows or leaves shards, by their owners, the size of the cluster and the time since the last question. */
  review(): void {
    const { clock, isOwn, nodes, isNode, nodesMax } = this.#options;
    const isWanted = nodes() <= nodesMax || clock.monotonicMs() - this.#askedMs < ASKED_MS;
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      const stop = this.#followed.get(shard);
      if (isWanted && !isOwn(shard)) {
        if (stop === undefined) this.#followed.set(shard, this.#follow(shard));
      } else if (stop !== undefined) {
        stop();
        this.#followed.delete(shard);
      }
    }
    for (const name of this.#seenAtMs.keys()) if (!isWanted || !isNode(name)) this.#seenAtMs.delete(name);
  }

  /** When a node's last heartbeat was seen; null where none is known. */
  lastMs(node: string): number | null {
    return this.#seenAtMs.get(node) ?? null;
  }

  stop(): void {
    for (const stop of this.#followed.values()) stop();
    this.#followed.clear();
  }

  #follow(shard: number): Stop {
    const { bus, clock, isNode } = this.#options;
    return bus.subscribe("observed.lease", shard, ({ at, body }) => {
      const nowMs = clock.monotonicMs();
      for (const { node, seenAt } of body.heartbeats) {
        const seenAtMs = translated(seenAt, at, nowMs);
        if (isNode(node)) this.#seenAtMs.set(node, Math.max(seenAtMs, this.#seenAtMs.get(node) ?? seenAtMs));
      }
    });
  }
}
