/**
 * The one active observer: it watches nodes, leases and pods, and publishes them to 64 shards with a pulse for each. It
 * draws no conclusions.
 */
import type { WatchName } from "../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, WatchState } from "../../protocols/objects.ts";
import type { ContestedLease } from "../../protocols/observed.ts";
import type { BoundPod, Io, ObservedLease, Stop, Timer, Watch, WatchSink } from "../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { outagesOver } from "../domain/paused-time/outages.ts";
import { pauseUntilPulseMs } from "../platform/process/pulse.policy.ts";
import { LeaseCheck, LeasePathHealth } from "./lease-health.ts";
import type { KnownHeartbeat } from "./node-entry.ts";
import { observerCounters } from "./observer.counters.ts";
import { type ClusterPulse, ObserverShard } from "./observer.shard.ts";
import type { Stamp } from "./outage-detection.policy.ts";
import { type Heard, type HeardBefore, type HeardCluster, OutageDetection } from "./outage-detection.ts";
import { PodIndex } from "./pod-index.ts";
import { ResyncQueue } from "./resync-queue.ts";
import type { Standby } from "./standby.ts";

/** How many nodes one step of a resync publishes. */
const NODES_PER_STEP = 128;

/** An ordinary heartbeat is published within this share of the grace period, even if leaseBatchMs is longer. */
const LEASE_BATCH_SHARE = 0.1;

/** The state of one watch; instants are on the monotonic clock. */
interface WatchHistory {
  /** Start of the present sync; null while not synced. */
  sinceMs: number | null;
  /** When the watch was last known to be complete; null while synced and before the first list. */
  lostMs: number | null;
  wasSynced: boolean;
  /** First sync of our own watch, and the start published for it: earlier if it continues a predecessor's. */
  first: { readonly ownMs: number; readonly sinceMs: number } | null;
}

const NEVER_SYNCED: WatchHistory = { sinceMs: null, lostMs: null, wasSynced: false, first: null };

