/** The one active observer: three watches, 64 shards to tell, and a pulse for each. It holds no conclusion. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { WatchState } from "../../protocols/objects.ts";
import type { BoundPod, Io, ObservedLease, Stop, Timer, Watch } from "../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { pauseUntilPulseMs } from "../platform/process/pulse.policy.ts";
import { LeaseCheck } from "./lease-check.ts";
import type { KnownHeartbeat } from "./node-entry.ts";
import { observerCounters } from "./observer.counters.ts";
import { ObserverShard } from "./observer.shard.ts";
import { PodIndex } from "./pod-index.ts";
import { ResyncQueue } from "./resync-queue.ts";
import type { Standby } from "./standby.ts";

/** How many nodes one step of a resync tells. */
const NODES_PER_STEP = 128;

/** A heartbeat that is not urgent is told within this share of the grace, whatever leaseBatchMs says. */
const LEASE_BATCH_SHARE = 0.1;

type WatchName = keyof BodyOf<"observed.pulse">["watches"];

/** Sight of one watch; `sinceMs` is on the monotonic clock and null while not synced. */
interface WatchHistory {
  sinceMs: number | null;
  /** When it was last known to be whole, on the monotonic clock; null while synced, and before the first list. */
  lostMs: number | null;
  /** Whether it has been synced at least once. */
  wasSynced: boolean;
  /** When our own watch first saw, and since when we say so: earlier, when we go on with what another saw. */
  first: { readonly ownMs: number; readonly sinceMs: number } | null;
}

const UNSEEN: WatchHistory = { sinceMs: null, lostMs: null, wasSynced: false, first: null };

