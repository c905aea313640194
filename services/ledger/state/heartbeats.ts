/**
 * The last heartbeats of nodes. Those in the shards of this ledger are counted by their age, for the metrics. A member
 * could do without those of other shards, so it reads them only where they are few, and while somebody asks.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Io, Stop } from "../../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../../protocols/subjects.ts";
import { translated } from "../../platform/shard-view/watch-health.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { ClusterState } from "./cluster-state.ts";
import { HeartbeatAges } from "./heartbeat-ages.ts";

/** How long those of other shards are followed after somebody has asked. */
const ASKED_MS = 60_000;

type OnHeartbeats = (
  heartbeats: BodyOf<"observed.lease">["heartbeats"],
  /** Translates an instant of the observer into this process's monotonic milliseconds. */
  monotonicOf: (seenAt: number) => number,
) => void;

/** Last heartbeats by node. Times are monotonic milliseconds. */
export class Heartbeats {
  /** Of the nodes in own shards. */
  readonly ages = new HeartbeatAges();
  readonly #io: Pick<Io, "bus" | "clock">;
  readonly #followedNodesMax: number;
  readonly #nodes: Pick<ReadonlyMap<string, unknown>, "size" | "has">;
  readonly #onFresh: (count: number) => void;
  readonly #own = new Map<number, Stop>();
  readonly #foreign = new Map<number, Stop>();
  readonly #foreignSeenAtMs = new Map<string, number>();
  #askedMs = Number.NEGATIVE_INFINITY;

  /** `onFresh` receives how many heartbeats of own shards have arrived, at most one a node and second. */
  constructor(
    { io, followedNodesMax }: Pick<LedgerSetup, "io" | "followedNodesMax">,
    { nodes }: Pick<ClusterState, "nodes">,
    onFresh: (count: number) => void,
  ) {
    this.#io = io;
    this.#followedNodesMax = followedNodesMax;
    this.#nodes = nodes;
    this.#onFresh = onFresh;
  }

  /** When a node's last heartbeat was seen, in an own shard to the second before it; null where none is known. */
  lastMs(node: string): number | null {
    return this.ages.lastMs(node) ?? this.#foreignSeenAtMs.get(node) ?? null;
  }

  /** Follows those of other shards for a while, because somebody asks. */
  ask(): void {
    this.#askedMs = this.#io.clock.monotonicMs();
    this.review();
  }

  /** Follows or leaves other shards, by their owners, the size of the cluster and the time since the last question. */
  review(): void {
    const isAsked = this.#io.clock.monotonicMs() - this.#askedMs < ASKED_MS;
    const isWanted = isAsked || this.#nodes.size <= this.#followedNodesMax;
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      const stop = this.#foreign.get(shard);
      if (isWanted && !this.#own.has(shard)) {
        if (stop === undefined) this.#foreign.set(shard, this.#follow(shard, this.#onForeign));
      } else if (stop !== undefined) {
        stop();
        this.#foreign.delete(shard);
      }
    }
    for (const name of this.#foreignSeenAtMs.keys()) {
      if (!isWanted || !this.#nodes.has(name)) this.#foreignSeenAtMs.delete(name);
    }
  }

  /** Follows a shard that this ledger owns from now on. */
  gain(shard: number): void {
    this.#own.get(shard)?.();
    this.#own.set(shard, this.#follow(shard, this.#onOwn));
  }

  /** Leaves a shard that another ledger owns from now on. */
  lose(shard: number): void {
    this.#own.get(shard)?.();
    this.#own.delete(shard);
    this.ages.keep((node) => shardOf(node) !== shard);
  }

  stop(): void {
    for (const stop of [...this.#own.values(), ...this.#foreign.values()]) stop();
    this.#foreign.clear();
  }

  readonly #onOwn: OnHeartbeats = (heartbeats, monotonicOf) => {
    const fresh = heartbeats.filter(({ node, seenAt }) => this.ages.beat(node, monotonicOf(seenAt)));
    this.#onFresh(fresh.length);
  };

  readonly #onForeign: OnHeartbeats = (heartbeats, monotonicOf) => {
    for (const { node, seenAt } of heartbeats) {
      if (!this.#nodes.has(node)) continue;
      const seenAtMs = monotonicOf(seenAt);
      this.#foreignSeenAtMs.set(node, Math.max(seenAtMs, this.#foreignSeenAtMs.get(node) ?? seenAtMs));
    }
  };

  #follow(shard: number, onHeartbeats: OnHeartbeats): Stop {
    const { bus, clock } = this.#io;
    return bus.subscribe("observed.lease", shard, ({ at, body }) => {
      const nowMs = clock.monotonicMs();
      onHeartbeats(body.heartbeats, (seenAt) => translated(seenAt, at, nowMs));
    });
  }
}
