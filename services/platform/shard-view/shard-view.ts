/**
 * The nodes and pods of one shard as a reader knows them, and whether it may trust them. Pure state: no I/O, no clock.
 */
import { digestWith, digestWithout, EMPTY_DIGEST, nodeVersion, sameDigest } from "../../../protocols/digest.ts";
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { BodyOf, Message } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Digest } from "../../../protocols/observed.ts";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { needsPods } from "../../domain/node-conditions.ts";
import { isOlderVersion } from "../../structures/resource-version.ts";
import { ObserverTrust } from "./observer-trust.ts";
import { type PodsOfNode, ShardPods } from "./shard-pods.ts";
import { type PulseMessage, publisherOf, WatchHealth, type WatchHealthProfile } from "./watch-health.ts";

const NONE: readonly FrozenInterval[] = [];

/** The settings of a view. */
export type ShardViewProfile = WatchHealthProfile & Pick<Profile, "resyncRetryMs">;

/** What a reader needs of a shard. */
export interface ShardViewOptions {
  /** The watches that must be synced before it may pass a harmful verdict. */
  readonly needs: readonly WatchName[];
  /** Whether it follows observed.pods. */
  readonly holdsPods: boolean;
  readonly profile: ShardViewProfile;
  /** When the reader subscribed, on its monotonic clock. */
  readonly beganMs: number;
}

interface KnownNode {
  readonly node: ObservedNode;
  /** How many resyncs this reader had requested when the node was last published. */
  readonly mention: number;
}

/**
 * One shard as its reader knows it. The view is complete when the digests of what it knows equal those of the last
 * pulse and the view is not suspect. A gap, a refuted verdict or a new observer makes it suspect; the pulse that ends a
 * resync clears it. A reader may pass a harmful verdict only while `blindness` is null.
 */
export class ShardView {
  readonly watchHealth: WatchHealth;
  readonly #options: ShardViewOptions;
  readonly #trust: ObserverTrust;
  readonly #nodes = new Map<string, KnownNode>();
  readonly #pods = new ShardPods();
  #nodesDigest: Digest = EMPTY_DIGEST;
  #podsDigest: Digest = EMPTY_DIGEST;
  #pulse: BodyOf<"observed.pulse"> | null = null;
  /** Whether the digests agreed at the last pulse or have since. Changes published after that pulse do not reset it. */
  #agrees = false;
  #publisher: string | null = null;
  /** Why equal digests are not enough. */
  #suspectReason: string | null = "not synced yet";
  #mention = 0;
  #requestedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ShardViewOptions) {
    this.#options = options;
    this.#trust = new ObserverTrust(options.profile);
    this.watchHealth = new WatchHealth(options.needs, options.profile, options.beganMs);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** The outages that the observer has found, as of the last pulse. */
  get outages(): readonly FrozenInterval[] {
    return this.#pulse?.outages ?? NONE;
  }

