/**
 * Follows the active observer in a process that does not observe, so that this process can take over and continue: the
 * silence of a node then counts from its last heartbeat, not from the takeover. It publishes nothing.
 */
import type { WatchName } from "../../protocols/ledger-reader.ts";
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { Heartbeat } from "../../protocols/objects.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { outagesOver } from "../domain/paused-time/outages.ts";
import { WATCHES } from "../platform/shard-view/cluster-watch-health.ts";
import { PulseLateness, publisherOf, translated } from "../platform/shard-view/watch-health.ts";
import type { KnownHeartbeat } from "./node-entry.ts";
import type { HeardBefore } from "./outage-detection.ts";

/** The publisher name of this process's own ended observer. */
const OURSELVES = "ourselves";

/** The state of this process's own observer at its end. */
export interface EndedObserver {
  heartbeats(): Iterable<KnownHeartbeat>;
  sinceMs(watch: WatchName): number | null;
  heardBefore(): HeardBefore | null;
  /** Its own predecessor, unless every watch had synced. */
  readonly predecessor: Standby | null;
}

/** One node name: the last heartbeat of each kind, its last publisher, and after how many resyncs of the shard. */
interface KnownNode {
  readonly shard: number;
  publisher: string;
  resyncs: number;
  readonly stamps: Partial<Record<Heartbeat["kind"], Pick<KnownHeartbeat, "renewedAt" | "seenMs">>>;
}

/** How many resyncs of a shard its last publisher has finished. */
interface PublishedResyncs {
  readonly publisher: string;
  readonly resyncs: number;
}

/** The last published sync of one watch; instants are on the monotonic clock. */
interface PublishedSync {
  readonly sinceMs: number;
  readonly publishedMs: number;
}

/** Receives until it is stopped, and keeps what it received. */
export class Standby {
  readonly #io: Io;
  readonly #nodes = new Map<string, KnownNode>();
  readonly #resyncs = new Map<number, PublishedResyncs>();
  readonly #sync = new Map<WatchName, PublishedSync>();
  readonly #lateness: PulseLateness;
  #heardBefore: HeardBefore | null;
  readonly #stops: readonly Stop[];

