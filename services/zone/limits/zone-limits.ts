/** The limits of node policies in one process with the zone service: which nodes its zones may grant. */

import type { Message } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import type { Stop } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import type { Instant } from "../../domain/instant.ts";
import {
  clusterHoldsReadiness,
  hasCeiling,
  hasClusterBreaker,
  hasLimits,
  POLICY_CEILING,
  WHOLE_CLUSTER,
} from "../../domain/limited-policies.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { evictingConditionTaintsOf } from "../../domain/unhealthy-conditions.ts";
import { dueConditionOf } from "../zone.policy.ts";
import type { Member } from "../zone.roster.ts";
import { scheduledBudgets } from "./budget.policy.ts";
import { countedIn, type LimitedNode, LimitedNodes, limitingPolicy } from "./limited-nodes.ts";
import { LimitsActor, type LimitsContext } from "./limits.actor.ts";
import type { Limits } from "./limits.policy.ts";
import { LimitsLease } from "./limits-lease.ts";
import { Permits } from "./permits.ts";

/** The shard of the zone service whose owner decides about limits. */
const LIMITS_SHARD = 0;
/** How long the request of a grant may be under way before other processes receive it, in milliseconds. */
const UNSEEN_REQUEST_MS = 5000;

/** What the limits need of the zones. */
export interface ZoneLimitsContext
  extends Pick<LimitsContext, "io" | "isSynced" | "grants" | "isHalted" | "isUnderWay"> {
  /** Evaluates a domain, because one of its nodes may be granted. */
  readonly wake: (domain: string) => void;
  /** Set where no other process decides: no Lease and no predecessor counts, and a permit is valid until the next. */
  readonly foreseen?: Foreseen | null;
}

/** The settings of a run that a preview foresees. */
export type Foreseen = Pick<Profile, "pulseTimeoutMs">;

/** The limits as the zones of this process see them. */
export class ZoneLimits {
  readonly #context: ZoneLimitsContext;
  readonly #nodes: LimitedNodes;
  readonly #permits: Permits;
  readonly #actor: LimitsActor;
  readonly #stops: readonly Stop[];
  #limits: ReadonlyMap<string, Limits> = new Map();

