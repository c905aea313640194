/**
 * Publishes one shard: nodes, their pods and heartbeats as they change, all of them again on a resync, and pulses with
 * a digest of what is published.
 */
import { digestWith, digestWithout, EMPTY_DIGEST } from "../../protocols/digest.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { SilentReason } from "../../protocols/names.ts";
import type { Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import {
  CONTESTED_LEASES_MAX,
  type ContestedLease,
  type Digest,
  HEARTBEATS_PER_MESSAGE_MAX,
} from "../../protocols/observed.ts";
import type { Io, ObservedLease } from "../../protocols/ports.ts";
import { needsPods, readyConditionOf } from "../domain/node-conditions.ts";
import type { LeasePathHealth } from "./lease-health.ts";
import { NodeEntry, type SeenBefore } from "./node-entry.ts";
import { boundedNode, nodeChange, podChunks, waitedOf } from "./observer.policy.ts";
import { countingSinceAt, isCounting, type Stamp } from "./outage-detection.policy.ts";
import type { PodIndex } from "./pod-index.ts";
import { Unpublished } from "./unpublished.ts";

/**
 * A heartbeat is urgent when its node was silent for longer than this share of its grace period. Kubelets renew after a
 * fifth of it, or after half if an operator has shortened it. Example: with a grace of 50 s and renewals every 10 s, a
 * renewal that comes after 38 s is published at once.
 */
const URGENT_SILENCE = 0.75;

/** How long changes of a node's pods are collected, in milliseconds. */
const PODS_BATCH_MS = 100;

/** The shard whose pulses carry until when nodes were heard. */
const HEARD_SHARD = 0;

/** What the pulses of all shards carry about the whole cluster. */
export type ClusterPulse = Pick<BodyOf<"observed.pulse">, "watches" | "outages" | "heard">;

/** What the shards of one observer share. */
export interface ObserverShardContext {
  readonly io: Io;
  /** How long ordinary heartbeats are collected, in milliseconds. */
  readonly leaseBatchMs: number;
  readonly pods: PodIndex;
  /** Whether the pods have been listed. */
  arePodsKnown(): boolean;
  readonly seenBeforeMs: SeenBefore;
  /** Called with the stamp of each heartbeat. The first one of a node is found, not seen to arrive. */
  heard(stamp: Stamp, isFound: boolean): void;
  /** Receives every heartbeat. */
  readonly leasePath: Pick<LeasePathHealth, "renewed" | "posted" | "broken">;
  /** Schedules a flush of all shards within `delayMs`. */
  flushWithin(delayMs: number): void;
}

/** One shard of the observer. It publishes nothing before its first resync begins. */
export class ObserverShard {
  readonly #shard: number;
  readonly #context: ObserverShardContext;
  readonly #entries = new Map<string, NodeEntry>();
  readonly #unsent = new Set<NodeEntry>();
  readonly #dirtyPods = new Set<NodeEntry>();
  /** Objects too large for a message; no digest includes them. */
  readonly unpublished: Unpublished;
  /** The nodes about which a countdown may run that outages pause. */
  readonly #counting = new Set<NodeEntry>();
  readonly #contested = new Set<NodeEntry>();
  #nodesDigest: Digest = EMPTY_DIGEST;
  #podsDigest: Digest = EMPTY_DIGEST;
  /** How many resyncs are finished. */
  #resyncs = 0;
  #mayPublish = false;

  constructor(shard: number, context: ObserverShardContext) {
    this.#shard = shard;
    this.#context = context;
    this.unpublished = new Unpublished(context.io.log);
  }

  entries(): IterableIterator<NodeEntry> {
    return this.#entries.values();
  }

  entry(name: string): NodeEntry | undefined {
    return this.#entries.get(name);
  }

  /** Since when a countdown may run that outages pause; null for none. */
  countingSinceAt(): number | null {
    let sinceAt: number | null = null;
    for (const { node } of this.#counting) {
      if (node !== null) sinceAt = Math.min(sinceAt ?? Number.POSITIVE_INFINITY, countingSinceAt(node));
    }
    return sinceAt;
  }

  onNode(live: ObservedNode): void {
    const node = boundedNode(live);
    const entry = this.#entryFor(node.node);
    const before = entry.node;
    if (before !== null && before.uid !== node.uid) this.#publishGone(entry, before);
    const nowMs = this.#nowMs();
    const silentMs = entry.onNode(node, nowMs, this.#context.seenBeforeMs);
    // Its lease may belong to the previous node of that name.
    if (before?.uid !== node.uid) this.#contested.add(entry);
    this.#noteHeartbeat(entry, silentMs);
    if (silentMs !== null) this.#noteHeard(node, before?.uid !== node.uid);
    if (silentMs !== null) this.#context.leasePath.posted(node.node, nowMs);
    if (isCounting(node)) this.#counting.add(entry);
    else this.#counting.delete(entry);
    const isNews = entry.publishedVersion === null || before === null || nodeChange(before, node) === "state";
    if (this.#mayPublish && isNews) this.#publishNode(entry, null);
  }

  onNodeGone(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.node === null) return;
    this.#publishGone(entry, entry.node);
    entry.node = null;
    this.#counting.delete(entry);
    this.#dropIfEmpty(entry);
  }

  /** Handles a lease, which may have waited `waitedMs` to be read. */
  onLease(lease: ObservedLease, waitedMs: number): void {
    const { clock } = this.#context.io;
    const { node, renewedAt } = lease;
    const entry = this.#entryFor(node);
    // In this order an interruption between the reads makes a heartbeat late, not early.
    const wallMs = clock.wallMs();
    const nowMs = this.#nowMs();
    const seenMs = waitedMs === 0 ? nowMs : nowMs - waitedOf(renewedAt, wallMs, waitedMs);
    const isFound = entry.leaseRenewedAt === undefined;
    if (entry.onLeaseOwner(lease, nowMs)) this.#contested.add(entry);
    const silentMs = entry.onLease(renewedAt, seenMs, this.#context.seenBeforeMs);
    this.#noteHeartbeat(entry, silentMs);
    if (silentMs !== null) this.#context.heard({ by: node, at: renewedAt }, isFound);
    if (silentMs !== null) this.#context.leasePath.renewed(seenMs, Math.min(renewedAt ?? wallMs, wallMs));
  }

  onLeaseGone(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.dropLease();
    this.#dropIfEmpty(entry);
  }

  /** Schedules publication of a node's pods, which have changed. */
  notePods(name: string): void {
    const entry = this.#entries.get(name);
    if (entry?.node === undefined || entry.node === null || !needsPods(entry.node)) return;
    this.#dirtyPods.add(entry);
    this.#context.flushWithin(Math.min(PODS_BATCH_MS, this.#context.leaseBatchMs));
  }

  /** Schedules publication of all nodes' pods, once they are listed. */
  noteAllPods(): void {
    for (const { name } of this.#entries.values()) this.notePods(name);
  }

  /** Publishes the collected heartbeats and pods. */
  flush(): void {
    if (!this.#mayPublish) return;
    this.#publishHeartbeats(this.#unsent, "unsent", null);
    this.#unsent.clear();
    for (const entry of this.#dirtyPods) this.#publishPods(entry, false, null);
    this.#dirtyPods.clear();
  }

  /** Publishes the whole shard, `nodesPerStep` nodes at a time, and yields between the steps. */
  *publishAll(nodesPerStep: number, cause: string | null): Generator<void, void> {
    this.#mayPublish = true;
    let step: NodeEntry[] = [];
    for (const entry of this.#entries.values()) {
      if (entry.node === null) continue;
      step.push(entry);
      if (step.length < nodesPerStep) continue;
      this.#publishStep(step, cause);
      step = [];
      yield;
    }
    this.#publishStep(step, cause);
  }

  /** Counts a resync as finished and publishes the pulse that ends it. */
  closeResync(state: ClusterPulse, cause: string | null): void {
    this.#resyncs += 1;
    this.pulse(state, cause);
  }

  contestedLeases(): ContestedLease[] {
    const nowMs = this.#nowMs();
    const contests: ContestedLease[] = [];
    for (const entry of this.#contested) {
      const contest = entry.contest(nowMs);
      if (contest === null) this.#contested.delete(entry);
      else contests.push(contest);
    }
    return contests;
  }

  /** Publishes a pulse, unless the first resync has still to finish. */
  pulse({ watches, outages, heard }: ClusterPulse, cause: string | null): void {
    if (this.#resyncs === 0) return;
    const { nodes, pods } = this.unpublished;
    const { broken } = this.#context.leasePath;
    const contested = this.contestedLeases();
    const body = {
      shard: this.#shard,
      watches,
      nodes: this.#nodesDigest,
      pods: this.#podsDigest,
      resyncs: this.#resyncs,
      ...(nodes + pods === 0 ? {} : { unpublished: { nodes, pods } }),
      ...(outages === undefined ? {} : { outages }),
      ...(heard === undefined || this.#shard !== HEARD_SHARD ? {} : { heard }),
      ...(broken === null ? {} : { leasePath: broken }),
      ...(contested.length === 0 ? {} : { contestedLeases: contested.slice(0, CONTESTED_LEASES_MAX) }),
    };
    this.#context.io.bus.publish("observed.pulse", body, cause);
  }

  #nowMs(): number {
    return this.#context.io.clock.monotonicMs();
  }

  #entryFor(name: string): NodeEntry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const entry = new NodeEntry(name);
    this.#entries.set(name, entry);
    return entry;
  }

  #dropIfEmpty(entry: NodeEntry): void {
    if (entry.node !== null || entry.leaseRenewedAt !== undefined) return;
    this.#entries.delete(entry.name);
    this.#unsent.delete(entry);
  }

  /** Reports the status of a node as heard, unless Vigil wrote it for a kubelet that has never posted one. */
  #noteHeard(node: ObservedNode, isFound: boolean): void {
    const ready = readyConditionOf(node);
    if (ready === null || ready.reason === SilentReason.never.reason) return;
    this.#context.heard({ by: node.node, at: ready.heartbeatAt }, isFound);
  }

  /** Schedules a heartbeat. One after a long silence may be only just in time, so it is published at once. */
  #noteHeartbeat(entry: NodeEntry, silentMs: number | null): void {
    if (silentMs === null || entry.node === null) return;
    this.#unsent.add(entry);
    const isUrgent = silentMs > this.#context.io.profile.nodeMonitorGraceMs * URGENT_SILENCE;
    this.#context.flushWithin(isUrgent ? 0 : this.#context.leaseBatchMs);
  }

  #publishStep(entries: readonly NodeEntry[], cause: string | null): void {
    for (const entry of entries) this.#publishNode(entry, cause);
    this.#publishHeartbeats(entries, "all", cause);
  }

  #publishNode(entry: NodeEntry, cause: string | null): void {
    const { node } = entry;
    if (node === null) return;
    const wasPublished = entry.publishedVersion !== null;
    this.#forgetPublished(entry);
    const isSent = this.#context.io.bus.publish("observed.node", node, cause) !== null;
    this.unpublished.noteNode(node.node, isSent);
    if (!isSent) {
      this.#forgetPublishedPods(entry);
      if (wasPublished) this.#context.io.bus.publish("observed.gone", { node: node.node, uid: node.uid }, cause);
      return;
    }
    entry.publishedVersion = entry.version;
    if (entry.publishedVersion !== null)
      this.#nodesDigest = digestWith(this.#nodesDigest, entry.name, entry.publishedVersion);
    this.#publishPods(entry, true, cause);
  }

  /** Publishes a node's pods if the node's state requires them, and, unless `repeats`, only when they have changed. */
  #publishPods(entry: NodeEntry, repeats: boolean, cause: string | null): void {
    const { io, pods } = this.#context;
    const { name, node, publishedPodsVersion } = entry;
    if (node === null || entry.publishedVersion === null || !needsPods(node)) {
      this.#forgetPublishedPods(entry);
      this.unpublished.notePods(name, []);
      return;
    }
    const version = pods.versionOf(name);
    if (!this.#context.arePodsKnown() || (!repeats && version === publishedPodsVersion)) return;
    this.#forgetPublishedPods(entry);
    entry.publishedPodsVersion = version;
    this.#podsDigest = digestWith(this.#podsDigest, name, version);
    const { chunks, omitted } = podChunks(pods.podsOf(name));
    const unsent = [...omitted];
    for (const [chunk, chunkPods] of chunks.entries()) {
      const body = { node: name, version, chunk, chunks: chunks.length };
      if (io.bus.publish("observed.pods", { ...body, pods: [...chunkPods] }, cause) !== null) continue;
      // An empty chunk replaces one that is too large: readers wait for all chunks of a version.
      io.bus.publish("observed.pods", { ...body, pods: [] }, cause);
      unsent.push(...chunkPods);
    }
    this.unpublished.notePods(
      name,
      unsent.map(({ namespace, name: pod }) => `${namespace}/${pod}`),
    );
  }

  #publishGone(entry: NodeEntry, { node, uid }: ObservedNode): void {
    const wasPublished = entry.publishedVersion !== null;
    this.#forgetPublished(entry);
    this.#forgetPublishedPods(entry);
    this.#dirtyPods.delete(entry);
    this.unpublished.forget(node);
    if (wasPublished) this.#context.io.bus.publish("observed.gone", { node, uid }, null);
  }

  #forgetPublished(entry: NodeEntry): void {
    if (entry.publishedVersion !== null)
      this.#nodesDigest = digestWithout(this.#nodesDigest, entry.name, entry.publishedVersion);
    entry.publishedVersion = null;
  }

  #forgetPublishedPods(entry: NodeEntry): void {
    if (entry.publishedPodsVersion !== null)
      this.#podsDigest = digestWithout(this.#podsDigest, entry.name, entry.publishedPodsVersion);
    entry.publishedPodsVersion = null;
  }

  /** A node's heartbeats share a message: a reader with the old status alone would count a live node as silent. */
  #publishHeartbeats(entries: Iterable<NodeEntry>, which: "all" | "unsent", cause: string | null): void {
    const { clock, bus } = this.#context.io;
    let batch: Heartbeat[] = [];
    const publishBatch = (): void => {
      if (batch.length > 0) bus.publish("observed.lease", { shard: this.#shard, heartbeats: batch }, cause);
      batch = [];
    };
    for (const entry of entries) {
      if (entry.publishedVersion === null) continue;
      const nowMs = clock.monotonicMs();
      const due = entry.collectHeartbeats(which, clock.wallMs(), nowMs);
      if (batch.length + due.length > HEARTBEATS_PER_MESSAGE_MAX) publishBatch();
      batch.push(...due);
    }
    publishBatch();
  }
}
