/**
 * What a process that does not observe remembers of the one that does, so that it goes on where that one ended and no
 * silence is counted anew. It tells nothing.
 */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { Heartbeat } from "../../protocols/objects.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { publisherOf, translated } from "../runtime/shard-sight.ts";

type WatchName = keyof BodyOf<"observed.pulse">["watches"];

/** A stamp of a kubelet, and when it was first seen on the monotonic clock. */
interface Sign {
  readonly renewedAt: number | null;
  readonly seenMs: number;
}

/** One node name: its last sign of each kind, and who told of it last. */
interface Remembered {
  readonly shard: number;
  teller: string;
  readonly signs: Partial<Record<Heartbeat["kind"], Sign>>;
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
  /** Who told last of each shard that it had told all of it. */
  readonly #tellers = new Map<number, string>();
  readonly #sight = new Map<WatchName, ToldSight>();
  readonly #stops: readonly Stop[];

  constructor(io: Io) {
    this.#io = io;
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

  #hearSigns(message: Message<"observed.lease">): void {
    const { body, at } = message;
    const nowMs = this.#io.clock.monotonicMs();
    const teller = publisherOf(message);
    for (const { node, kind, renewedAt, seenAt } of body.heartbeats) {
      const known = this.#nodes.get(node) ?? { shard: body.shard, teller, signs: {} };
      known.teller = teller;
      this.#nodes.set(node, known);
      if (known.signs[kind]?.renewedAt === renewedAt) continue;
      known.signs[kind] = { renewedAt, seenMs: translated(seenAt, at, nowMs) };
    }
  }

  /** An observer that has just begun has told a shard whole: what it did not mention went while nobody observed. */
  #hearPulse(message: Message<"observed.pulse">): void {
    const { shard, resyncs, watches } = message.body;
    const teller = publisherOf(message);
    if (resyncs === 1 && this.#tellers.get(shard) !== teller) this.#forgetUnmentioned(shard, teller);
    this.#tellers.set(shard, teller);
    this.#hearSight(watches, message.at);
  }

  #forgetUnmentioned(shard: number, teller: string): void {
    for (const [node, known] of this.#nodes) {
      if (known.shard === shard && known.teller !== teller) this.#nodes.delete(node);
    }
  }

  #hearSight(watches: BodyOf<"observed.pulse">["watches"], at: number): void {
    const toldMs = this.#io.clock.monotonicMs();
    for (const name of ["nodes", "leases", "pods"] as const) {
      const { synced, since } = watches[name];
      if (synced && since !== null) this.#sight.set(name, { sinceMs: translated(since, at, toldMs), toldMs });
    }
  }
}
