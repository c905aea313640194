/**
 * Tells one shard: nodes, their pods and signs of life as they change, everything again on a resync, and pulses with
 * the digest of it.
 */
import { digestWith, digestWithout, EMPTY_DIGEST } from "../../protocols/digest.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Heartbeat, ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { type Digest, HEARTBEATS_PER_MESSAGE_MAX } from "../../protocols/observed.ts";
import type { Io, ObservedLease } from "../../protocols/ports.ts";
import { needsPods } from "../domain/node-conditions.ts";
import { boundedNode } from "./node-bounds.policy.ts";
import { NodeEntry, type SeenBefore } from "./node-entry.ts";
import { nodeChange, podChunks } from "./observer.policy.ts";
import type { PodIndex } from "./pod-index.ts";
import { Unpublished } from "./unpublished.ts";

/**
 * The share of a node's grace after which its sign of life is urgent; kubelets renew after a fifth of it, or half where
 * an operator has made it short. Any other may wait, but for a tenth of the grace at most, so that it is told well
 * before its node would be found silent.
 */
const URGENT_SILENCE = 0.75;

/** How long changes of a node's pods are collected before they are told, in milliseconds. */
const PODS_BATCH_MS = 100;

/** What the shards of one observer share. */
export interface ObserverShardContext {
  readonly io: Io;
  /** How long ordinary heartbeats are collected, in milliseconds. */
  readonly leaseBatchMs: number;
  readonly pods: PodIndex;
  /** Whether the pods of a node are known completely. */
  arePodsKnown(): boolean;
  readonly seenBeforeMs: SeenBefore;
  /** Has the shards flushed within so long. */
  flushWithin(delayMs: number): void;
}

/** One shard as the observer holds and tells it. Nothing is told before its first resync has begun. */
export class ObserverShard {
  readonly #shard: number;
  readonly #context: ObserverShardContext;
  readonly #entries = new Map<string, NodeEntry>();
  readonly #unsent = new Set<NodeEntry>();
  readonly #dirtyPods = new Set<NodeEntry>();
  /** What no message can hold; it is in no digest. */
  readonly unpublished: Unpublished;
  #nodesDigest: Digest = EMPTY_DIGEST;
  #podsDigest: Digest = EMPTY_DIGEST;
  #resyncs = 0;
  #mayPublish = false;

  constructor(shard: number, context: ObserverShardContext) {
    this.#shard = shard;
    this.#context = context;
    this.unpublished = new Unpublished(context.io.log);
  }

  /** How many resyncs were finished; readers may trust pulses from the first on. */
  get resyncs(): number {
    return this.#resyncs;
  }

  /** Every name held, for looking at. */
  entries(): IterableIterator<NodeEntry> {
    return this.#entries.values();
  }

  entry(name: string): NodeEntry | undefined {
    return this.#entries.get(name);
  }

  takeNode(live: ObservedNode): void {
    const node = boundedNode(live);
    const entry = this.#entryFor(node.node);
    const before = entry.node;
    if (before !== null && before.uid !== node.uid) this.#publishGone(entry, before);
    this.#noteHeartbeat(entry, entry.takeNode(node, this.#context.io.clock.monotonicMs(), this.#context.seenBeforeMs));
    if (
      this.#mayPublish &&
      (entry.publishedVersion === null || before === null || nodeChange(before, node) === "state")
    ) {
      this.#publishNode(entry);
    }
  }

  takeNodeGone(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.node === null) return;
    this.#publishGone(entry, entry.node);
    entry.node = null;
    this.#dropIfEmpty(entry);
  }

  takeLease({ node, renewedAt }: ObservedLease): void {
    const entry = this.#entryFor(node);
    this.#noteHeartbeat(
      entry,
      entry.takeLease(renewedAt, this.#context.io.clock.monotonicMs(), this.#context.seenBeforeMs),
    );
  }

  takeLeaseGone(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.dropLease();
    this.#dropIfEmpty(entry);
  }

  /** The pods of a node changed. */
  notePods(name: string): void {
    const entry = this.#entries.get(name);
    if (entry?.node === undefined || entry.node === null || !needsPods(entry.node)) return;
    this.#dirtyPods.add(entry);
    this.#context.flushWithin(Math.min(PODS_BATCH_MS, this.#context.leaseBatchMs));
  }

  /** The pods of every node became known: those of the nodes of interest are to be told. */
  noteAllPods(): void {
    for (const { name } of this.#entries.values()) this.notePods(name);
  }

  /** Tells the signs and pods that were held back to go together. */
  flush(): void {
    if (!this.#mayPublish) return;
    this.#publishHeartbeats(this.#unsent, "unsent", null);
    this.#unsent.clear();
    for (const entry of this.#dirtyPods) this.#publishPods(entry, false, null);
    this.#dirtyPods.clear();
  }

  /** Tells everything again, so many nodes at each step, and yields between the steps. */
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

  /** Counts a resync as finished and says so. */
  closeResync(watches: BodyOf<"observed.pulse">["watches"], cause: string | null): void {
    this.#resyncs += 1;
    this.pulse(watches, cause);
  }

  /** Tells what is seen of this shard; nothing before its first resync is finished. */
  pulse(watches: BodyOf<"observed.pulse">["watches"], cause: string | null): void {
    if (this.#resyncs === 0) return;
    const { nodes, pods } = this.unpublished;
    const body = {
      shard: this.#shard,
      watches,
      nodes: this.#nodesDigest,
      pods: this.#podsDigest,
      resyncs: this.#resyncs,
      ...(nodes + pods === 0 ? {} : { unpublished: { nodes, pods } }),
    };
    this.#context.io.bus.publish("observed.pulse", body, cause);
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

  /** A sign after a long silence may be just in time, so it does not wait for others to go with. */
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

  #publishNode(entry: NodeEntry, cause: string | null = null): void {
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

  /**
   * Tells a node's pods while they are of interest: always when asked to repeat, else when they are not the ones told
   * last.
   */
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
      // Readers wait for every chunk of a version.
      io.bus.publish("observed.pods", { ...body, pods: [] }, cause);
      unsent.push(...chunkPods);
    }
    this.unpublished.notePods(name, unsent.map(podName));
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

  #publishHeartbeats(entries: Iterable<NodeEntry>, which: "all" | "unsent", cause: string | null): void {
    const { clock, bus } = this.#context.io;
    const unpublished: Heartbeat[] = [];
    for (const entry of entries) {
      if (entry.publishedVersion !== null)
        unpublished.push(...entry.takeHeartbeats(which, clock.wallMs(), clock.monotonicMs()));
    }
    for (let start = 0; start < unpublished.length; start += HEARTBEATS_PER_MESSAGE_MAX) {
      const heartbeats = unpublished.slice(start, start + HEARTBEATS_PER_MESSAGE_MAX);
      bus.publish("observed.lease", { shard: this.#shard, heartbeats }, cause);
    }
  }
}

function podName({ namespace, name }: ObservedPod): string {
  return `${namespace}/${name}`;
}
