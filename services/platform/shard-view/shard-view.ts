/** What a reader holds of one shard, and whether it may trust it. Pure state: it sends nothing and keeps no time. */
import { digestWith, digestWithout, EMPTY_DIGEST, nodeVersion, sameDigest } from "../../../protocols/digest.ts";
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Digest } from "../../../protocols/observed.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { needsPods } from "../../domain/node-conditions.ts";
import { type PodsOfNode, ShardPods } from "./shard-pods.ts";
import { type PulseMessage, publisherOf, WatchHealth, type WatchHealthProfile } from "./watch-health.ts";

/** The settings a view lives by. */
export type ShardViewProfile = WatchHealthProfile & Pick<Profile, "resyncRetryMs">;

/** What a reader wants of a shard. */
export interface ShardViewOptions {
  /** The watches that must be synced before it may pass a harmful verdict. */
  readonly needs: readonly WatchName[];
  /** Whether it follows observed.pods. */
  readonly holdsPods: boolean;
  readonly profile: ShardViewProfile;
  /** When the reader began to listen, on its monotonic clock. */
  readonly beganMs: number;
}

interface HeldNode {
  readonly node: ObservedNode;
  /** The ask for a resync after which it was last mentioned. */
  readonly mention: number;
}

/**
 * One shard as its reader knows it. The view is whole when the digests over what it holds equal those of the last pulse
 * and no doubt stands; a doubt (a gap, a refuted verdict, a new observer) is laid by the pulse that closes a resync.
 * Only with a whole view and open eyes may a reader pass a harmful verdict; `blindness` tells why not.
 */
