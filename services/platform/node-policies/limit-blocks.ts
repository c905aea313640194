/**
 * What the owner of the limits published last about each policy, as far as that blocks something. A policy with limits
 * of which nothing recent is known blocks it too.
 *
 *   out-of-service taints   a storm, the time after it, more admitted nodes than the budgets allow now
 *   marks of pods           an open breaker that covers readiness, and a silent node that it has not counted yet
 *
 * Admissions for eviction have permits instead.
 */

import type { BodyOf, Message } from "../../../protocols/messages.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import type { Io, Stop } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import type { Instant } from "../../domain/instant.ts";
import {
  hasClusterBreaker,
  hasLimits,
  LIMITS_REPEAT_MS,
  readinessBreakersOf,
  WHOLE_CLUSTER,
} from "../../domain/limited-policies.ts";

type Limits = Pick<BodyOf<"judged.limits">, "condemned" | "budget" | "memory" | "down">;

/** Why the limits of a policy block a node that is admitted for eviction already; null when they do not. */
export function limitBlock(
  { condemned, budget, memory }: Limits,
  stormCooldownMs: number | null,
  wallMs: number,
): string | null {
  if (memory.trippedAt !== null) return "circuitBreaker";
  if (memory.isStorm) return "maxUnhealthy, or a halt";
  const isCooling = memory.stormEndedAt !== null && wallMs < memory.stormEndedAt + (stormCooldownMs ?? 0);
  if (isCooling) return "stormCooldownDuration";
  return budget !== undefined && condemned > budget ? "budgets" : null;
}

/**
 * Whether a breaker keeps the pods of a silent node from being marked: it is open, or has not counted that node yet. If
 * many nodes go silent at once, the first ones therefore wait for the others. Example: a node is down since 12:00:05,
 * and the newest node that the owner has counted is down since 12:00:03. The pods wait until the owner publishes
 * 12:00:05 or later and the breaker is still closed.
 */
export function blocksMarks({ memory, down }: Pick<Limits, "memory" | "down">, sinceAt: number): boolean {
  return memory.trippedAt !== null || down === undefined || down.newestAt === null || down.newestAt < sinceAt;
}

/** The latest limits of each policy. */
export class LimitBlocks {
  readonly #profile: Profile;
  readonly #latest = new Map<string, { readonly limits: Limits; readonly receivedMs: number }>();

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  onLimits({ body }: Pick<Message<"judged.limits">, "body">, receivedMs: number): void {
    this.#latest.set(body.policy, { limits: body, receivedMs });
  }

  /** Drops the policies that are gone. */
  keep(policies: ReadonlySet<string>): void {
    for (const policy of this.#latest.keys()) {
      if (policy !== WHOLE_CLUSTER && !policies.has(policy)) this.#latest.delete(policy);
    }
  }

  /** What blocks a node of a policy; null for nothing. */
  blockedBy(policy: NodePolicy, at: Instant): string | null {
    const own = hasLimits(policy) ? this.#blockOf(policy.name, policy.stormCooldownMs, at) : null;
    if (own !== null) return `${own} of ${policy.name}`;
    if (!hasClusterBreaker(this.#profile)) return null;
    const cluster = this.#blockOf(WHOLE_CLUSTER, null, at);
    return cluster === null ? null : `${cluster} of the cluster`;
  }

  /** Whether the pods of a node that is silent since `sinceAt`, as judged, may not be marked not ready. */
  blocksMarks(policy: NodePolicy | null, sinceAt: number, nowMs: number): boolean {
    const breakers = readinessBreakersOf(policy, this.#profile);
    return breakers.some((name) => {
      const limits = this.#recentLimits(name, nowMs);
      return limits === null || blocksMarks(limits, sinceAt);
    });
  }

  #blockOf(name: string, stormCooldownMs: number | null, { nowMs, wallMs }: Instant): string | null {
    const limits = this.#recentLimits(name, nowMs);
    return limits === null ? "limits not known yet" : limitBlock(limits, stormCooldownMs, wallMs);
  }

  #recentLimits(name: string, nowMs: number): Limits | null {
    const latest = this.#latest.get(name);
    const isRecent =
      latest !== undefined && nowMs - latest.receivedMs < this.#profile.pulseTimeoutMs + LIMITS_REPEAT_MS;
    return isRecent ? latest.limits : null;
  }
}

/** Receives the limits of policies for `LimitBlocks`, while there is a policy that may have to wait for them. */
export class LimitReceiver {
  readonly #io: Pick<Io, "bus" | "clock">;
  readonly #blocks: LimitBlocks;
  readonly #received: (cause: string) => void;
  #stop: Stop | null = null;

  /** `received` is called after each message, with its id. */
  constructor(io: Pick<Io, "bus" | "clock">, blocks: LimitBlocks, received: (cause: string) => void) {
    this.#io = io;
    this.#blocks = blocks;
    this.#received = received;
  }

  /**
   * Applies the policies that may have to wait. Without any, a process is not woken for limits, unless those of the
   * cluster are needed.
   */
  follow(policies: readonly NodePolicy[], needsCluster = false): void {
    this.#blocks.keep(new Set(policies.map(({ name }) => name)));
    if (policies.length === 0 && !needsCluster) this.stop();
    else {
      this.#stop ??= this.#io.bus.subscribe("judged.limits", 0, (message) => {
        this.#blocks.onLimits(message, this.#io.clock.monotonicMs());
        this.#received(message.id);
      });
    }
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }
}
