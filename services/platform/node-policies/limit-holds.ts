/**
 * What the owner of the limits published last about each policy, as far as it holds an out-of-service taint back: a
 * storm, the time after it, or more condemned nodes than the budgets allow now. A policy with limits of which nothing
 * recent is known is held back too.
 */
import type { BodyOf, Message } from "../../../protocols/messages.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import type { Io, Stop } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { hasClusterBreaker, hasLimits, LIMITS_REPEAT_MS, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";

type Limits = Pick<BodyOf<"judged.limits">, "condemned" | "budget" | "memory">;

/** An instant on both clocks. */
export interface HoldInstant {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** Why the limits of a policy hold a node that is condemned already back; null when they do not. */
export function limitHoldOf(
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

/** The latest limits of each policy. */
export class LimitHolds {
  readonly #profile: Profile;
  readonly #latest = new Map<string, { readonly limits: Limits; readonly receivedMs: number }>();

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  take({ body }: Pick<Message<"judged.limits">, "body">, receivedMs: number): void {
    this.#latest.set(body.policy, { limits: body, receivedMs });
  }

  /** Drops the policies that are gone. */
  keep(policies: ReadonlySet<string>): void {
    for (const policy of this.#latest.keys()) {
      if (policy !== WHOLE_CLUSTER && !policies.has(policy)) this.#latest.delete(policy);
    }
  }

  /** What holds a node of a policy back; null for nothing. */
  holdOn(policy: NodePolicy, at: HoldInstant): string | null {
    const own = hasLimits(policy) ? this.#holdOf(policy.name, policy.stormCooldownMs, at) : null;
    if (own !== null) return `${own} of ${policy.name}`;
    if (!hasClusterBreaker(this.#profile)) return null;
    const ofAll = this.#holdOf(WHOLE_CLUSTER, null, at);
    return ofAll === null ? null : `${ofAll} of the cluster`;
  }

  #holdOf(name: string, stormCooldownMs: number | null, { nowMs, wallMs }: HoldInstant): string | null {
    const latest = this.#latest.get(name);
    if (latest === undefined || nowMs - latest.receivedMs >= this.#profile.pulseTimeoutMs + LIMITS_REPEAT_MS)
      return "limits not known yet";
    return limitHoldOf(latest.limits, stormCooldownMs, wallMs);
  }
}

/** Receives the limits of policies for `LimitHolds`, while there is a policy that may have to wait for them. */
export class LimitReceiver {
  readonly #io: Pick<Io, "bus" | "clock">;
  readonly #holds: LimitHolds;
  readonly #taken: (cause: string) => void;
  #stop: Stop | null = null;

  /** `taken` is called after each message, with its id. */
  constructor(io: Pick<Io, "bus" | "clock">, holds: LimitHolds, taken: (cause: string) => void) {
    this.#io = io;
    this.#holds = holds;
    this.#taken = taken;
  }

  /** Takes the policies that may have to wait. Without any, a process is not woken for limits. */
  follow(policies: readonly NodePolicy[]): void {
    this.#holds.keep(new Set(policies.map(({ name }) => name)));
    if (policies.length === 0) this.stop();
    else {
      this.#stop ??= this.#io.bus.subscribe("judged.limits", 0, (message) => {
        this.#holds.take(message, this.#io.clock.monotonicMs());
        this.#taken(message.id);
      });
    }
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }
}
