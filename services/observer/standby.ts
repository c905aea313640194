/**
 * What a process that does not observe remembers of the one that does, so that it goes on where that one ended and no
 * silence is counted anew. It tells nothing.
 */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { Heartbeat } from "../../protocols/objects.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { publisherOf, translated } from "../platform/shard-view/watch-health.ts";
import type { KnownHeartbeat } from "./node-entry.ts";

type WatchName = keyof BodyOf<"observed.pulse">["watches"];

const WATCHES: readonly WatchName[] = ["nodes", "leases", "pods"];

/** Stands for our own observer, which has ended, among those who told. */
const OURSELVES = "ourselves";

/** What an observer knew that has ended. */
export interface EndedObserver {
  heartbeats(): Iterable<KnownHeartbeat>;
  sinceMs(watch: WatchName): number | null;
  /** What it remembered of the one before, as long as it had not seen everything itself. */
  readonly predecessor: Standby | null;
}

/** A stamp of a kubelet, and when it was first seen on the monotonic clock. */
interface SeenStamp {
  readonly renewedAt: number | null;
  readonly seenMs: number;
}

/** One node name: its last sign of each kind, and who told of it last, after how many resyncs of its shard. */
interface RememberedNode {
  readonly shard: number;
  publisher: string;
  resyncs: number;
  readonly stamps: Partial<Record<Heartbeat["kind"], SeenStamp>>;
}

/** What an observer said last of a shard: how many resyncs of it were finished. */
interface PublishedResyncs {
  readonly publisher: string;
  readonly resyncs: number;
}

/** The sight of one watch, as the observer told it last; instants are on the monotonic clock. */
interface InheritedSync {
  readonly sinceMs: number;
  readonly publishedMs: number;
}

/** Listens until it is stopped; what it heard stays known. */
export class Standby {
  readonly #io: Io;
  readonly #nodes = new Map<string, RememberedNode>();
  /** Who told last of each shard that it had told all of it, and how often it has. */
  readonly #resyncs = new Map<number, PublishedResyncs>();
  readonly #sync = new Map<WatchName, InheritedSync>();
  readonly #stops: readonly Stop[];

  /** Goes on with what `ended` knew, an observer of this very process. */
  constructor(io: Io, ended: EndedObserver | null = null) {
    this.#io = io;
    if (ended !== null) this.#inherit(ended);
    this.#stops = [
      io.bus.subscribe("observed.lease", "all", (message) => this.#takeHeartbeats(message)),
      io.bus.subscribe("observed.gone", "all", ({ body }) => this.#nodes.delete(body.node)),
      io.bus.subscribe("observed.pulse", "all", (message) => this.#takePulse(message)),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  /** When this very stamp was first seen; null when it is not the one remembered, or none that could be told apart. */
  seenMs(node: string, kind: Heartbeat["kind"], renewedAt: number | null): number | null {
    const sign = this.#nodes.get(node)?.stamps[kind];
    return renewedAt === null || sign?.renewedAt !== renewedAt ? null : sign.seenMs;
  }

  /** Start of a sight that can be gone on with; null when nobody has seen for longer than watchBlindMs. */
  sinceMs(watch: WatchName): number | null {
    const { clock, profile } = this.#io;
    const sight = this.#sync.get(watch);
    if (sight === undefined || clock.monotonicMs() - sight.publishedMs > profile.watchBlindMs) return null;
    return sight.sinceMs;
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
      const remembered = predecessor === null ? undefined : predecessor.#sync.get(name);
      const sync = sinceMs === null ? remembered : { sinceMs, publishedMs };
      if (sync !== undefined) this.#sync.set(name, sync);
    }
  }

  #takeHeartbeats(message: Message<"observed.lease">): void {
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
   * An observer has told a shard whole: what it did not mention has gone without our hearing of it. Of one that has
   * just begun that is all it never mentioned; later, as nobody says when a resync began, all it has not mentioned
   * since it finished the one before.
   */
  #takePulse(message: Message<"observed.pulse">): void {
    const { shard, resyncs, watches } = message.body;
    const publisher = publisherOf(message);
    const before = this.#resyncsBy(publisher, shard);
    if (resyncs > before && (before > 0 || resyncs === 1)) this.#forgetUnmentioned(shard, publisher, before);
    this.#resyncs.set(shard, { publisher, resyncs });
    this.#takeSync(watches, message.at);
  }

  /** How many resyncs of a shard an observer is known to have finished. */
  #resyncsBy(publisher: string, shard: number): number {
    const published = this.#resyncs.get(shard);
    return published?.publisher === publisher ? published.resyncs : 0;
  }

  #forgetUnmentioned(shard: number, publisher: string, sinceResyncs: number): void {
    for (const [node, known] of this.#nodes) {
      const isMentioned = known.publisher === publisher && known.resyncs >= sinceResyncs;
      if (known.shard === shard && !isMentioned) this.#nodes.delete(node);
    }
  }

  #takeSync(watches: BodyOf<"observed.pulse">["watches"], at: number): void {
    const publishedMs = this.#io.clock.monotonicMs();
    for (const name of WATCHES) {
      const { synced, since, lostAt } = watches[name];
      if (synced && since !== null) this.#sync.set(name, { sinceMs: translated(since, at, publishedMs), publishedMs });
      else if (lostAt !== undefined) this.#endSync(name, translated(lostAt, at, publishedMs));
    }
  }

  /** A sight that was found out late to have ended did not last until it was told last. */
  #endSync(name: WatchName, lostMs: number): void {
    const sync = this.#sync.get(name);
    if (sync !== undefined && lostMs < sync.publishedMs) this.#sync.set(name, { ...sync, publishedMs: lostMs });
  }
}
