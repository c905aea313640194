/**
 * How current this process's view of the whole cluster is, from the pulses of all shards. It serves reports and probes;
 * verdicts use each reader's own WatchHealth.
 */
import type { WatchHealthReport, WatchName } from "../../../protocols/ledger-reader.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { BrokenLeasePath, ContestedLease } from "../../../protocols/observed.ts";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import { SHARD_COUNT, shardOf } from "../../../protocols/subjects.ts";
import { UNKNOWN_START_AT } from "../../domain/paused-time/outages.ts";
import { pulseWaitMs, translated, WatchHealth, type WatchHealthProfile } from "./watch-health.ts";

/** The watches of an observer. */
export const WATCHES: readonly WatchName[] = ["nodes", "leases", "pods"];

/** How far apart the wall clocks of two senders may be, in milliseconds. */
const SENDERS_APART_MS = 5_000;

/** The watch health of every shard. Instants are on this process's monotonic clock. */
export class ClusterWatchHealth {
  readonly #shards: readonly WatchHealth[];
  readonly #pulseWaitMs: number;
  readonly #receivedMs = Array.from({ length: SHARD_COUNT }, (): number | null => null);
  readonly #unpublished = new Map<number, { readonly nodes: number; readonly pods: number }>();
  /** What the last pulse of any shard reports about the path of leases. */
  #leasePath: BrokenLeasePath | null = null;
  /** The outages that the last pulse of any shard names. */
  #outages: readonly FrozenInterval[] = [];
  /** When that pulse was sent, on its sender's wall clock. */
  #outagesAt = Number.NEGATIVE_INFINITY;
  readonly #contestedLeases = new Map<number, readonly ContestedLease[]>();
  readonly #since: Record<WatchName, number | null> = { nodes: null, leases: null, pods: null };

  /** `beganMs` is when this process subscribed to pulses. */
  constructor(profile: WatchHealthProfile, beganMs: number) {
    this.#pulseWaitMs = pulseWaitMs(profile);
    this.#shards = Array.from({ length: SHARD_COUNT }, () => new WatchHealth(WATCHES, profile, beganMs));
  }

  onPulse(message: Message<"observed.pulse">, nowMs: number): void {
    const { shard, watches, leasePath = null, outages = [], contestedLeases = [] } = message.body;
    this.#contestedLeases.set(shard, contestedLeases);
    this.#leasePath = leasePath;
    this.#outages = outages;
    this.#outagesAt = message.at;
    this.#shards[shard]?.onPulse(message, nowMs);
    this.#receivedMs[shard] = nowMs;
    if (message.body.unpublished === undefined) this.#unpublished.delete(shard);
    else this.#unpublished.set(shard, message.body.unpublished);
    for (const name of WATCHES) {
      const { synced, since } = watches[name];
      this.#since[name] = synced && since !== null ? translated(since, message.at, nowMs) : null;
    }
  }

  /** Whether the pulses of a shard have stopped: other messages may be missing too. False before the first pulse. */
  isInterrupted(shard: number, nowMs: number): boolean {
    const receivedMs = this.#receivedMs[shard] ?? null;
    return receivedMs !== null && nowMs - receivedMs >= this.#pulseWaitMs;
  }

  /** Why a shard's view is not current; null when it is. */
  blindness(shard: number, nowMs: number): string | null {
    return this.#shards[shard]?.blindness(nowMs) ?? null;
  }

  /** How the path of leases is broken; null while it is not. */
  get leasePath(): BrokenLeasePath | null {
    return this.#leasePath;
  }

  /** The outages that the observer has found, in order; one that lasts has no end. */
  get outages(): readonly FrozenInterval[] {
    return this.#outages;
  }

  /** Whether nodes could be heard later than at an instant of a sender's wall clock. */
  isHeardAfter(at: number): boolean {
    return this.#outages.at(-1)?.toAt !== null && this.#outagesAt - at > SENDERS_APART_MS;
  }

  contestedLease(node: string): ContestedLease | null {
    return this.#contestedLeases.get(shardOf(node))?.find((lease) => lease.node === node) ?? null;
  }

  report(nowMs: number): WatchHealthReport {
    const received = this.#receivedMs.filter((at) => at !== null);
    const age = (name: WatchName) => (this.#since[name] === null ? null : nowMs - this.#since[name]);
    const unpublished = { nodes: 0, pods: 0 };
    for (const { nodes, pods } of this.#unpublished.values()) {
      unpublished.nodes += nodes;
      unpublished.pods += pods;
    }
    const last = this.#outages.at(-1);
    const sinceAt = last?.fromAt === UNKNOWN_START_AT ? null : (last?.fromAt ?? null);
    return {
      ...(last?.toAt === null ? { outage: { sinceAt } } : {}),
      ...(this.#unpublished.size === 0 ? {} : { unpublished }),
      ...(this.#leasePath === null ? {} : { leasePath: this.#leasePath }),
      shards: SHARD_COUNT,
      blindShards: this.#shards.filter((health) => health.blindness(nowMs) !== null).length,
      oldestPulseMs: received.length < SHARD_COUNT ? null : nowMs - Math.min(...received),
      watches: { nodes: age("nodes"), leases: age("leases"), pods: age("pods") },
    };
  }
}
