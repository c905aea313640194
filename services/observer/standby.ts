/**
 * What a process that does not observe remembers of the one that does, so that it goes on where that one ended and no
 * silence is counted anew. It tells nothing.
 */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { Heartbeat } from "../../protocols/objects.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { publisherOf, translated } from "../platform/shard-view/shard-sight.ts";
import type { HeldSign } from "./node-entry.ts";

type WatchName = keyof BodyOf<"observed.pulse">["watches"];

const WATCHES: readonly WatchName[] = ["nodes", "leases", "pods"];

/** Stands for our own observer, which has ended, among those who told. */
const OURSELVES = "ourselves";

/** What an observer knew that has ended. */
export interface Ended {
  signs(): Iterable<HeldSign>;
  sinceMs(watch: WatchName): number | null;
  /** What it remembered of the one before, as long as it had not seen everything itself. */
  readonly before: Standby | null;
}

/** A stamp of a kubelet, and when it was first seen on the monotonic clock. */
interface Sign {
  readonly renewedAt: number | null;
  readonly seenMs: number;
}

/** One node name: its last sign of each kind, and who told of it last, after how many resyncs of its shard. */
interface Remembered {
  readonly shard: number;
  teller: string;
  resyncs: number;
  readonly signs: Partial<Record<Heartbeat["kind"], Sign>>;
}

/** What an observer said last of a shard: how many resyncs of it were finished. */
interface Told {
  readonly teller: string;
  readonly resyncs: number;
}

/** The sight of one watch, as the observer told it last; instants are on the monotonic clock. */
interface ToldSight {
  readonly sinceMs: number;
  readonly toldMs: number;
}

/** Listens until it is stopped; what it heard stays known. */
export class Standby {
  readonly #io: Io;
  readonly #nodes = new Map<string, Remembered>();
  /** Who told last of each shard that it had told all of it, and how often it has. */
  readonly #told = new Map<number, Told>();
  readonly #sight = new Map<WatchName, ToldSight>();
  readonly #stops: readonly Stop[];

  /** Goes on with what `ended` knew, an observer of this very process. */
  constructor(io: Io, ended: Ended | null = null) {
    this.#io = io;
    if (ended !== null) this.#inherit(ended);
    this.#stops = [
      io.bus.subscribe("observed.lease", "all", (message) => this.#hearSigns(message)),
      io.bus.subscribe("observed.gone", "all", ({ body }) => this.#nodes.delete(body.node)),
      io.bus.subscribe("observed.pulse", "all", (message) => this.#hearPulse(message)),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  /** When this very stamp was first seen; null when it is not the one remembered, or none that could be told apart. */
  seenMs(node: string, kind: Heartbeat["kind"], renewedAt: number | null): number | null {
    const sign = this.#nodes.get(node)?.signs[kind];
    return renewedAt === null || sign?.renewedAt !== renewedAt ? null : sign.seenMs;
  }

  /** Start of a sight that can be gone on with; null when nobody has seen for longer than watchBlindMs. */
  sinceMs(watch: WatchName): number | null {
    const { clock, profile } = this.#io;
    const sight = this.#sight.get(watch);
    if (sight === undefined || clock.monotonicMs() - sight.toldMs > profile.watchBlindMs) return null;
    return sight.sinceMs;
  }

  #inherit(ended: Ended): void {
    const { before } = ended;
    for (const [node, { shard, signs }] of before === null ? [] : before.#nodes) {
      this.#nodes.set(node, { shard, teller: OURSELVES, resyncs: 0, signs: { ...signs } });
    }
    for (const { node, kind, renewedAt, seenMs } of ended.signs()) {
      const known = this.#nodes.get(node) ?? { shard: shardOf(node), teller: OURSELVES, resyncs: 0, signs: {} };
      known.signs[kind] = { renewedAt, seenMs };
      this.#nodes.set(node, known);
    }
    const toldMs = this.#io.clock.monotonicMs();
    for (const name of WATCHES) {
      const sinceMs = ended.sinceMs(name);
      const remembered = before === null ? undefined : before.#sight.get(name);
      const sight = sinceMs === null ? remembered : { sinceMs, toldMs };
      if (sight !== undefined) this.#sight.set(name, sight);
    }
  }

  #hearSigns(message: Message<"observed.lease">): void {
    const { body, at } = message;
    const nowMs = this.#io.clock.monotonicMs();
    const teller = publisherOf(message);
    const resyncs = this.#resyncsBy(teller, body.shard);
    for (const { node, kind, renewedAt, seenAt } of body.heartbeats) {
      const known = this.#nodes.get(node) ?? { shard: body.shard, teller, resyncs, signs: {} };
      known.teller = teller;
      known.resyncs = resyncs;
      this.#nodes.set(node, known);
      if (known.signs[kind]?.renewedAt === renewedAt) continue;
      known.signs[kind] = { renewedAt, seenMs: translated(seenAt, at, nowMs) };
    }
  }

  /**
   * An observer has told a shard whole: what it did not mention has gone without our hearing of it. Of one that has
   * just begun that is all it never mentioned; later, as nobody says when a resync began, all it has not mentioned
   * since it finished the one before.
   */
  #hearPulse(message: Message<"observed.pulse">): void {
    const { shard, resyncs, watches } = message.body;
    const teller = publisherOf(message);
    const before = this.#resyncsBy(teller, shard);
    if (resyncs > before && (before > 0 || resyncs === 1)) this.#forgetUnmentioned(shard, teller, before);
    this.#told.set(shard, { teller, resyncs });
    this.#hearSight(watches, message.at);
  }

  /** How many resyncs of a shard an observer is known to have finished. */
  #resyncsBy(teller: string, shard: number): number {
    const told = this.#told.get(shard);
    return told?.teller === teller ? told.resyncs : 0;
  }

  #forgetUnmentioned(shard: number, teller: string, sinceResyncs: number): void {
    for (const [node, known] of this.#nodes) {
      const isMentioned = known.teller === teller && known.resyncs >= sinceResyncs;
      if (known.shard === shard && !isMentioned) this.#nodes.delete(node);
    }
  }

  #hearSight(watches: BodyOf<"observed.pulse">["watches"], at: number): void {
    const toldMs = this.#io.clock.monotonicMs();
    for (const name of WATCHES) {
      const { synced, since, lostAt } = watches[name];
      if (synced && since !== null) this.#sight.set(name, { sinceMs: translated(since, at, toldMs), toldMs });
      else if (lostAt !== undefined) this.#endSight(name, translated(lostAt, at, toldMs));
    }
  }

  /** A sight that was found out late to have ended did not last until it was told last. */
  #endSight(name: WatchName, lostMs: number): void {
    const sight = this.#sight.get(name);
    if (sight !== undefined && lostMs < sight.toldMs) this.#sight.set(name, { ...sight, toldMs: lostMs });
  }
}