  *nodes(): Generator<ObservedNode> {
    for (const known of this.#nodes.values()) yield known.node;
  }

  node(name: string): ObservedNode | null {
    return this.#nodes.get(name)?.node ?? null;
  }

  /** The pods of a node, once they are complete; null before, and for nodes whose pods nothing needs. */
  pods(name: string): PodsOfNode | null {
    return this.#pods.of(name);
  }

  /**
   * Whether a state is older than the known one and from another observer than the one that this reader follows. Such a
   * state must not be applied; a resync publishes it again if its observer turns out to be the only one.
   */
  isOutdated({ id, body }: Pick<Message<"observed.node">, "id" | "body">): boolean {
    const known = this.node(body.node);
    if (known === null || !isOlderVersion(body.resourceVersion, known.resourceVersion)) return false;
    return !this.#trust.has(publisherOf({ id }));
  }

  /**
   * Applies a node's state that is not outdated. Returns the previous state; another uid there means that the node was
   * replaced.
   */
  onNode(node: ObservedNode): ObservedNode | null {
    const previous = this.node(node.node);
    if (previous !== null) this.#nodesDigest = digestWithout(this.#nodesDigest, previous.node, nodeVersion(previous));
    this.#nodes.set(node.node, { node, mention: this.#mention });
    this.#nodesDigest = digestWith(this.#nodesDigest, node.node, nodeVersion(node));
    if (previous?.uid !== node.uid || !needsPods(node)) this.#dropPods(node.node);
    this.#compareLate();
    return previous;
  }

  /**
   * Applies the removal of a node. Returns its last state; null if none is known, or one of another uid under the same
   * name.
   */
  onGone(body: BodyOf<"observed.gone">): ObservedNode | null {
    const known = this.node(body.node);
    if (known === null || known.uid !== body.uid) return null;
    this.#drop(known);
    this.#compareLate();
    return known;
  }

  /**
   * Handles a chunk of a node's pods. Returns the version it completes; null while chunks are missing or not needed.
   */
  onPods(body: BodyOf<"observed.pods">): PodsOfNode | null {
    const node = this.node(body.node);
    if (node === null || !needsPods(node)) return null;
    const before = this.pods(body.node);
    const complete = this.#pods.onChunk(body);
    if (complete === null) return null;
    if (before !== null) this.#podsDigest = digestWithout(this.#podsDigest, body.node, before.version);
    this.#podsDigest = digestWith(this.#podsDigest, body.node, complete.version);
    this.#compareLate();
    return complete;
  }

  /** Handles a pulse. Returns the nodes that left unnoticed: the resync that it ends did not publish them. */
  onPulse(message: PulseMessage, nowMs: number): ObservedNode[] {
    const publisher = publisherOf(message);
    const isNew = publisher !== this.#publisher;
    const isClosing = this.#closesResync(message);
    if (isNew && this.#publisher !== null && !isClosing) this.#suspectReason = "another observer took over";
    // States of an observer that this reader follows only now may have been ignored as outdated.
    const isFollowedNow = this.#trust.onPulse(publisher, nowMs);
    // A newly started observer may not have subscribed yet when a resync was requested.
    const isStarted = isNew && message.body.resyncs <= 1;
    if (isStarted || isFollowedNow) this.#requestedMs = Number.NEGATIVE_INFINITY;
    this.#publisher = publisher;
    this.#pulse = message.body;
    this.watchHealth.onPulse(message, nowMs);
    this.#agrees = this.#matches();
    if (!isClosing) return [];
    this.#suspectReason = null;
    return this.#agrees ? [] : this.#sweep();
  }

  /** Records a reason to distrust the view; the end of the next resync clears it. */
  markSuspect(reason: string): void {
    this.#suspectReason ??= reason;
  }

  /** Why the reader must not pass a harmful verdict now; null when it may. */
  blindness(nowMs: number): string | null {
    return this.watchHealth.blindness(nowMs) ?? this.#suspectReason ?? (this.#agrees ? null : "messages are missing");
  }

  /** Why to request a resync now; null if no resync is needed or the last request is under resyncRetryMs ago. */
  resyncReason(nowMs: number): string | null {
    if (nowMs - this.#requestedMs < this.#options.profile.resyncRetryMs) return null;
    const isComparable = this.#pulse?.watches.nodes.synced === true;
    const reason = this.#suspectReason ?? (isComparable && !this.#agrees ? "messages are missing" : null);
    if (reason === null) return null;
    this.#requestedMs = nowMs;
    this.#mention += 1;
    return reason;
  }

  /** A message that arrives after the pulse that counted it makes the digests agree. */
  #compareLate(): void {
    if (!this.#agrees) this.#agrees = this.#matches();
  }

  #matches(): boolean {
    if (this.#pulse === null || !sameDigest(this.#pulse.nodes, this.#nodesDigest)) return false;
    return !this.#options.holdsPods || sameDigest(this.#pulse.pods, this.#podsDigest);
  }

  /**
   * A resync has ended when the pulse names its request as cause, its count rises, or a new observer ends its first.
   */
  #closesResync(message: PulseMessage): boolean {
    if (message.cause !== null || this.#pulse === null) return message.cause !== null;
    if (publisherOf(message) !== this.#publisher) return message.body.resyncs === 1;
    return message.body.resyncs > this.#pulse.resyncs;
  }

  /** Drops the nodes that the resync did not publish, but only if the digest agrees without them. */
  #sweep(): ObservedNode[] {
    const unmentioned: ObservedNode[] = [];
    let digest = this.#nodesDigest;
    for (const { node, mention } of this.#nodes.values()) {
      if (mention === this.#mention) continue;
      unmentioned.push(node);
      digest = digestWithout(digest, node.node, nodeVersion(node));
    }
    if (this.#pulse === null || !sameDigest(digest, this.#pulse.nodes)) return [];
    for (const node of unmentioned) this.#drop(node);
    this.#agrees = this.#matches();
    return unmentioned;
  }

  #drop(node: ObservedNode): void {
    this.#nodes.delete(node.node);
    this.#nodesDigest = digestWithout(this.#nodesDigest, node.node, nodeVersion(node));
    this.#dropPods(node.node);
  }

  #dropPods(name: string): void {
    const known = this.#pods.drop(name);
    if (known !== null) this.#podsDigest = digestWithout(this.#podsDigest, name, known.version);
  }
}
