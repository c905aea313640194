/** Which nodes there are, shard by shard, and whether word of one was missed. It asks for nothing itself. */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { ShardView, type ShardViewProfile } from "../platform/shard-view/shard-view.ts";
import { essenceOf } from "./facts.ts";

/** How long the other services' resyncs are waited for, before the ledger asks for one of its own. */
export const PATIENCE_MS = 3000;

/** What a pulse brought to light. */
export interface PulseFindings {
  /** Nodes that left without a word. */
  readonly departed: readonly ObservedNode[];
  /** Why the shard should be told again; null when it need not. */
  readonly resync: string | null;
}

/** The nodes of all shards, compared with what the observer says it has told. */
export class Census {
  readonly #views: readonly ShardView[];
  readonly #startedMs: number;

  constructor(profile: ShardViewProfile, nowMs: number) {
    this.#startedMs = nowMs;
    const newView = (): ShardView => new ShardView({ needs: [], holdsPods: false, profile, beganMs: nowMs });
    this.#views = Array.from({ length: SHARD_COUNT }, newView);
  }

  /** Takes a node; returns the little of it that is kept. */
  take(node: ObservedNode): ObservedNode {
    const essence = essenceOf(node);
    this.#views[shardOf(node.node)]?.takeNode(essence);
    return essence;
  }

  takeGone(body: BodyOf<"observed.gone">): void {
    this.#views[shardOf(body.node)]?.takeGone(body);
  }

  /** Why it cannot be known now which nodes there are in a node's shard; null when it can. */
  ignorance(node: string, nowMs: number): string | null {
    return this.#views[shardOf(node)]?.blindness(nowMs) ?? null;
  }

  /** Whether it is known now which nodes there are in a shard. */
  isTold(shard: number, nowMs: number): boolean {
    return this.#views[shard]?.blindness(nowMs) === null;
  }

  /** Whether it is known now which nodes there are at all. */
  isWhole(nowMs: number): boolean {
    return this.#views.every((view) => view.blindness(nowMs) === null);
  }

  /** Takes a pulse, and tells what its digest shows to have been missed. */
  takePulse(message: Message<"observed.pulse">, nowMs: number): PulseFindings {
    const view = this.#views[message.body.shard];
    const departed = view?.takePulse(message, nowMs) ?? [];
    const patient = nowMs - this.#startedMs < PATIENCE_MS;
    return { departed, resync: patient ? null : (view?.resyncReason(nowMs) ?? null) };
  }
}
