/**
 * The last heartbeats of nodes. Those in the shards of this ledger are counted by their age, for the metrics. A member
 * does not need those of other shards, so it reads them only where they are few, and while a client requests nodes.
 */
import type { Io, Stop } from "../../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../../protocols/subjects.ts";
import { translated } from "../../platform/shard-view/watch-health.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { ClusterState } from "./cluster-state.ts";
import { HeartbeatAges } from "./heartbeat-ages.ts";

/** How long those of other shards are followed after a request for nodes. */
const REQUESTED_MS = 60_000;

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
  #requestedMs = Number.NEGATIVE_INFINITY;

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

  /** Follows those of other shards for a while, because a client requests nodes. */
  followOthers(): void {
    this.#requestedMs = this.#io.clock.monotonicMs();
    this.review();
  }

  /** Follows or leaves other shards, by their owners, the size of the cluster and the time since the last request. */
  review(): void {
    const isRequested = this.#io.clock.monotonicMs() - this.#requestedMs < REQUESTED_MS;
    const isWanted = isRequested || this.#nodes.size <= this.#followedNodesMax;
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      const stop = this.#foreign.get(shard);
      if (isWanted && !this.#own.has(shard)) {
        if (stop === undefined) this.#foreign.set(shard, this.#follow(shard, this.#noteForeign));
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
    this.#own.set(
      shard,
      this.#follow(shard, (node, seenAtMs) => this.ages.beat(node, seenAtMs)),
    );
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

  readonly #noteForeign = (node: string, seenAtMs: number): false => {
    const known = this.#foreignSeenAtMs.get(node) ?? seenAtMs;
    if (this.#nodes.has(node)) this.#foreignSeenAtMs.set(node, Math.max(seenAtMs, known));
    return false;
  };

  /** Follows a shard. `isFresh` records each heartbeat and says whether it counts. */
  #follow(shard: number, isFresh: (node: string, seenAtMs: number) => boolean): Stop {
    const { bus, clock } = this.#io;
    return bus.subscribe("observed.lease", shard, ({ at, body }) => {
      const nowMs = clock.monotonicMs();
      const fresh = body.heartbeats.filter(({ node, seenAt }) => isFresh(node, translated(seenAt, at, nowMs)));
      this.#onFresh(fresh.length);
    });
  }
}
