/** Which nodes there are, shard by shard, and whether word of one was missed. It asks for nothing itself. */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { ShardView, type ShardViewProfile } from "../platform/shard-view/shard-view.ts";
import { reducedNode } from "./cluster-state.ts";

/** How long the other services' resyncs are waited for, before the ledger asks for one of its own. */
export const RESYNC_WAIT_MS = 3000;

/** What a pulse brought to light. */
export interface PulseFindings {
  /** Nodes that left without a word. */
  readonly departed: readonly ObservedNode[];
  /** Why the shard should be told again; null when it need not. */
  readonly resync: string | null;
}

/** The nodes of all shards, compared with what the observer says it has told. */
export class NodeInventory {
  readonly #views: readonly ShardView[];
  readonly #startedMs: number;

  constructor(profile: ShardViewProfile, nowMs: number) {
    this.#startedMs = nowMs;
    const newView = (): ShardView => new ShardView({ needs: [], holdsPods: false, profile, beganMs: nowMs });
    this.#views = Array.from({ length: SHARD_COUNT }, newView);
  }

  /** Takes a node; returns the little of it that is kept. */
  take(node: ObservedNode): ObservedNode {
    const essence = reducedNode(node);
    this.#views[shardOf(node.node)]?.takeNode(essence);
    return essence;
  }

  takeGone(body: BodyOf<"observed.gone">): void {
    this.#views[shardOf(body.node)]?.takeGone(body);
  }

  /** Why it cannot be known now which nodes there are in a node's shard; null when it can. */
  unknownReason(node: string, nowMs: number): string | null {
    return this.#views[shardOf(node)]?.blindness(nowMs) ?? null;
  }

  /** Whether it is known now which nodes there are in a shard. */
  isShardKnown(shard: number, nowMs: number): boolean {
    return this.#views[shard]?.blindness(nowMs) === null;
  }

  /** Whether it is known now which nodes there are at all. */
  isKnown(nowMs: number): boolean {
    return this.#views.every((view) => view.blindness(nowMs) === null);
  }

  /** Takes a pulse, and tells what its digest shows to have been missed. */
  takePulse(message: Message<"observed.pulse">, nowMs: number): PulseFindings {
    const view = this.#views[message.body.shard];
    const departed = view?.takePulse(message, nowMs) ?? [];
    const patient = nowMs - this.#startedMs < RESYNC_WAIT_MS;
    return { departed, resync: patient ? null : (view?.resyncReason(nowMs) ?? null) };
  }
}
