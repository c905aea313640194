/** Which nodes exist, by shard, compared with the observer's digests to find missed messages. */
import type { BodyOf, Message } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { SHARD_COUNT, shardOf } from "../../../protocols/subjects.ts";
import { ShardView, type ShardViewProfile } from "../../platform/shard-view/shard-view.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import { reducedNode } from "./cluster-state.ts";

/** How long after its start a ledger waits for the resyncs of other services before it requests one. */
export const RESYNC_WAIT_MS = 3000;

/** Most sets of labels that nodes share: zones, pools and architectures make up few of them. */
const LABEL_SETS_MAX = 1000;

/** What a pulse shows. */
export interface PulseFindings {
  /** Nodes whose `observed.gone` was missed. */
  readonly departed: readonly ObservedNode[];
  /** Why the shard needs a resync; null where it does not. */
  readonly resync: string | null;
}

/** The nodes of all shards. */
export class NodeInventory {
  readonly #views: readonly ShardView[];
  /** The labels of nodes, each set once. A set that had to make room is still kept by its nodes. */
  readonly #labels = new BoundedMap<string, ObservedNode["labels"]>(LABEL_SETS_MAX);
  readonly #startedMs: number;

  constructor(profile: ShardViewProfile, nowMs: number) {
    this.#startedMs = nowMs;
    // An observer that has not listed the nodes yet publishes the digest of none.
    const needs = ["nodes"] as const;
    const newView = (): ShardView => new ShardView({ needs, holdsPods: false, profile, beganMs: nowMs });
    this.#views = Array.from({ length: SHARD_COUNT }, newView);
  }

  /** Whether a state is older than the known one and must not be followed (`ShardView.isOutdated`). */
  isOutdated(message: Message<"observed.node">): boolean {
    return this.#views[shardOf(message.body.node)]?.isOutdated(message) === true;
  }

  /** Records a node, and returns it reduced as it is kept, with the labels that its zone and policy follow from. */
  onNode(node: ObservedNode): ObservedNode {
    const reduced = reducedNode(node, this.#shared(node.labels));
    this.#views[shardOf(node.node)]?.onNode(reduced);
    return reduced;
  }

  onGone(body: BodyOf<"observed.gone">): void {
    this.#views[shardOf(body.node)]?.onGone(body);
  }

  /** Why it is not known which nodes exist in a shard; null where it is. */
  unknownReason(shard: number, nowMs: number): string | null {
    return this.#views[shard]?.blindness(nowMs) ?? null;
  }

  /** Requests a resync of a shard with the next pulse, because messages that are published once were lost. */
  markSuspect(shard: number, reason: string): void {
    this.#views[shard]?.markSuspect(reason);
  }

  /** Whether it is known which nodes exist in every shard. */
  isKnown(nowMs: number): boolean {
    return this.#views.every((view) => view.blindness(nowMs) === null);
  }

  onPulse(message: Message<"observed.pulse">, nowMs: number): PulseFindings {
    const view = this.#views[message.body.shard];
    const departed = view?.onPulse(message, nowMs) ?? [];
    const isWaiting = nowMs - this.#startedMs < RESYNC_WAIT_MS;
    return { departed, resync: isWaiting ? null : (view?.resyncReason(nowMs) ?? null) };
  }

  #shared(labels: ObservedNode["labels"]): ObservedNode["labels"] {
    const key = JSON.stringify(labels);
    const shared = this.#labels.get(key) ?? labels;
    this.#labels.set(key, shared);
    return shared;
  }
}
