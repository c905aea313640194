/**
 * Tells one shard: nodes, their pods and signs of life as they change, everything again on a resync, and pulses with
 * the digest of it.
 */
import { digestWith, digestWithout, EMPTY_DIGEST } from "../../protocols/digest.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Heartbeat, ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { type Digest, HEARTBEATS_PER_MESSAGE_MAX } from "../../protocols/observed.ts";
import type { Io, ObservedLease } from "../../protocols/ports.ts";
import { isOfInterest } from "../domain/node-conditions.ts";
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
const LONG_SILENCE = 0.75;

/** How long changes of a node's pods are collected before they are told, in milliseconds. */
const PODS_BATCH_MS = 100;

/** What the shards of one observer share. */
export interface ObserverSurroundings {
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
  readonly #around: ObserverSurroundings;
  readonly #entries = new Map<string, NodeEntry>();
  readonly #unsent = new Set<NodeEntry>();
  readonly #dirtyPods = new Set<NodeEntry>();
  /** What no message can hold; it is in no digest. */
  readonly unpublished: Unpublished;
  #nodesDigest: Digest = EMPTY_DIGEST;
  #podsDigest: Digest = EMPTY_DIGEST;
  #resyncs = 0;
  #mayTell = false;

  constructor(shard: number, around: ObserverSurroundings) {
    this.#shard = shard;
    this.#around = around;
    this.unpublished = new Unpublished(around.io.log);
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
    if (before !== null && before.uid !== node.uid) this.#tellGone(entry, before);
    this.#noteSign(entry, entry.takeNode(node, this.#around.io.clock.monotonicMs(), this.#around.seenBeforeMs));
    if (this.#mayTell && (entry.told === null || before === null || nodeChange(before, node) === "state")) {
      this.#tell(entry);
    }
  }

  takeNodeGone(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.node === null) return;
    this.#tellGone(entry, entry.node);
    entry.node = null;
    this.#dropIfEmpty(entry);
  }

  takeLease({ node, renewedAt }: ObservedLease): void {
    const entry = this.#entryFor(node);
    this.#noteSign(entry, entry.takeLease(renewedAt, this.#around.io.clock.monotonicMs(), this.#around.seenBeforeMs));
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
    if (entry?.node === undefined || entry.node === null || !isOfInterest(entry.node)) return;
    this.#dirtyPods.add(entry);
    this.#around.flushWithin(Math.min(PODS_BATCH_MS, this.#around.leaseBatchMs));
  }

  /** The pods of every node became known: those of the nodes of interest are to be told. */
  noteAllPods(): void {
    for (const { name } of this.#entries.values()) this.notePods(name);
  }

  /** Tells the signs and pods that were held back to go together. */
  flush(): void {
    if (!this.#mayTell) return;
    this.#tellSigns(this.#unsent, "unsent", null);
    this.#unsent.clear();
    for (const entry of this.#dirtyPods) this.#tellPods(entry, false, null);
    this.#dirtyPods.clear();
  }

  /** Tells everything again, so many nodes at each step, and yields between the steps. */
  *tellAll(nodesPerStep: number, cause: string | null): Generator<void, void> {
    this.#mayTell = true;
    let step: NodeEntry[] = [];
    for (const entry of this.#entries.values()) {
      if (entry.node === null) continue;
      step.push(entry);
      if (step.length < nodesPerStep) continue;
      this.#tellStep(step, cause);
      step = [];
      yield;
    }
    this.#tellStep(step, cause);
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
    this.#around.io.bus.publish("observed.pulse", body, cause);
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
  #noteSign(entry: NodeEntry, silentMs: number | null): void {
    if (silentMs === null || entry.node === null) return;
    this.#unsent.add(entry);
    const isUrgent = silentMs > this.#around.io.profile.nodeMonitorGraceMs * LONG_SILENCE;
    this.#around.flushWithin(isUrgent ? 0 : this.#around.leaseBatchMs);
  }

  #tellStep(entries: readonly NodeEntry[], cause: string | null): void {
    for (const entry of entries) this.#tell(entry, cause);
    this.#tellSigns(entries, "all", cause);
  }

  #tell(entry: NodeEntry, cause: string | null = null): void {
    const { node } = entry;
    if (node === null) return;
    const wasTold = entry.told !== null;
    this.#untell(entry);
    const isSent = this.#around.io.bus.publish("observed.node", node, cause) !== null;
    this.unpublished.noteNode(node.node, isSent);
    if (!isSent) {
      this.#untellPods(entry);
      if (wasTold) this.#around.io.bus.publish("observed.gone", { node: node.node, uid: node.uid }, cause);
      return;
    }
    entry.told = entry.version;
    if (entry.told !== null) this.#nodesDigest = digestWith(this.#nodesDigest, entry.name, entry.told);
    this.#tellPods(entry, true, cause);
  }

  /**
   * Tells a node's pods while they are of interest: always when asked to repeat, else when they are not the ones told
   * last.
   */
  #tellPods(entry: NodeEntry, repeats: boolean, cause: string | null): void {
    const { io, pods } = this.#around;
    const { name, node, toldPods } = entry;
    if (node === null || entry.told === null || !isOfInterest(node)) {
      this.#untellPods(entry);
      this.unpublished.notePods(name, []);
      return;
    }
    const version = pods.versionOf(name);
    if (!this.#around.arePodsKnown() || (!repeats && version === toldPods)) return;
    this.#untellPods(entry);
    entry.toldPods = version;
    this.#podsDigest = digestWith(this.#podsDigest, name, version);
    const { chunks, omitted } = podChunks(pods.podsOf(name));
    const unsent = [...omitted];
    for (const [chunk, told] of chunks.entries()) {
      const body = { node: name, version, chunk, chunks: chunks.length };
      if (io.bus.publish("observed.pods", { ...body, pods: [...told] }, cause) !== null) continue;
      // Readers wait for every chunk of a version.
      io.bus.publish("observed.pods", { ...body, pods: [] }, cause);
      unsent.push(...told);
    }
    this.unpublished.notePods(name, unsent.map(podName));
  }

  #tellGone(entry: NodeEntry, { node, uid }: ObservedNode): void {
    const wasTold = entry.told !== null;
    this.#untell(entry);
    this.#untellPods(entry);
    this.#dirtyPods.delete(entry);
    this.unpublished.forget(node);
    if (wasTold) this.#around.io.bus.publish("observed.gone", { node, uid }, null);
  }

  #untell(entry: NodeEntry): void {
    if (entry.told !== null) this.#nodesDigest = digestWithout(this.#nodesDigest, entry.name, entry.told);
    entry.told = null;
  }

  #untellPods(entry: NodeEntry): void {
    if (entry.toldPods !== null) this.#podsDigest = digestWithout(this.#podsDigest, entry.name, entry.toldPods);
    entry.toldPods = null;
  }

  #tellSigns(entries: Iterable<NodeEntry>, which: "all" | "unsent", cause: string | null): void {
    const { clock, bus } = this.#around.io;
    const signs: Heartbeat[] = [];
    for (const entry of entries) {
      if (entry.told !== null) signs.push(...entry.takeSigns(which, clock.wallMs(), clock.monotonicMs()));
    }
    for (let start = 0; start < signs.length; start += HEARTBEATS_PER_MESSAGE_MAX) {
      const heartbeats = signs.slice(start, start + HEARTBEATS_PER_MESSAGE_MAX);
      bus.publish("observed.lease", { shard: this.#shard, heartbeats }, cause);
    }
  }
}

function podName({ namespace, name }: ObservedPod): string {
  return `${namespace}/${name}`;
}