/** Watches and publishes until it is stopped. */
export class Observer {
  readonly #io: Io;
  readonly #counters: ReturnType<typeof observerCounters>;
  readonly #pods = new PodIndex();
  readonly #shards: readonly ObserverShard[];
  readonly #resyncs: ResyncQueue;
  readonly #leaseCheck: LeaseCheck;
  readonly #outages: OutageDetection;
  readonly #leasePath: LeasePathHealth;
  readonly #watchHistory: Readonly<Record<WatchName, WatchHistory>> = {
    nodes: { ...NEVER_SYNCED },
    leases: { ...NEVER_SYNCED },
    pods: { ...NEVER_SYNCED },
  };
  /** Resync requests received before the nodes were listed, by shard; the first publication answers them. */
  readonly #earlyResyncs = new Map<number, string>();
  readonly #watches: readonly Watch[];
  readonly #stops: readonly Stop[];
  #flushTimer: Timer | null = null;
  #flushDueMs = 0;
  #pulseTimer: Timer;
  #pulseDueMs = 0;
  /** When this process last resumed after a suspension. No watch counts as synced since before that. */
  #resumedMs = Number.NEGATIVE_INFINITY;
  #predecessor: Standby | null;

  /** `before` holds the state of the previous observer, which this one continues. */
  constructor(io: Io, before: Standby | null) {
    this.#io = io;
    this.#predecessor = before;
    this.#counters = observerCounters(io.metrics);
    this.#leasePath = new LeasePathHealth(io);
    const context = {
      io,
      leasePath: this.#leasePath,
      pods: this.#pods,
      arePodsKnown: () => this.#watchHistory.pods.wasSynced,
      seenBeforeMs: (...heartbeat: Parameters<Standby["seenMs"]>) => this.#predecessor?.seenMs(...heartbeat) ?? null,
      heard: (stamp: Stamp, isFound: boolean) => this.#outages.onStamp(stamp, isFound),
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
    this.#outages = new OutageDetection(
      io,
      this.#heardCluster(() => leases.version()),
      before?.heardBefore() ?? null,
    );
    this.#leaseCheck = new LeaseCheck(io, {
      sample: (count) => this.#sampleLeases(count),
      renewedAt: (name) => this.#shardOf(name).entry(name)?.leaseRenewedAt,
      stale: (detail) => {
        this.#counters.stale();
        // The same server, or one restored from the same backup, may also have sent nothing to the other watches.
        for (const watch of this.#watches) watch.relist(detail);
      },
    });
    const leases = this.#watchLeases();
    const nodes = this.#watchNodes();
    this.#watches = [leases, nodes, this.#watchPods()];
    this.#stops = [...this.#listen(), this.#followPolicies(nodes)];
    this.#pulseTimer = this.#armPulse();
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
    for (const stop of this.#stops) stop();
    this.#leaseCheck.stop();
    this.#outages.stop();
    this.#resyncs.stop();
    this.#flushTimer?.cancel();
    this.#pulseTimer.cancel();
  }

  /** The heartbeats it knows, for the Standby that follows it. */
  *heartbeats(): Generator<KnownHeartbeat> {
    for (const shard of this.#shards) for (const entry of shard.entries()) yield* entry.knownHeartbeats();
  }

  /** Since when a watch has been synced, on the monotonic clock; null while it is not. */
  sinceMs(watch: WatchName): number | null {
    this.#noteSuspension();
    const { sinceMs } = this.#watchHistory[watch];
    return sinceMs === null ? null : Math.max(sinceMs, this.#resumedMs);
  }

  /** The state of the previous observer; null once every watch of this one has synced. */
  get predecessor(): Standby | null {
    return this.#predecessor;
  }

  /** Until when it has heard nodes and the outages it has found, for the Standby that follows it; null before. */
  heardBefore(): HeardBefore | null {
    const { heard, outages } = this.#outages;
    return heard === null ? null : { heard, outages: outagesOver(outages, heard.at) };
  }

  #heardCluster(leasesVersion: () => string | null): HeardCluster {
    const { nodes, leases } = this.#watchHistory;
    return {
      isSynced: () => nodes.sinceMs !== null && leases.sinceMs !== null,
      leasesVersion,
      stamps: () => [...this.heartbeats()].map(({ node, renewedAt }) => ({ by: node, at: renewedAt })),
      countingSinceAt: () => {
        const sinces = this.#shards.map((shard) => shard.countingSinceAt()).filter((since) => since !== null);
        return sinces.length === 0 ? null : Math.min(...sinces);
      },
      changed: () => this.#publishPulses(),
      // A version may be assigned again to another state, and no digest distinguishes the two.
      restored: () => this.#publishAll(),
    };
  }

  #watchNodes(): Watch {
    const sink: WatchSink<ObservedNode> = {
      changed: (node) => this.#shardOf(node.node).onNode(node),
      gone: (name) => this.#shardOf(name).onNodeGone(name),
      state: (state) => this.#onWatchState("nodes", state),
    };
    return this.#io.kube.watch("nodes", sink, { policyKeys: () => this.#io.policies.current() });
  }

  /** Lists the nodes again when policies need labels or conditions that were dropped so far. */
  #followPolicies(nodes: Watch): Stop {
    const { policies } = this.#io;
    let known = policies.current()?.labelsChecksum ?? 0;
    return policies.follow(() => {
      const checksum = policies.current()?.labelsChecksum ?? 0;
      if (checksum === known) return;
      known = checksum;
      nodes.refresh("node policies need other labels or conditions");
    });
  }

  #watchLeases(): Watch {
    return this.#io.kube.watch("leases", {
      changed: (lease: ObservedLease, waitedMs = 0) => {
        this.#leaseCheck.received();
        this.#shardOf(lease.node).onLease(lease, waitedMs);
      },
      gone: (name) => this.#shardOf(name).onLeaseGone(name),
      state: (state) => this.#onWatchState("leases", state),
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
      state: (state) => this.#onWatchState("pods", state),
    });
  }

  #listen(): Stop[] {
    const { bus } = this.#io;
    return [
      bus.subscribe("asked.resync", "all", ({ body, id }) => {
        if (this.#watchHistory.nodes.wasSynced) this.#resyncs.request(body.shard, id);
        else this.#earlyResyncs.set(body.shard, id);
      }),
      bus.subscribe("done.write", "all", ({ body }) => {
        if (body.ask === "asked.condition" && body.outcome === "refused") this.#leaseCheck.compare(body.node);
        if (body.leaseRenewedAt !== undefined) this.#leaseCheck.onRenewal(body.node, body.leaseRenewedAt);
      }),
    ];
  }

  #shardOf(name: string): ObserverShard {
    const shard = this.#shards[shardOf(name)];
    if (shard === undefined) throw new RangeError(`no shard for ${name}`);
    return shard;
  }

  #onWatchState(name: WatchName, state: WatchState): void {
    const { clock } = this.#io;
    const history = this.#watchHistory[name];
    const isFirst = state.synced && !history.wasSynced;
    // In this order an interruption between the reads makes an instant late, not early; so below.
    const wallMs = clock.wallMs();
    const nowMs = clock.monotonicMs();
    const monotonicOf = (at: number) => nowMs - Math.max(0, wallMs - at);
    history.sinceMs = state.synced ? this.#syncedSinceMs(name, monotonicOf(state.since ?? 0)) : null;
    history.lostMs = state.synced || state.lostAt === undefined ? null : monotonicOf(state.lostAt);
    history.wasSynced ||= state.synced;
    if (Object.values(this.#watchHistory).every(({ wasSynced }) => wasSynced)) this.#predecessor = null;
    this.#counters.synced(name, state.synced);
    if (isFirst && name === "nodes") this.#publishAll();
    if (isFirst && name === "pods") for (const shard of this.#shards) shard.noteAllPods();
    this.#outages.review();
    // A reader must receive everything the watch delivered before it learns that the watch is synced.
    this.#flush();
    this.#publishPulses();
  }

  /**
   * The start to publish for a sync that began at `ownMs`. The inherited start counts until a gap exceeds watchBlindMs.
   */
  #syncedSinceMs(name: WatchName, ownMs: number): number {
    const history = this.#watchHistory[name];
    history.first ??= { ownMs, sinceMs: Math.min(ownMs, this.#predecessor?.sinceMs(name) ?? ownMs) };
    return ownMs - history.first.ownMs > this.#io.profile.watchBlindMs ? ownMs : history.first.sinceMs;
  }

  /** Publishes every shard, and so answers the requests from before the nodes were listed. */
  #publishAll(): void {
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      this.#resyncs.request(shard, this.#earlyResyncs.get(shard) ?? null);
    }
    this.#earlyResyncs.clear();
  }

  #closeResync(shard: ObserverShard, cause: string | null): void {
    this.#counters.resync();
    shard.flush();
    shard.closeResync(this.#clusterPulse(), cause);
  }

  /** Flushes within `delayMs`; if a pulse comes first, its flush does, so that subscribers wake once for both. */
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
      this.#noteSuspension();
      // A connection may have died during the suspension, or deliver its backlog slowly; a fresh list solves both.
      if (this.#resumedMs >= dueMs) for (const watch of this.#watches) watch.relist("this process was suspended");
      this.#pulseTimer = this.#armPulse();
      this.#flush();
      this.#outages.review();
      this.#publishPulses();
    });
  }

  /**
   * A pulse overdue by more than watchBlindMs shows that this process was suspended. Events of that time are still
   * unread, so silence from before does not count. Checked before each use of a watch's state, because any callback may
   * run first after a suspension.
   */
  #noteSuspension(): void {
    const { clock, log, profile } = this.#io;
    const nowMs = clock.monotonicMs();
    const lateMs = nowMs - this.#pulseDueMs;
    if (lateMs <= profile.watchBlindMs) return;
    this.#pulseDueMs = nowMs;
    this.#resumedMs = nowMs;
    log.warn("this process was suspended: silence counts from now", { lateMs: Math.round(lateMs) });
  }

  #publishPulses(): void {
    const [leasesMs, nodesMs] = [this.sinceMs("leases"), this.sinceMs("nodes")];
    const syncedMs = leasesMs === null || nodesMs === null ? null : Math.max(leasesMs, nodesMs);
    this.#leasePath.review(() => this.#leasedNodes(), syncedMs);
    this.#counters.leasePath(this.#leasePath.broken !== null);
    const state = this.#clusterPulse();
    let [nodes, pods] = [0, 0];
    const contested: ContestedLease[] = [];
    for (const shard of this.#shards) {
      shard.pulse(state, null);
      nodes += shard.unpublished.nodes;
      pods += shard.unpublished.pods;
      contested.push(...shard.contestedLeases());
    }
    this.#counters.contested(contested);
    this.#counters.unpublished(nodes, pods);
  }

  #clusterPulse(): ClusterPulse {
    const { outages, heard } = this.#outages;
    return {
      watches: this.#watchStates(),
      ...(outages.length === 0 ? {} : { outages: [...outages] }),
      ...(heard === null ? {} : { heard: heardBody(heard) }),
    };
  }

  #leasedNodes(): number {
    let count = 0;
    for (const shard of this.#shards)
      for (const { node, hadLease } of shard.entries()) count += node !== null && hadLease ? 1 : 0;
    return count;
  }

  #watchStates(): BodyOf<"observed.pulse">["watches"] {
    const { clock } = this.#io;
    const nowMs = clock.monotonicMs();
    const wallMs = clock.wallMs();
    const wallOf = (monotonicMs: number) => wallMs - (nowMs - monotonicMs);
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

  /** Names of up to `count` leases: a random one of each shard, from a random shard on. */
  #sampleLeases(count: number): string[] {
    const { random } = this.#io;
    const start = Math.floor(random() * SHARD_COUNT);
    const names: string[] = [];
    for (let step = 0; step < SHARD_COUNT && names.length < count; step++) {
      const shard = this.#shards[(start + step) % SHARD_COUNT];
      const leased = [...(shard?.entries() ?? [])].filter(({ leaseRenewedAt }) => leaseRenewedAt !== undefined);
      const chosen = leased[Math.floor(random() * leased.length)];
      if (chosen !== undefined) names.push(chosen.name);
    }
    return names;
  }
}

function heardBody({ at, leasesVersion }: Heard): NonNullable<ClusterPulse["heard"]> {
  return { at, ...(leasesVersion === null ? {} : { leasesVersion }) };
}