  /** `ended` is an observer of this process whose state the standby inherits. */
  constructor(io: Io, ended: EndedObserver | null = null) {
    this.#io = io;
    this.#lateness = new PulseLateness(io.profile, io.clock.monotonicMs());
    this.#heardBefore = ended?.heardBefore() ?? null;
    if (ended !== null) this.#inherit(ended);
    this.#stops = [
      io.bus.subscribe("observed.lease", "all", (message) => this.#onHeartbeats(message)),
      io.bus.subscribe("observed.gone", "all", ({ body }) => this.#nodes.delete(body.node)),
      io.bus.subscribe("observed.pulse", "all", (message) => this.#onPulse(message)),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  /** When this exact stamp was first seen; null if it is not the last one known, or is empty. */
  seenMs(node: string, kind: Heartbeat["kind"], renewedAt: number | null): number | null {
    const stamp = this.#nodes.get(node)?.stamps[kind];
    return renewedAt === null || stamp?.renewedAt !== renewedAt ? null : stamp.seenMs;
  }

  /** Start of a sync that an observer can continue; null after a gap longer than watchBlindMs. */
  sinceMs(watch: WatchName): number | null {
    const { clock, profile } = this.#io;
    const sync = this.#sync.get(watch);
    if (sync === undefined || clock.monotonicMs() - sync.publishedMs > profile.watchBlindMs) return null;
    return sync.sinceMs;
  }

  /** Until when the observer has heard nodes, and the outages it has found; null for none. */
  heardBefore(): HeardBefore | null {
    return this.#heardBefore;
  }

  #inherit(ended: EndedObserver): void {
    const { predecessor } = ended;
    for (const [node, { shard, stamps }] of predecessor === null ? [] : predecessor.#nodes) {
      this.#nodes.set(node, { shard, publisher: OURSELVES, resyncs: 0, stamps: { ...stamps } });
    }
    for (const { node, kind, renewedAt, seenMs } of ended.heartbeats()) {
      const known = this.#nodes.get(node) ?? { shard: shardOf(node), publisher: OURSELVES, resyncs: 0, stamps: {} };
      known.stamps[kind] = { renewedAt, seenMs };
      this.#nodes.set(node, known);
    }
    const publishedMs = this.#io.clock.monotonicMs();
    for (const name of WATCHES) {
      const sinceMs = ended.sinceMs(name);
      const inherited = predecessor === null ? undefined : predecessor.#sync.get(name);
      const sync = sinceMs === null ? inherited : { sinceMs, publishedMs };
      if (sync !== undefined) this.#sync.set(name, sync);
    }
  }

  #onHeartbeats(message: Message<"observed.lease">): void {
    const { body, at } = message;
    const nowMs = this.#io.clock.monotonicMs();
    const publisher = publisherOf(message);
    const resyncs = this.#resyncsBy(publisher, body.shard);
    for (const { node, kind, renewedAt, seenAt } of body.heartbeats) {
      const known = this.#nodes.get(node) ?? { shard: body.shard, publisher, resyncs, stamps: {} };
      known.publisher = publisher;
      known.resyncs = resyncs;
      this.#nodes.set(node, known);
      if (known.stamps[kind]?.renewedAt === renewedAt) continue;
      known.stamps[kind] = { renewedAt, seenMs: translated(seenAt, at, nowMs) };
    }
  }

  /**
   * A finished resync has published the whole shard, so a node that it left out is gone. No message shows when a resync
   * begins. So a node counts as left out if the observer has not published it since the end of the last resync, or ever
   * in the case of its first resync.
   */
  #onPulse(message: Message<"observed.pulse">): void {
    const { shard, resyncs, watches } = message.body;
    const publisher = publisherOf(message);
    const before = this.#resyncsBy(publisher, shard);
    if (resyncs > before && (before > 0 || resyncs === 1)) this.#forgetUnpublished(shard, publisher, before);
    this.#resyncs.set(shard, { publisher, resyncs });
    // An old pulse, read after a suspension of this process, would cover that time, in which perhaps no process
    // observed.
    if (!this.#lateness.onPulse(message, this.#io.clock.monotonicMs())) this.#applySync(watches, message.at);
    this.#applyHeard(message.body);
  }

  #applyHeard({ heard, outages = [] }: BodyOf<"observed.pulse">): void {
    if (heard === undefined || heard.at < (this.#heardBefore?.heard.at ?? Number.NEGATIVE_INFINITY)) return;
    const { at, leasesVersion = null } = heard;
    this.#heardBefore = { heard: { at, leasesVersion }, outages: outagesOver(outages, at) };
  }

  #resyncsBy(publisher: string, shard: number): number {
    const published = this.#resyncs.get(shard);
    return published?.publisher === publisher ? published.resyncs : 0;
  }

  #forgetUnpublished(shard: number, publisher: string, sinceResyncs: number): void {
    for (const [node, known] of this.#nodes) {
      const isPublished = known.publisher === publisher && known.resyncs >= sinceResyncs;
      if (known.shard === shard && !isPublished) this.#nodes.delete(node);
    }
  }

  #applySync(watches: BodyOf<"observed.pulse">["watches"], at: number): void {
    const publishedMs = this.#io.clock.monotonicMs();
    for (const name of WATCHES) {
      const { synced, since, lostAt } = watches[name];
      if (synced && since !== null) this.#sync.set(name, { sinceMs: translated(since, at, publishedMs), publishedMs });
      else if (lostAt !== undefined) this.#endSync(name, translated(lostAt, at, publishedMs));
    }
  }

  /** A watch may be found lost only later. Its sync then ended before the last pulse that published it. */
  #endSync(name: WatchName, lostMs: number): void {
    const sync = this.#sync.get(name);
    if (sync !== undefined && lostMs < sync.publishedMs) this.#sync.set(name, { ...sync, publishedMs: lostMs });
  }
}