export class ShardView {
  readonly watchHealth: WatchHealth;
  readonly #options: ShardViewOptions;
  readonly #nodes = new Map<string, HeldNode>();
  readonly #pods = new ShardPods();
  #nodesDigest: Digest = EMPTY_DIGEST;
  #podsDigest: Digest = EMPTY_DIGEST;
  #pulse: BodyOf<"observed.pulse"> | null = null;
  /**
   * Whether the digests agreed at the last pulse, or have come to agree since: changes told after it do not break this.
   */
  #agrees = false;
  #publisher: string | null = null;
  /** Why the digests alone are not believed. */
  #suspectReason: string | null = "nothing has been told yet";
  #mention = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ShardViewOptions) {
    this.#options = options;
    this.watchHealth = new WatchHealth(options.needs, options.profile, options.beganMs);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Every node held. */
  *nodes(): Generator<ObservedNode> {
    for (const held of this.#nodes.values()) yield held.node;
  }

  node(name: string): ObservedNode | null {
    return this.#nodes.get(name)?.node ?? null;
  }

  /** The pods of a node of interest, once told completely; null before, and for every other node. */
  pods(name: string): PodsOfNode | null {
    return this.#pods.of(name);
  }

  /**
   * Takes a node's state. Returns what was held under its name before: another uid there means that it was replaced.
   */
  takeNode(node: ObservedNode): ObservedNode | null {
    const previous = this.node(node.node);
    if (previous !== null) this.#nodesDigest = digestWithout(this.#nodesDigest, previous.node, versionOf(previous));
    this.#nodes.set(node.node, { node, mention: this.#mention });
    this.#nodesDigest = digestWith(this.#nodesDigest, node.node, versionOf(node));
    if (previous?.uid !== node.uid || !needsPods(node)) this.#dropPods(node.node);
    this.#compareLate();
    return previous;
  }

  /**
   * Takes word that a node is gone. Returns what was held; null when that was already another node of the same name, or
   * none.
   */
  takeGone(body: BodyOf<"observed.gone">): ObservedNode | null {
    const held = this.node(body.node);
    if (held === null || held.uid !== body.uid) return null;
    this.#drop(held);
    this.#compareLate();
    return held;
  }

  /**
   * Takes a chunk of a node's pods. Returns the whole version it completes; null while chunks are missing or nobody
   * asks for them.
   */
  takePods(body: BodyOf<"observed.pods">): PodsOfNode | null {
    const node = this.node(body.node);
    if (node === null || !needsPods(node)) return null;
    const before = this.pods(body.node);
    const whole = this.#pods.take(body);
    if (whole === null) return null;
    if (before !== null) this.#podsDigest = digestWithout(this.#podsDigest, body.node, before.version);
    this.#podsDigest = digestWith(this.#podsDigest, body.node, whole.version);
    this.#compareLate();
    return whole;
  }

  /** Takes a pulse. Returns the nodes that left unnoticed: a resync that just closed did not mention them. */
  takePulse(message: PulseMessage, nowMs: number): ObservedNode[] {
    const isClosing = this.#closesResync(message);
    if (this.#publisher !== null && this.#publisher !== publisherOf(message) && !isClosing) {
      this.#suspectReason = "another observer speaks";
    }
    // An observer that has hardly begun may not have listened yet when a resync was asked for.
    if (this.#publisher !== publisherOf(message) && message.body.resyncs <= 1) this.#askedAt = Number.NEGATIVE_INFINITY;
    this.#publisher = publisherOf(message);
    this.#pulse = message.body;
    this.watchHealth.take(message, nowMs);
    this.#agrees = this.#matches();
    if (!isClosing) return [];
    this.#suspectReason = null;
    return this.#agrees ? [] : this.#sweep();
  }

  /** Notes a reason to distrust what is held; the next finished resync lays it. */
  markSuspect(reason: string): void {
    this.#suspectReason ??= reason;
  }

  /** Why no harmful verdict may be passed now; null when one may. */
  blindness(nowMs: number): string | null {
    return this.watchHealth.blindness(nowMs) ?? this.#suspectReason ?? (this.#agrees ? null : "messages are missing");
  }

  /** The reason to ask for a resync now; null when there is none, or one was asked for less than resyncRetryMs ago. */
  resyncReason(nowMs: number): string | null {
    if (nowMs - this.#askedAt < this.#options.profile.resyncRetryMs) return null;
    const isComparable = this.#pulse?.watches.nodes.synced === true;
    const reason = this.#suspectReason ?? (isComparable && !this.#agrees ? "messages are missing" : null);
    if (reason === null) return null;
    this.#askedAt = nowMs;
    this.#mention += 1;
    return reason;
  }

  /** A message overtaken by the pulse that counted it makes the digests agree when it comes. */
  #compareLate(): void {
    if (!this.#agrees) this.#agrees = this.#matches();
  }

  #matches(): boolean {
    if (this.#pulse === null || !sameDigest(this.#pulse.nodes, this.#nodesDigest)) return false;
    return !this.#options.holdsPods || sameDigest(this.#pulse.pods, this.#podsDigest);
  }

  /**
   * A resync closed when its count rose, when a new observer has told its first, or when an ask is named as the pulse's
   * cause.
   */
  #closesResync(message: PulseMessage): boolean {
    if (message.cause !== null || this.#pulse === null) return message.cause !== null;
    if (publisherOf(message) !== this.#publisher) return message.body.resyncs === 1;
    return message.body.resyncs > this.#pulse.resyncs;
  }

  #sweep(): ObservedNode[] {
    const unmentioned: ObservedNode[] = [];
    let digest = this.#nodesDigest;
    for (const { node, mention } of this.#nodes.values()) {
      if (mention === this.#mention) continue;
      unmentioned.push(node);
      digest = digestWithout(digest, node.node, versionOf(node));
    }
    if (this.#pulse === null || !sameDigest(digest, this.#pulse.nodes)) return [];
    for (const node of unmentioned) this.#drop(node);
    this.#agrees = this.#matches();
    return unmentioned;
  }

  #drop(node: ObservedNode): void {
    this.#nodes.delete(node.node);
    this.#nodesDigest = digestWithout(this.#nodesDigest, node.node, versionOf(node));
    this.#dropPods(node.node);
  }

  #dropPods(name: string): void {
    const held = this.#pods.drop(name);
    if (held !== null) this.#podsDigest = digestWithout(this.#podsDigest, name, held.version);
  }
}

function versionOf(node: ObservedNode): string {
  return nodeVersion(node.uid, node.resourceVersion);
}
