/**
 * The limits of node policies, over all zones. Zones are owned by many processes, but a limit counts all nodes of its
 * policy, so one actor of the fleet decides: the one in the process that owns shard 0 of the zone service. It permits
 * nodes by name, and a zone grants a limited node only while a fresh permit names it:
 *
 *   observed.node ──▶ limited-nodes ──▶ limits.actor ──judged.limits──▶ zone.actor ──asked.taint──▶
 *   judged.node       (where they are)  (which may)                     (when)
 *
 * It counts what the API server shows: taints and their stamps. A permit counts as an admitted node from its grant,
 * until its taint is seen or it was withdrawn long enough ago. A new owner waits longer than that before its first
 * permit, so the permits of its predecessor have ended or become taints. What the API server does not show, such as an
 * open breaker, is in each message, and every process keeps it.
 *
 * A bus that is split has an owner on each side. Only the owner on the side that holds the Lease of limits
 * (limits-lease.ts) permits nodes. It too waits first, for the permits of the other side.
 */

import type { BodyOf, Message } from "../../../protocols/messages.ts";
import type { Io, Timer } from "../../../protocols/ports.ts";
import type { Bounds } from "../../../protocols/profile.ts";
import type { Instant } from "../../domain/instant.ts";
import { LIMITS_REPEAT_MS, POLICY_CEILING, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import { isRepeatDue, isRoundDue, type Published, type Repetition } from "../repetition.policy.ts";
import { isOtherOwner } from "../zone.grants.ts";
import { byTransition } from "../zone.policy.ts";
import type { Member } from "../zone.roster.ts";
import { LimitRound } from "./limit-round.ts";
import { countedIn, type LimitedNode, type LimitedNodes, LimitGroup, limitingPolicy } from "./limited-nodes.ts";
import {
  type LimitBlock,
  type LimitMemory,
  type Limits,
  NO_MEMORY,
  remembered,
  resetAtMs,
  windowMsOf,
} from "./limits.policy.ts";
import type { LimitsLease } from "./limits-lease.ts";
import type { Permits } from "./permits.ts";

/** What an owner publishes about one policy, apart from its instants' clock. */
type Announced = BodyOf<"judged.limits">;

/** What the actor needs of the zone service. */
export interface LimitsContext {
  readonly io: Io;
  readonly nodes: LimitedNodes;
  readonly permits: Permits;
  /**
   * Whether nothing harmful may happen to a node. Such a node needs no permit, and one would be lost to other nodes.
   */
  readonly isFrozen: (node: LimitedNode) => boolean;
  /** Whether this side of the bus holds the Lease; null if no other process decides. */
  readonly lease: LimitsLease | null;
  /** How long a new owner, and one whose side gets the Lease, waits before its first permit, in milliseconds. */
  readonly settleMs: number;
  /** Whether this process sees the cluster well enough to decide. */
  readonly isSynced: () => boolean;
  /** Whether a domain grants at all: its owner announces a rate. */
  readonly grants: (domain: string) => boolean;
  /** Whether the owner of a domain announced last that it is halted. */
  readonly isHalted: (domain: string) => boolean;
  /** Whether a granted taint of a node may still land. */
  readonly isUnderWay: (node: string) => boolean;
}

/** How long the stored memory of a policy is awaited, in milliseconds. */
const MEMORY_WAIT_MS = 30_000;
/** How far the clocks have to move apart to count as moved, in milliseconds. */
const APART_MS = 100;
/** Changes within this time lead to one round, in milliseconds. */
const ROUND_MS = 100;

/** The group of a policy that selects no node. Its storms end, and its breaker resets, as with nodes. */
const NO_NODES = new LimitGroup(WHOLE_CLUSTER);

/** Which unchanged limits a decision publishes again: all, those that are due, or none. */
type Repeated = "all" | "due" | "none";

/** What was published last about a policy. */
interface PublishedLimits extends Published {
  readonly text: string;
}

/** Decides for all policies with limits while this process is the owner. */
export class LimitsActor {
  readonly #context: LimitsContext;
  readonly #repetition: Repetition;
  #limits: ReadonlyMap<string, Limits> = new Map();
  readonly #memories = new Map<string, LimitMemory>();
  readonly #published = new Map<string, PublishedLimits>();
  /** The policies whose admissions before its start this process has received, or has decided without. */
  readonly #counted = new Set<string>();
  /** Since when this process is the owner; null while it is not. */
  #ownerSinceMs: number | null = null;
  /** Since when each policy has limits here, on the monotonic clock. */
  readonly #limitedSinceMs = new Map<string, number>();
  /** How far the wall clock is ahead of the monotonic one, as counted here; null before the first decision. */
  #aheadMs: number | null = null;
  #timer: Timer | null = null;
  /** Runs a decision when the first present block ends before the next tick. */
  #endTimer: Timer | null = null;

  constructor(context: LimitsContext) {
    this.#context = context;
    this.#repetition = { pulses: context.io.profile, repeatMs: LIMITS_REPEAT_MS };
  }

  /** The limits to keep, by policy. */
  set limits(limits: ReadonlyMap<string, Limits>) {
    this.#limits = limits;
    for (const known of [this.#memories, this.#published, this.#limitedSinceMs, this.#counted]) {
      for (const policy of known.keys()) if (!limits.has(policy)) known.delete(policy);
    }
    for (const policy of limits.keys()) {
      if (!this.#limitedSinceMs.has(policy)) this.#limitedSinceMs.set(policy, this.#now());
    }
    this.wake();
  }

  own(): void {
    this.#ownerSinceMs ??= this.#now();
    this.wake();
  }

  disown(): void {
    this.#ownerSinceMs = null;
    this.#published.clear();
    this.#timer?.cancel();
    this.#endTimer?.cancel();
    this.#timer = this.#endTimer = null;
  }

  /** Decides soon, because something changed. */
  wake(): void {
    if (this.#ownerSinceMs === null || this.#limits.size === 0 || this.#timer !== null) return;
    this.#timer = this.#context.io.clock.after(ROUND_MS, () => {
      this.#timer = null;
      this.#decide("none");
    });
  }

  /** Decides and publishes everything; what is at rest or has not changed for a while, less often. */
  tick(): void {
    this.#forget();
    if (this.#context.nodes.settle(this.#instant())) this.wake();
    if (this.#ownerSinceMs === null || this.#limits.size === 0) return;
    const isRound = isRoundDue(this.#published.values(), this.#now(), this.#repetition);
    this.#decide(isRound ? "all" : "due");
  }

  /**
   * Drops the admissions that are older than the windows of all limits. Processes that are not the owner receive them
   * too.
   */
  #forget(): void {
    for (const [policy, limits] of this.#limits) {
      this.#context.nodes.group(policy)?.admissions.forgetUntil(this.#now() - rememberedMs(limits));
    }
  }

  /** Applies what the owner of the limits published, also as that owner. */
  onLimits({ source, body }: Message<"judged.limits">): void {
    const { permits, io } = this.#context;
    const uids = new Map(body.permits.map(({ node, uid }) => [node, uid]));
    permits.onPermits(body.policy, { source, uids, receivedMs: this.#now() });
    if (!isOtherOwner(source, io.fleet.member)) return;
    this.#remember(body.policy, body.memory);
    const published = this.#published.get(body.policy);
    if (published !== undefined) this.#published.set(body.policy, { ...published, sinceMs: this.#now() });
  }

  /** Applies what was stored about a policy, unless an owner of the limits has published something newer. */
  recall({ policy, memory }: BodyOf<"judged.memory">): void {
    if (this.#memories.has(policy)) return;
    if (memory === null) this.#memories.set(policy, NO_MEMORY);
    else this.#remember(policy, memory);
    this.wake();
  }

  #remember(policy: string, memory: Announced["memory"]): void {
    const { io, nodes } = this.#context;
    const nowMs = this.#now();
    const msOf = (at: number): number => nowMs - (io.clock.wallMs() - at);
    const { trippedAt, isStorm, stormEndedAt, condemnations, earlier = [] } = memory;
    const isFirst = !this.#counted.has(policy);
    this.#counted.add(policy);
    const [trippedMs, stormEndedMs] = [trippedAt, stormEndedAt].map((at) => (at === null ? null : msOf(at)));
    this.#memories.set(policy, { trippedMs: trippedMs ?? null, isStorm, stormEndedMs: stormEndedMs ?? null });
    const pastMsOf = (at: number): number => Math.min(nowMs, msOf(at));
    const named = condemnations.map(({ node, at }) => {
      return { node, zone: nodes.node(node)?.zone ?? null, atMs: pastMsOf(at) };
    });
    // This process sees itself what is admitted from now on.
    if (isFirst) {
      const spans = earlier.map(({ fromAt, toAt, count }) => ({
        fromAt: pastMsOf(fromAt),
        toAt: pastMsOf(toAt),
        count,
      }));
      nodes.inherit(policy, { named, earlier: spans });
    } else for (const each of named) nodes.admit(policy, each);
  }

  #now(): number {
    return this.#context.io.clock.monotonicMs();
  }

  /**
   * The present instant. The two clocks tick apart by a millisecond, and the API server's clock is known to a few
   * milliseconds. A difference of at most 100 ms does not count. Otherwise each published instant would move back and
   * forth, and each move would be published and stored as a change.
   */
  #instant(): Instant {
    const nowMs = this.#now();
    const aheadMs = this.#context.io.clock.wallMs() - nowMs;
    if (this.#aheadMs === null || Math.abs(aheadMs - this.#aheadMs) > APART_MS) this.#aheadMs = aheadMs;
    return { nowMs, wallMs: nowMs + this.#aheadMs };
  }

  #decide(repeated: Repeated): void {
    const { nodes, isSynced } = this.#context;
    const at = this.#instant();
    const { nowMs } = at;
    if (!isSynced() || nodes.unknown > 0) return;
    const due = repeated === "due" ? this.#changeable(nowMs) : this.#limits;
    if (due.size === 0) return;
    const rounds = this.#rounds(due, at);
    const decisions = this.#permit(rounds, nowMs);
    for (const [policy, round] of rounds) {
      this.#memories.set(policy, round.memory);
      this.#counted.add(policy);
      const decision = decisions.get(policy) ?? NO_DECISION;
      this.#publish(announcementOf({ policy, round, decision }, this.#context.io.profile.bounds, at), repeated);
    }
    this.#wakeAtEnd(decisions.values(), rounds.values(), at);
  }

  /**
   * Decides again when a block ends between two ticks. Without that the block lasts up to a second longer, which is
   * half the pause at 0.5 nodes/s. What follows it is late too: a cooldown ends, and the node that waited for it opens
   * the breaker. The same applies to the reset of a breaker that no node waits for, because nodes that are down may
   * open it again.
   */
  #wakeAtEnd(decisions: Iterable<Decision>, rounds: Iterable<LimitRound>, { nowMs, wallMs }: Instant): void {
    const { clock, profile } = this.#context.io;
    const endsMs = [...decisions].map(({ nextEndAt }) => nextEndAt - wallMs);
    const resets = [...rounds].map(({ limits, memory }) => resetAtMs(limits.circuitBreaker, memory.trippedMs));
    const ends = [...endsMs, ...resets.map((resetMs) => (resetMs ?? nowMs) - nowMs)];
    const leftMs = Math.min(...ends.filter((ms) => ms > 0));
    this.#endTimer?.cancel();
    this.#endTimer = leftMs < profile.pulsePeriodMs ? clock.after(leftMs, () => this.#decide("none")) : null;
  }

  /** The limits that time alone may change the decision of, or whose repetition is due; any, while a node waits. */
  #changeable(nowMs: number): ReadonlyMap<string, Limits> {
    const { nodes } = this.#context;
    if (!nodes.waiting().next().done) return this.#limits;
    const isChangeable = (policy: string): boolean => {
      const published = this.#published.get(policy);
      const { isAtRest: isGroupAtRest } = nodes.group(policy) ?? NO_NODES;
      const isAtRest = isGroupAtRest && this.#memories.get(policy)?.isStorm === false;
      return !isAtRest || published === undefined || isRepeatDue(published, nowMs, this.#repetition);
    };
    return new Map([...this.#limits].filter(([policy]) => isChangeable(policy)));
  }

  /** A round for each of these policies whose nodes are all judged. */
  #rounds(all: ReadonlyMap<string, Limits>, at: Instant): Map<string, LimitRound> {
    const { nodes, isHalted } = this.#context;
    const rounds = new Map<string, LimitRound>();
    const outstanding = this.#outstanding(at.nowMs);
    for (const [policy, limits] of all) {
      const group = nodes.group(policy) ?? NO_NODES;
      if (group.unjudged > 0) continue;
      const permitted = outstanding(policy);
      const memory = this.#memories.get(policy) ?? (this.#isMemoryDue(policy, at.nowMs) ? null : NO_MEMORY);
      if (memory === null) continue;
      const round = new LimitRound({ limits, group, memory, permitted, at });
      const isStormy = [...group.domains.keys()].some(isHalted);
      round.memory = remembered(memory, { limits, counts: round.counts(), isHalted: isStormy }, at.nowMs);
      round.tripByDown();
      rounds.set(policy, round);
    }
    return rounds;
  }

  /** Whether no other owner, here or on another side of the bus, can have permitted nodes that are not seen yet. */
  #mayPermit(nowMs: number): boolean {
    const { lease, settleMs } = this.#context;
    const hasSettled = this.#ownerSinceMs !== null && nowMs >= this.#ownerSinceMs + settleMs;
    return hasSettled && (lease === null || lease.isHeldFor(settleMs, nowMs));
  }

  /**
   * Whether the memory of a policy may still arrive. A process that takes over has received it from the last owner. The
   * policy service publishes it after the policies, which may be long after this process became the owner.
   */
  #isMemoryDue(policy: string, nowMs: number): boolean {
    const limitedSinceMs = this.#limitedSinceMs.get(policy) ?? nowMs;
    return nowMs < Math.max(this.#ownerSinceMs ?? nowMs, limitedSinceMs) + MEMORY_WAIT_MS;
  }

  /** The nodes of each policy that may be admitted any moment, and are not yet. */
  #outstanding(nowMs: number): (policy: string) => readonly LimitedNode[] {
    const { permits, nodes, isUnderWay } = this.#context;
    const { all, forConditions } = permits.outstanding(nowMs);
    const underWay = [...nodes.waiting()].filter(({ observed }) => isUnderWay(observed.node));
    const isCeiling = ({ limitedBy }: LimitedNode): boolean => limitedBy?.includes(POLICY_CEILING) === true;
    const known = (names: Iterable<string>, more: readonly LimitedNode[]): readonly LimitedNode[] =>
      [...new Set([...names, ...more.map(({ observed }) => observed.node)])].flatMap((name) => nodes.node(name) ?? []);
    const [inAny, inConditions] = [known(all, underWay), known(forConditions, underWay.filter(isCeiling))];
    return (policy) => {
      const found = policy === POLICY_CEILING ? inConditions : inAny;
      return found.filter((node) => node.groups?.includes(policy) && !countedIn(policy, node).isAdmitted);
    };
  }

  /** Permits waiting nodes in order: those that are permitted already, then the longest waiting. */
  #permit(rounds: ReadonlyMap<string, LimitRound>, nowMs: number): ReadonlyMap<string, Decision> {
    const decisions = new Map<string, Decision>();
    const leaseBlock = this.#mayPermit(nowMs) ? null : (this.#context.lease?.block(nowMs) ?? null);
    for (const node of this.#ranked(nowMs)) {
      const policy = limitingPolicy(node) ?? WHOLE_CLUSTER;
      const decision = decisions.get(policy) ?? { permitted: [], blocks: [], nextEndAt: Number.POSITIVE_INFINITY };
      decisions.set(policy, decision);
      const groups = roundsOf(node, rounds);
      if (groups === null) continue;
      if (leaseBlock === null) tripBreakers(groups);
      const blocks = blocksOf(groups);
      decision.nextEndAt = blocks.reduce((next, { untilAt }) => Math.min(next, untilAt ?? next), decision.nextEndAt);
      const block = blocks[0] ?? leaseBlock;
      if (block !== null) addBlocked(decision.blocks, block, () => releasedAt(groups, block));
      else if (decision.permitted.length < this.#context.io.profile.bounds.permitsMax) {
        decision.permitted.push(node);
        for (const { round, counted } of groups) round.permit(counted);
      }
    }
    return decisions;
  }

  #ranked(nowMs: number): readonly LimitedNode[] {
    const { nodes, permits, grants, isFrozen } = this.#context;
    const ranked: { node: LimitedNode; member: Member; isPermitted: boolean }[] = [];
    for (const node of nodes.waiting()) {
      const policy = limitingPolicy(node);
      if (policy === null || node.member === null || !grants(node.domain) || isFrozen(node)) continue;
      const { observed, member } = node;
      if (permits.isUnwritable(observed.node, nowMs)) continue;
      ranked.push({ node, member, isPermitted: permits.allows(policy, observed.node, observed.uid, nowMs) });
    }
    ranked.sort(
      (left, right) => Number(right.isPermitted) - Number(left.isPermitted) || byTransition(left.member, right.member),
    );
    return ranked.map(({ node }) => node);
  }

  #publish(body: Announced, repeated: Repeated): void {
    const text = JSON.stringify(body);
    const nowMs = this.#now();
    const before = this.#published.get(body.policy);
    const same = before?.text === text ? before : null;
    if (same !== null && repeated === "none") return;
    if (same !== null && repeated === "due" && !this.#isRepeatDue(body, same, nowMs)) return;
    this.#published.set(body.policy, { text, sinceMs: same?.sinceMs ?? nowMs, atMs: nowMs });
    this.#context.io.bus.publish("judged.limits", body, null);
  }

  /** A permit ends without a repetition. */
  #isRepeatDue({ permits, holds }: Announced, published: Published, nowMs: number): boolean {
    if (permits.length > 0 || holds.length > 0) return true;
    return isRepeatDue(published, nowMs, this.#repetition);
  }
}

/** What was decided about the waiting nodes of one policy. */
interface Decision {
  readonly permitted: LimitedNode[];
  readonly blocks: Announced["holds"];
  /** When the first of these blocks ends, in epoch milliseconds, whatever blocks the nodes then; infinite for none. */
  nextEndAt: number;
}

const NO_DECISION: Decision = { permitted: [], blocks: [], nextEndAt: Number.POSITIVE_INFINITY };

/** How long admissions count for anything, in milliseconds. */
function rememberedMs(limits: Limits): number {
  const { stormCooldownMs, secondaryPerSecond } = limits;
  const pauseMs = secondaryPerSecond > 0 ? 1000 / secondaryPerSecond : 0;
  return Math.max(windowMsOf(limits), Math.min(stormCooldownMs ?? 0, pauseMs));
}

/** The round of one group of a node, and the node as that group counts it. */
interface GroupRound {
  readonly policy: string;
  readonly round: LimitRound;
  readonly counted: LimitedNode;
}

/** The rounds of the groups that limit a node; null while one of them is not decided about. */
function roundsOf(node: LimitedNode, rounds: ReadonlyMap<string, LimitRound>): readonly GroupRound[] | null {
  const groups = node.limitedBy ?? [];
  const found = groups.flatMap((policy) => {
    const round = rounds.get(policy);
    return round === undefined ? [] : [{ policy, round, counted: countedIn(policy, node) }];
  });
  return found.length === groups.length ? found : null;
}

/** Opens the breakers for which a node is one too many, unless something else blocks it too. */
function tripBreakers(groups: readonly GroupRound[]): void {
  const blocking = groups.filter(({ round, counted }) => round.blockOf(counted) !== null);
  if (!blocking.every(({ round, counted }) => round.trips(counted))) return;
  for (const { round } of blocking) round.trip();
}

/** A block and the policy, or the cluster, that it belongs to. */
type PolicyBlock = LimitBlock & { readonly policy: string };

/** What blocks a node, by its groups. */
function blocksOf(groups: readonly GroupRound[]): readonly PolicyBlock[] {
  return groups.flatMap(({ policy, round, counted }) => {
    const block = round.blockOf(counted);
    // Reports name the ceiling as a limit of the cluster.
    return block === null ? [] : [{ ...block, policy: policy === POLICY_CEILING ? WHOLE_CLUSTER : policy }];
  });
}

/**
 * When none of a node's limits blocks it any more, if every node stays as it is; null if time alone does not end it.
 */
function releasedAt(groups: readonly GroupRound[], first: PolicyBlock): number | null {
  if (first.untilAt === null) return null;
  let latest = first.untilAt;
  for (const { round, counted } of groups) {
    const block = round.blockOf(counted);
    if (block === null) continue;
    const at = round.releasedAt(counted, block);
    if (at === null) return null;
    latest = Math.max(latest, at);
  }
  return latest;
}

/** Counts a blocked node; nodes that the same field blocks share one entry, with the end of the first. */
function addBlocked(
  holds: Announced["holds"],
  { policy, field, detail }: PolicyBlock,
  releasedAtOf: () => number | null,
): void {
  const known = holds.find((block) => block.policy === policy && block.field === field);
  if (known === undefined) holds.push({ policy, field, untilAt: releasedAtOf(), detail, nodes: 1 });
  else known.nodes += 1;
}

function announcementOf(
  { policy, round, decision }: { readonly policy: string; readonly round: LimitRound; readonly decision: Decision },
  bounds: Bounds,
  { nowMs, wallMs }: Instant,
): Announced {
  const { memory, limits } = round;
  const { named, earlier } = round.admissions.handedOn(bounds);
  const { selected, unhealthy, admitted, inWindow } = round.counts();
  const down = round.down();
  const longest = decision.blocks.some(({ field }) => field === "budgets") ? round.longestAdmitted : null;
  const at = (ms: number): number => Math.round(wallMs - (nowMs - ms));
  const atOrNull = (ms: number | null): number | null => (ms === null ? null : at(ms));
  return {
    policy,
    selected,
    unhealthy,
    condemned: admitted,
    inWindow,
    ...(Number.isFinite(round.allowance.nodes) ? { budget: round.allowance.nodes } : {}),
    ...(down === null ? {} : { down }),
    ...(longest === null ? {} : { longest: { node: longest.node, since: at(longest.sinceMs) } }),
    permits: decision.permitted.map(({ observed: { node, uid } }) => ({ node, uid })),
    holds: decision.blocks,
    memory: {
      trippedAt: atOrNull(memory.trippedMs),
      resetAt: atOrNull(resetAtMs(limits.circuitBreaker, memory.trippedMs)),
      isStorm: memory.isStorm,
      stormEndedAt: atOrNull(memory.stormEndedMs),
      condemnations: named.map(({ node, atMs }) => ({ node, at: at(atMs) })),
      ...(earlier.length === 0
        ? {}
        : { earlier: earlier.map(({ fromAt, toAt, count }) => ({ fromAt: at(fromAt), toAt: at(toAt), count })) }),
    },
  };
}