  constructor(context: ZoneLimitsContext) {
    const { io, foreseen = null } = context;
    const isAlone = foreseen !== null;
    const { pulseTimeoutMs, evictionMode } = io.profile;
    const lingerMs = (foreseen ?? io.profile).pulseTimeoutMs + UNSEEN_REQUEST_MS;
    this.#context = context;
    this.#nodes = new LimitedNodes(evictionMode);
    this.#permits = new Permits({ pulseTimeoutMs: isAlone ? Number.POSITIVE_INFINITY : pulseTimeoutMs, lingerMs });
    const lease = new LimitsLease(pulseTimeoutMs);
    this.#actor = new LimitsActor({
      ...context,
      nodes: this.#nodes,
      permits: this.#permits,
      lease: isAlone ? null : lease,
      settleMs: isAlone ? 0 : lingerMs + pulseTimeoutMs,
      isFrozen: (node) => this.#isFrozen(node),
    });
    this.#stops = [
      io.bus.subscribe("judged.limits", 0, (message) => this.#onLimits(message)),
      io.bus.subscribe("judged.memory", 0, ({ body }) => {
        if (this.#limits.has(body.policy)) this.#actor.recall(body);
      }),
      io.bus.subscribe("judged.lease", 0, (message) => lease.onLease(message, this.#instant().nowMs)),
      io.policies.follow(() => this.#onPolicies()),
    ];
    this.#onPolicies();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#actor.disown();
  }

  /** Records the state of a node; `member` is null while it is not judged. */
  onNode(observed: ObservedNode, member: Member | null): void {
    const before = this.#nodes.node(observed.node);
    if (!this.#nodes.onNode(observed, member, this.#instant()) || this.#limits.size === 0) return;
    if (hasLanded(before, this.#nodes.node(observed.node))) this.#permits.end(observed.node);
    this.#actor.wake();
  }

  /** Records that the granted taint of a node could not be written, and that its writer does not retry it. */
  unwritten(name: string): void {
    const node = this.#nodes.node(name);
    if (node === null || limitingPolicy(node) === null) return;
    this.#permits.unwritten(name, this.#instant().nowMs);
    this.#actor.wake();
  }

  gone(node: string): void {
    this.#nodes.gone(node);
    this.#permits.end(node);
    this.#actor.wake();
  }

  /**
   * Whether a zone may grant a node: always without limits, otherwise by a fresh permit, unless it is admitted and
   * needs another taint; not while it is frozen or its policy unknown, because its writer would refuse the grant, and
   * the zone would lose the token.
   */
  mayGrant(name: string): boolean {
    const node = this.#nodes.node(name);
    if (node === null || node.groups === null) return false;
    if (this.#isFrozen(node)) return false;
    const policy = limitingPolicy(node);
    if (node.isAdmitted && policy !== POLICY_CEILING && needsAnotherTaint(node)) return true;
    return policy === null || this.#permits.allows(policy, name, node.observed.uid, this.#instant().nowMs);
  }

  gain(shard: number): void {
    if (shard === LIMITS_SHARD) this.#actor.own();
  }

  lose(shard: number): void {
    if (shard === LIMITS_SHARD) this.#actor.disown();
  }

  /** Publishes everything again; called with each pulse. */
  tick(): void {
    this.#actor.tick();
  }

  #isFrozen({ observed }: LimitedNode): boolean {
    const { policies, clock } = this.#context.io;
    return nodeFreezeOf(observed, policies.current(), clock.wallMs()).freeze !== null;
  }

  #onLimits(message: Message<"judged.limits">): void {
    if (!this.#limits.has(message.body.policy)) return;
    this.#actor.onLimits(message);
    for (const { node } of message.body.permits) {
      const domain = this.#nodes.node(node)?.domain;
      if (domain !== undefined) this.#context.wake(domain);
    }
  }

  #onPolicies(): void {
    const { policies, profile } = this.#context.io;
    const set = policies.current();
    this.#limits = limitsOf(set?.policies ?? [], profile);
    const names = new Set(this.#limits.keys());
    this.#permits.keep(names);
    const everywhere = [WHOLE_CLUSTER, POLICY_CEILING].filter((name) => names.has(name));
    // One list for all nodes of a policy.
    const groups = new Map([...names].map((name) => [name, [...everywhere, name]]));
    this.#nodes.regroup((node) => {
      const resolved = policyOf(node, set);
      if (resolved.kind === "unknown") return null;
      return (resolved.kind === "policy" ? groups.get(resolved.policy.name) : undefined) ?? everywhere;
    }, this.#instant());
    // Not earlier: a node leaves its group in that call, and the group has to count it until then.
    this.#nodes.keep(names);
    this.#actor.limits = this.#limits;
    for (const { domain } of this.#nodes.waiting()) this.#context.wake(domain);
  }

  #instant(): Instant {
    const { clock } = this.#context.io;
    return { nowMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }
}

/**
 * Whether the taint for which a node was permitted has landed: before, it carried none or one of the two that it may
 * need.
 */
function hasLanded(before: LimitedNode | null, after: LimitedNode | null): boolean {
  const isNewFor = (group: string): boolean => {
    const [was, is] = [before, after].map((node) => node !== null && countedIn(group, node).isAdmitted);
    return is === true && was === false;
  };
  return isNewFor(WHOLE_CLUSTER) || isNewFor(POLICY_CEILING);
}

/** Whether an admitted node waits for a second taint: its readiness and its conditions each have one. */
function needsAnotherTaint({ observed, member }: LimitedNode): boolean {
  if (member === null) return false;
  return dueConditionOf(member) !== null || evictingConditionTaintsOf(observed).length > 0;
}

/** The limits of each policy that has any, of the cluster if it has a breaker, and of all policies together. */
function limitsOf(policies: readonly NodePolicy[], profile: Profile): ReadonlyMap<string, Limits> {
  const limits = new Map<string, Limits>();
  const cluster = clusterBreaker(profile);
  const secondary = profile.secondaryNodeEvictionsPerSecond;
  const none: Limits = {
    maxUnhealthy: null,
    circuitBreaker: null,
    stormCooldownMs: null,
    secondaryPerSecond: secondary,
    budgets: [],
    ceiling: null,
  };
  if (cluster !== null) limits.set(WHOLE_CLUSTER, { ...none, circuitBreaker: cluster });
  if (hasCeiling(policies, profile)) limits.set(POLICY_CEILING, { ...none, ceiling: ceilingOf(profile) });
  for (const policy of policies) {
    const { maxUnhealthy, circuitBreaker, stormCooldownMs, budgets } = policy;
    if (!hasLimits(policy)) continue;
    const secondaryPerSecond = policy.secondaryNodeEvictionsPerSecond ?? secondary;
    const own = { maxUnhealthy, circuitBreaker, stormCooldownMs, secondaryPerSecond };
    limits.set(policy.name, { ...none, ...own, budgets: scheduledBudgets(budgets) });
  }
  return limits;
}

function ceilingOf(profile: Profile): Limits["ceiling"] {
  const { policyTaintedNodesMax: nodesMax, policyTaintedPercentageMax: percentage } = profile;
  return {
    nodesMax: nodesMax === 0 ? null : nodesMax,
    percentage: percentage === 0 ? null : percentage,
    durationMs: profile.policyTaintedDurationMs,
  };
}

function clusterBreaker(profile: Profile): Limits["circuitBreaker"] {
  const { circuitBreakerNodesMax: nodesMax, circuitBreakerPercentage: percentage } = profile;
  if (!hasClusterBreaker(profile)) return null;
  return {
    nodesMax: nodesMax === 0 ? null : nodesMax,
    percentage: percentage === 0 ? null : percentage,
    durationMs: profile.circuitBreakerDurationMs,
    resetAfterMs: profile.circuitBreakerResetAfterMs === 0 ? null : profile.circuitBreakerResetAfterMs,
    holdsReadiness: clusterHoldsReadiness(profile),
  };
}
