/**
 * What a process that does not observe remembers of the one that does, so that it goes on where that one ended and no
 * silence is counted anew. It tells nothing.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Heartbeat } from "../../protocols/objects.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { translated } from "../runtime/shard-sight.ts";

type WatchName = keyof BodyOf<"observed.pulse">["watches"];

/** A stamp of a kubelet, and when it was first seen on the monotonic clock. */
interface Sign {
  readonly renewedAt: number | null;
  readonly seenMs: number;
}

/** The sight of one watch, as the observer told it last; instants are on the monotonic clock. */
interface ToldSight {
  readonly sinceMs: number;
  readonly toldMs: number;
}

/** Listens until it is stopped; what it heard stays known. */
export class Standby {
  readonly #io: Io;
  readonly #signs: Readonly<Record<Heartbeat["kind"], Map<string, Sign>>> = { lease: new Map(), status: new Map() };
  readonly #sight = new Map<WatchName, ToldSight>();
  readonly #stops: readonly Stop[];

  constructor(io: Io) {
    this.#io = io;
    this.#stops = [
      io.bus.subscribe("observed.lease", "all", ({ body, at }) => this.#hearSigns(body.heartbeats, at)),
      io.bus.subscribe("observed.gone", "all", ({ body }) => this.#forget(body.node)),
      io.bus.subscribe("observed.pulse", "all", ({ body, at }) => this.#hearSight(body.watches, at)),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  /** When this very stamp was first seen; null when it is not the one remembered, or none that could be told apart. */
  seenMs(node: string, kind: Heartbeat["kind"], renewedAt: number | null): number | null {
    const sign = this.#signs[kind].get(node);
    return renewedAt === null || sign?.renewedAt !== renewedAt ? null : sign.seenMs;
  }

  /** Start of a sight that can be gone on with; null when nobody has seen for longer than watchBlindMs. */
  sinceMs(watch: WatchName): number | null {
    const { clock, profile } = this.#io;
    const sight = this.#sight.get(watch);
    if (sight === undefined || clock.monotonicMs() - sight.toldMs > profile.watchBlindMs) return null;
    return sight.sinceMs;
  }

  #hearSigns(heartbeats: readonly Heartbeat[], at: number): void {
    const nowMs = this.#io.clock.monotonicMs();
    for (const { node, kind, renewedAt, seenAt } of heartbeats) {
      if (this.#signs[kind].get(node)?.renewedAt === renewedAt) continue;
      this.#signs[kind].set(node, { renewedAt, seenMs: translated(seenAt, at, nowMs) });
    }
  }

  #forget(node: string): void {
    this.#signs.lease.delete(node);
    this.#signs.status.delete(node);
  }

  #hearSight(watches: BodyOf<"observed.pulse">["watches"], at: number): void {
    const toldMs = this.#io.clock.monotonicMs();
    for (const name of ["nodes", "leases", "pods"] as const) {
      const { synced, since } = watches[name];
      if (synced && since !== null) this.#sight.set(name, { sinceMs: translated(since, at, toldMs), toldMs });
    }
  }
}