/** Watches and tells until it is stopped. */
export class Observer {
  readonly #io: Io;
  readonly #counters: ReturnType<typeof observerCounters>;
  readonly #pods = new PodIndex();
  readonly #shards: readonly ObserverShard[];
  readonly #resyncs: ResyncQueue;
  readonly #leaseCheck: LeaseCheck;
  readonly #watchHistory: Readonly<Record<WatchName, WatchHistory>> = {
    nodes: { ...UNSEEN },
    leases: { ...UNSEEN },
    pods: { ...UNSEEN },
  };
  /** Asks for a resync that came before the nodes were known; every shard is told then, asked for or not. */
  readonly #earlyResyncs = new Map<number, string>();
  readonly #watches: readonly Watch[];
  readonly #stops: readonly Stop[];
  #flushTimer: Timer | null = null;
  #flushDueMs = 0;
  #pulseTimer: Timer;
  #pulseDueMs = 0;
  /** When this process last went on after it had stood still: it has seen nothing before, whatever its watches say. */
  #awakeSinceMs = Number.NEGATIVE_INFINITY;
  /** What is known of the observer before us; null when there was none, and once we know everything ourselves. */
  #predecessor: Standby | null;

  /** Goes on where the observer ended that `before` remembers. */
  constructor(io: Io, before: Standby | null) {
    this.#io = io;
    this.#predecessor = before;
    this.#counters = observerCounters(io.metrics);
    const context = {
      io,
      pods: this.#pods,
      arePodsKnown: () => this.#watchHistory.pods.wasSynced,
      seenBeforeMs: (...heartbeat: Parameters<Standby["seenMs"]>) => this.#predecessor?.seenMs(...heartbeat) ?? null,
      leaseBatchMs: Math.min(io.profile.leaseBatchMs, io.profile.nodeMonitorGraceMs * LEASE_BATCH_SHARE),
      flushWithin: (delayMs: number) => this.#flushWithin(delayMs),
    };
    this.#shards = Array.from({ length: SHARD_COUNT }, (_, shard) => new ObserverShard(shard, context));
    this.#resyncs = new ResyncQueue(
      io.clock,
      this.#shards.map((shard) => ({
        begin: (cause) => shard.publishAll(NODES_PER_STEP, cause),
        close: (cause) => this.#closeResync(shard, cause),
      })),
    );
    const leases = this.#watchLeases();
    this.#leaseCheck = new LeaseCheck(io, {
      sample: (count) => this.#sampleLeases(count),
      renewedAt: (name) => this.#shardOf(name).entry(name)?.leaseRenewedAt,
      stale: (detail) => {
        this.#counters.stale();
        leases.relist(detail);
      },
    });
    this.#watches = [leases, this.#watchNodes(), this.#watchPods()];
    this.#stops = this.#listen();
    this.#pulseTimer = this.#armPulse();
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
    for (const stop of this.#stops) stop();
    this.#leaseCheck.stop();
    this.#resyncs.stop();
    this.#flushTimer?.cancel();
    this.#pulseTimer.cancel();
  }

  /** What it knows, for whoever remembers it when it has ended. */
  *heartbeats(): Generator<KnownHeartbeat> {
    for (const shard of this.#shards) for (const entry of shard.entries()) yield* entry.knownHeartbeats();
  }

  /** Since when it sees by a watch; null while it does not. */
  sinceMs(watch: WatchName): number | null {
    this.#noteStandstill();
    const { sinceMs } = this.#watchHistory[watch];
    return sinceMs === null ? null : Math.max(sinceMs, this.#awakeSinceMs);
  }

  /** What it remembers itself of the observer before. */
  get predecessor(): Standby | null {
    return this.#predecessor;
  }

  #watchNodes(): Watch {
    return this.#io.kube.watch("nodes", {
      changed: (node) => this.#shardOf(node.node).takeNode(node),
      gone: (name) => this.#shardOf(name).takeNodeGone(name),
      state: (state) => this.#takeState("nodes", state),
    });
  }

  #watchLeases(): Watch {
    return this.#io.kube.watch("leases", {
      changed: (lease: ObservedLease) => {
        this.#leaseCheck.received();
        this.#shardOf(lease.node).takeLease(lease);
      },
      gone: (name) => this.#shardOf(name).takeLeaseGone(name),
      state: (state) => this.#takeState("leases", state),
    });
  }

  #watchPods(): Watch {
    return this.#io.kube.watch("pods", {
      changed: (bound) => {
        this.#pods.put(bound);
        this.#shardOf(bound.node).notePods(bound.node);
      },
      gone: (_key, bound: BoundPod | null) => {
        if (bound === null) return;
        this.#pods.remove(bound);
        this.#shardOf(bound.node).notePods(bound.node);
      },
      state: (state) => this.#takeState("pods", state),
    });
  }

  #listen(): Stop[] {
    const { bus } = this.#io;
    return [
      bus.subscribe("asked.resync", "all", ({ body, id }) => {
        if (this.#watchHistory.nodes.wasSynced) this.#resyncs.ask(body.shard, id);
        else this.#earlyResyncs.set(body.shard, id);
      }),
      bus.subscribe("done.write", "all", ({ body }) => {
        if (body.ask === "asked.condition" && body.outcome === "refused") this.#leaseCheck.compare(body.node);
      }),
    ];
  }

  #shardOf(name: string): ObserverShard {
    const shard = this.#shards[shardOf(name)];
    if (shard === undefined) throw new RangeError(`no shard for ${name}`);
    return shard;
  }

  #takeState(name: WatchName, state: WatchState): void {
    const { clock } = this.#io;
    const history = this.#watchHistory[name];
    const isFirst = state.synced && !history.wasSynced;
    const monotonicOf = (at: number) => clock.monotonicMs() - Math.max(0, clock.wallMs() - at);
    history.sinceMs = state.synced ? this.#syncedSinceMs(name, monotonicOf(state.since ?? 0)) : null;
    history.lostMs = state.synced || state.lostAt === undefined ? null : monotonicOf(state.lostAt);
    history.wasSynced ||= state.synced;
    if (Object.values(this.#watchHistory).every(({ wasSynced }) => wasSynced)) this.#predecessor = null;
    this.#counters.synced(name, state.synced);
    if (isFirst && name === "nodes") this.#publishFirst();
    if (isFirst && name === "pods") for (const shard of this.#shards) shard.noteAllPods();
    // Whoever hears that a watch can be trusted must have heard what it told before.
    this.#flush();
    this.#publishPulses();
  }

  /** Start of the sight that our own watch has had since `ownMs`: what was inherited counts until it was blind. */
  #syncedSinceMs(name: WatchName, ownMs: number): number {
    const history = this.#watchHistory[name];
    history.first ??= { ownMs, sinceMs: Math.min(ownMs, this.#predecessor?.sinceMs(name) ?? ownMs) };
    return ownMs - history.first.ownMs > this.#io.profile.watchBlindMs ? ownMs : history.first.sinceMs;
  }

  #publishFirst(): void {
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      this.#resyncs.ask(shard, this.#earlyResyncs.get(shard) ?? null);
    }
    this.#earlyResyncs.clear();
  }

  #closeResync(shard: ObserverShard, cause: string | null): void {
    this.#counters.resync();
    shard.flush();
    shard.closeResync(this.#watchStates(), cause);
  }

  /** What can wait for the pulse goes right before it: who hears both is woken once. */
  #flushWithin(delayMs: number): void {
    const dueMs = this.#io.clock.monotonicMs() + delayMs;
    if (this.#pulseDueMs <= dueMs) return;
    if (this.#flushTimer !== null && this.#flushDueMs <= dueMs) return;
    this.#flushTimer?.cancel();
    this.#flushDueMs = dueMs;
    this.#flushTimer = this.#io.clock.after(delayMs, () => this.#flush());
  }

  #flush(): void {
    this.#flushTimer?.cancel();
    this.#flushTimer = null;
    for (const shard of this.#shards) shard.flush();
  }

  #armPulse(): Timer {
    const { clock, profile } = this.#io;
    const pauseMs = pauseUntilPulseMs(clock.wallMs(), profile.pulsePeriodMs);
    const dueMs = clock.monotonicMs() + pauseMs;
    this.#pulseDueMs = dueMs;
    return clock.after(pauseMs, () => {
      this.#noteStandstill();
      if (this.#awakeSinceMs >= dueMs) this.#listAgain();
      this.#pulseTimer = this.#armPulse();
      this.#flush();
      this.#publishPulses();
    });
  }

  /**
   * A pulse that is overdue by more than watchBlindMs shows that this process stood still. What came meanwhile lies
   * unread, so nobody's silence counts from before. It is looked for before each statement about sight, because after a
   * standstill any callback may run first.
   */
  #noteStandstill(): void {
    const { clock, log, profile } = this.#io;
    const nowMs = clock.monotonicMs();
    const lateMs = nowMs - this.#pulseDueMs;
    if (lateMs <= profile.watchBlindMs) return;
    this.#pulseDueMs = nowMs;
    this.#awakeSinceMs = nowMs;
    log.warn("this process stood still: silence counts from now", { lateMs: Math.round(lateMs) });
  }

  /** A connection that stood still for so long may be dead, or bring its backlog only slowly: nothing shows which. */
  #listAgain(): void {
    for (const watch of this.#watches) watch.relist("this process stood still");
  }

  #publishPulses(): void {
    const watches = this.#watchStates();
    for (const shard of this.#shards) shard.pulse(watches, null);
    this.#counters.unpublished(this.#shards.map(({ unpublished }) => unpublished));
  }

  #watchStates(): BodyOf<"observed.pulse">["watches"] {
    const { clock } = this.#io;
    const wallOf = (monotonicMs: number) => clock.wallMs() - (clock.monotonicMs() - monotonicMs);
    const stateOf = (name: WatchName): WatchState => {
      const [sinceMs, { lostMs }] = [this.sinceMs(name), this.#watchHistory[name]];
      return {
        synced: sinceMs !== null,
        since: sinceMs === null ? null : wallOf(sinceMs),
        ...(lostMs === null ? {} : { lostAt: wallOf(lostMs) }),
      };
    };
    return { nodes: stateOf("nodes"), leases: stateOf("leases"), pods: stateOf("pods") };
  }

  /** Looks from a random shard on for leases; within a shard it takes them from a random one on. */
  #sampleLeases(count: number): string[] {
    const { random } = this.#io;
    const start = Math.floor(random() * SHARD_COUNT);
    const names: string[] = [];
    for (let step = 0; step < SHARD_COUNT && names.length < count; step++) {
      const shard = this.#shards[(start + step) % SHARD_COUNT];
      const held = [...(shard?.entries() ?? [])].filter(({ leaseRenewedAt }) => leaseRenewedAt !== undefined);
      const chosen = held[Math.floor(random() * held.length)];
      if (chosen !== undefined) names.push(chosen.name);
    }
    return names;
  }
}
