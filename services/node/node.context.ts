/** What the node actors of one shard share: how they see it, what wakes them, and what they count. */
import type { ObservedPod } from "../../protocols/objects.ts";
import type { Io, Metrics } from "../../protocols/ports.ts";
import type { KeyedDeadlines } from "../structures/deadlines.keyed.ts";
import type { ObservedOutages } from "./concerns/concern.ts";
import type { ServiceConcerns } from "./concerns/service-concerns.ts";

/** What an actor sees of its shard. */
export interface ShardState {
  /** Why the shard is blind; null when it is not. */
  blindness(nowMs: number): string | null;
  /** Since when the watches have been synced, on the monotonic clock. */
  readonly watchHealth: { readonly since: number | null };
  readonly outages: ObservedOutages;
  /** The pods of a node; null where they are not known. */
  pods(node: string): { readonly pods: readonly ObservedPod[] } | null;
}

/** What the actors of one shard share. */
export interface NodeContext<Actor> {
  readonly io: Io;
  readonly shard: ShardState;
  readonly concerns: Pick<ServiceConcerns, "concernsFor">;
  /** Wakes an actor when its node's grace ends. */
  readonly graces: KeyedDeadlines<Actor>;
  /** Wakes an actor for retries of its requests and for its eviction. */
  readonly reviews: KeyedDeadlines<Actor>;
  readonly lateness: ReturnType<Metrics["histogram"]>;
  readonly refuted: ReturnType<Metrics["counter"]>;
  readonly postponed: ReturnType<Metrics["counter"]>;
  /** The actors to review again once the view of the shard is synced. */
  readonly waitingForSync: Set<Actor>;
  /** The actors to review with each message about limits. */
  readonly waitingForLimits: Set<Actor>;
  /** `ZoneHalts.endedMs` of a zone. */
  readonly haltEndedMs: (zone: string) => number | null;
  markSuspect(reason: string, cause: string | null): void;
}
