/**
 * The nodes of each policy that has limits, as the limits count them: over all zones and shards, because a zone's owner
 * sees the whole cluster. Every process with the zone service keeps this, since it may become the one that decides. It
 * decides nothing. In the group of all policies together only NoExecute taints for conditions count. So a node that is
 * tainted for its silence waits there too, before it gets a second taint for a condition.
 *
 * A kubelet may label its node into a policy (SECURITY.md). So what a node was when its labels changed counts there
 * only ten minutes later; an admission after that counts at once. Example: a node with pods that is down moves into a
 * policy at 10:00. It counts as unhealthy there from 10:10. If it is admitted at 10:05, budgets and the breaker count
 * it from 10:05.
 */

import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import type { Instant } from "../../domain/instant.ts";
import { isUnhealthy } from "../../domain/judgement.ts";
import { POLICY_CEILING, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import { evictingConditionTaintsOf } from "../../domain/unhealthy-conditions.ts";
import { zoneKeyOf } from "../../domain/zone-key.ts";
import { isForCondition, newestStampAt, ownTaintsOf, waitsForGrant } from "../zone.policy.ts";
import type { Member } from "../zone.roster.ts";
import { type Admission, Admissions, type HandedOnAdmissions } from "./admissions.ts";
import { type Joined, joinedGroups, NOT_JOINED } from "./newcomers.policy.ts";

/**
 * The groups of a node that have limits: its policy, the whole cluster, and all policies together; null while they are
 * not known.
 */
export type GroupsOf = (node: ObservedNode) => readonly string[] | null;

/** One node. */
export interface LimitedNode {
  readonly observed: ObservedNode;
  /** Null while it is not judged. */
  readonly member: Member | null;
  /** By its labels. The rate after a storm counts in it: the other nodes of a policy have it, judged or not. */
  readonly zone: string;
  /** As judged: the zone, or the part of it in which its policy has rates of its own. Its labels' while not judged. */
  readonly domain: string;
  readonly groups: readonly string[] | null;
  /** Those of its groups whose limits have to allow the taint that it waits for. */
  readonly limitedBy: readonly string[] | null;
  readonly isAdmitted: boolean;
  /** When it was admitted, on the monotonic clock, as far as this process knows; null while it is not. */
  readonly admittedMs: number | null;
  /** When it got a NoExecute taint for a condition, likewise; null while it carries none. */
  readonly conditionTaintedMs: number | null;
  /**
   * Whether budgets count it: it is admitted, or it is down without a pod that a drain would delete, or it was so and
   * has not been ready since.
   */
  readonly isDisrupted: boolean;
  /** Since when it has been down, as judged; null while it is not. */
  readonly down: DownSince | null;
  /** Whether it was known to have a pod that a drain would delete, now or since it was last ready (direct mode). */
  readonly hadPods: boolean;
  /** The groups that a change of its labels has brought it into lately. */
  readonly joined: Joined;
}

/** Since when a node has been down: as its judgement says, in epoch milliseconds, and on the monotonic clock. */
export interface DownSince {
  readonly at: number;
  readonly ms: number;
}

/** A node as one of its groups counts it. */
export function countedIn(group: string, node: LimitedNode): LimitedNode {
  if (node.joined.get(group)?.cameDisrupted === true) return { ...node, isDisrupted: false };
  if (group !== POLICY_CEILING) return node;
  const isAdmitted = node.conditionTaintedMs !== null;
  return { ...node, isAdmitted, isDisrupted: isAdmitted, admittedMs: node.conditionTaintedMs, down: null };
}

/** The nodes of one policy. */
export class LimitGroup {
  /** All policies together have no limit that depends on the judgements of nodes. */
  readonly #needsJudgements: boolean;
  readonly admissions: Admissions = new Admissions();
  /** How many of its nodes are in each domain. */
  readonly domains: Map<string, number> = new Map();
  readonly #down = new Map<string, DownSince>();
  /** Since when each admitted node counts as that, as far as is known. */
  readonly #admitted = new Map<string, number | null>();
  readonly #policy: string;
  selected = 0;
  unhealthy = 0;
  unjudged = 0;

  constructor(policy: string) {
    this.#policy = policy;
    this.#needsJudgements = policy !== POLICY_CEILING;
  }

  /** How many nodes budgets count as evicted. */
  get admitted(): number {
    return this.#admitted.size;
  }

  /** The node that has counted as admitted for the longest, among those whose admission is dated; null for none. */
  get longestAdmitted(): { readonly node: string; readonly sinceMs: number } | null {
    let longest: { readonly node: string; readonly sinceMs: number } | null = null;
    for (const [node, sinceMs] of this.#admitted)
      if (sinceMs !== null && sinceMs < (longest?.sinceMs ?? Number.POSITIVE_INFINITY)) longest = { node, sinceMs };
    return longest;
  }

  /** Whether no node needs a limit or counts against one, now or within the windows of its limits. */
  get isAtRest(): boolean {
    return this.unhealthy === 0 && this.admitted === 0 && this.unjudged === 0 && this.admissions.size === 0;
  }

  /** How many nodes went down after an instant and still are, and since when the last of all that are down is. */
  downSince(fromMs: number): { readonly nodes: number; readonly newestAt: number | null } {
    let nodes = 0;
    let newestAt: number | null = null;
    for (const { at, ms } of this.#down.values()) {
      if (ms > fromMs) nodes += 1;
      newestAt = Math.max(newestAt ?? at, at);
    }
    return { nodes, newestAt };
  }

  count({ observed, member, domain, isDisrupted, down, admittedMs, joined }: LimitedNode, by: 1 | -1): void {
    if (by === 1 && down !== null) this.#down.set(observed.node, down);
    else this.#down.delete(observed.node);
    if (by === 1 && isDisrupted) this.#admitted.set(observed.node, admittedMs ?? down?.ms ?? null);
    else this.#admitted.delete(observed.node);
    const hasSettled = !joined.has(this.#policy);
    if (hasSettled) this.selected += by;
    if (this.#needsJudgements && member === null) this.unjudged += by;
    if (this.#needsJudgements && hasSettled && member !== null && isUnhealthy(member.judged)) this.unhealthy += by;
    const nodes = (this.domains.get(domain) ?? 0) + by;
    if (nodes === 0) this.domains.delete(domain);
    else this.domains.set(domain, nodes);
  }
}

/** All nodes, by policy. */
export class LimitedNodes {
  readonly #mode: Profile["evictionMode"];
  readonly #nodes = new Map<string, LimitedNode>();
  readonly #groups = new Map<string, LimitGroup>();
  readonly #waiting = new Set<string>();
  /** The nodes that have joined a group lately. */
  readonly #newcomers = new Set<string>();
  #groupsOf: GroupsOf = () => [];
  #unknown = 0;

  constructor(mode: Profile["evictionMode"]) {
    this.#mode = mode;
  }

  /** How many nodes have an unknown policy. While there are any, no count is complete. */
  get unknown(): number {
    return this.#unknown;
  }

  node(name: string): LimitedNode | null {
    return this.#nodes.get(name) ?? null;
  }

  /** The group of a policy; null without a node. */
  group(policy: string): LimitGroup | null {
    return this.#groups.get(policy) ?? null;
  }

  /** The nodes that wait for a grant of their zone. */
  *waiting(): Generator<LimitedNode> {
    for (const name of this.#waiting) {
      const node = this.#nodes.get(name);
      if (node !== undefined) yield node;
    }
  }

  /** Sorts the nodes into groups again, after a change of the policies. */
  regroup(groupsOf: GroupsOf, at: Instant): void {
    this.#groupsOf = groupsOf;
    for (const { observed, member } of this.#nodes.values()) this.onNode(observed, member, at);
    if (this.#mode === "taint") for (const node of this.#nodes.values()) this.#restore(node);
  }

  /** Counts what newcomers were when they joined, once that is long enough ago. Returns whether any count changed. */
  settle(at: Instant): boolean {
    let isNews = false;
    for (const name of this.#newcomers) {
      const node = this.#nodes.get(name);
      if (node === undefined) this.#newcomers.delete(name);
      else if (this.onNode(node.observed, node.member, at)) isNews = true;
    }
    return isNews;
  }

  /** Records the state of a node. Returns whether that changes any count: a heartbeat of a healthy node does not. */
  onNode(observed: ObservedNode, member: Member | null, at: Instant): boolean {
    const before = this.#nodes.get(observed.node);
    const isSame = before?.observed.uid === observed.uid;
    const groups = this.#groupsOf(observed) ?? null;
    const isAdmitted = this.#isAdmitted(observed, member);
    const conditionTaints = evictingConditionTaintsOf(observed);
    const limitedBy = limitedByOf({ groups, member, isAdmitted, isConditionTainted: conditionTaints.length > 0 });
    const known = isSame ? before : null;
    const newestMs = (taints: readonly Taint[], before: number | null | undefined): number =>
      known === null ? stampedMs(taints, observed, at) : (before ?? at.nowMs);
    const isDisrupted = isAdmitted || (this.#mode === "direct" && isDrained(known, member));
    const joining = { known, observed, groups: groups ?? [], isDisrupted, groupsOf: this.#groupsOf };
    const joined = joining.groups.length === 0 ? NOT_JOINED : joinedGroups(joining, at.nowMs);
    const zone = zoneKeyOf(observed.labels);
    const node: LimitedNode = {
      observed,
      member,
      zone,
      domain: member?.judged.zone ?? zone,
      groups,
      limitedBy,
      isAdmitted,
      admittedMs: isAdmitted ? newestMs(ownTaintsOf(observed), known?.admittedMs) : null,
      conditionTaintedMs: conditionTaints.length > 0 ? newestMs(conditionTaints, known?.conditionTaintedMs) : null,
      down: downSince(known, member, at),
      isDisrupted,
      hadPods: this.#mode === "direct" && hadPods(known, member),
      joined,
    };
    if (joined === NOT_JOINED) this.#newcomers.delete(observed.node);
    else this.#newcomers.add(observed.node);
    const isLimited = !isAdmitted || limitedBy?.includes(POLICY_CEILING) === true;
    const isWaiting = member !== null && waitsForGrant(member, this.#mode) && isLimited;
    this.#nodes.set(observed.node, node);
    if (isSame && !isWaiting && !this.#waiting.has(observed.node) && countsAlike(before, node)) return false;
    if (before !== undefined) this.#count(before, -1);
    this.#count(node, 1);
    this.#recordIfNew(known, node, at);
    if (isWaiting) this.#waiting.add(observed.node);
    else this.#waiting.delete(observed.node);
    return true;
  }

  /** Records that a node is admitted, unless it was known to be. */
  #recordIfNew(before: LimitedNode | null, node: LimitedNode, at: Instant): void {
    const { observed, groups, zone } = node;
    for (const group of groups ?? []) {
      const { isAdmitted, admittedMs } = countedIn(group, node);
      const wasAdmitted = before !== null && countedIn(group, before).isAdmitted;
      const isKnown = wasAdmitted && isSameGroups(before.groups, groups);
      const isNew = isAdmitted ? !isKnown : before !== null && wasDrained(before, node);
      if (isNew) this.admit(group, { node: observed.node, zone, atMs: admittedMs ?? at.nowMs });
    }
  }

  /** Records that a node of a policy was admitted, as observed or received from another process. */
  admit(policy: string, admission: Admission): void {
    this.#groupFor(policy).admissions.add(admission);
  }

  /** Adds what another process counted of a policy, of which this process had received nothing. */
  inherit(policy: string, admissions: HandedOnAdmissions): void {
    this.#groupFor(policy).admissions.inherit(admissions);
  }

  /**
   * Records an admitted node again that had left the window: a breaker that is added, or has a longer window now,
   * counts what the API server shows, as after a restart. In direct mode nothing shows since when a node is drained.
   */
  #restore(node: LimitedNode): void {
    const { observed, zone } = node;
    for (const group of node.groups ?? []) {
      const { admittedMs } = countedIn(group, node);
      if (admittedMs === null || this.#groupFor(group).admissions.has(observed.node)) continue;
      this.admit(group, { node: observed.node, zone, atMs: admittedMs });
    }
  }

  gone(name: string): void {
    const before = this.#nodes.get(name);
    if (before === undefined) return;
    this.#count(before, -1);
    this.#nodes.delete(name);
    this.#waiting.delete(name);
  }

  /** Drops the groups of policies that no longer have limits. */
  keep(policies: ReadonlySet<string>): void {
    for (const policy of this.#groups.keys()) if (!policies.has(policy)) this.#groups.delete(policy);
  }

  #groupFor(policy: string): LimitGroup {
    const group = this.#groups.get(policy) ?? new LimitGroup(policy);
    this.#groups.set(policy, group);
    return group;
  }

  #count(node: LimitedNode, by: 1 | -1): void {
    if (node.groups === null) this.#unknown += by;
    for (const group of node.groups ?? []) this.#groupFor(group).count(countedIn(group, node), by);
  }

  /** In taint mode the API server shows which nodes are admitted; in direct mode the node's own judgement does. */
  #isAdmitted(observed: ObservedNode, member: Member | null): boolean {
    return this.#mode === "taint" ? ownTaintsOf(observed).length > 0 : member?.judged.eviction === "evicted";
  }
}

/** When a node got the newest of these taints at the latest, on the monotonic clock; now if no stamp shows it. */
function stampedMs(taints: readonly Taint[], node: ObservedNode, { nowMs, wallMs }: Instant): number {
  return nowMs - Math.max(0, wallMs - (newestStampAt(taints, node) ?? wallMs));
}

/**
 * The groups whose limits have to allow the next taint of a node. The ceiling counts a node once, whatever its
 * conditions.
 */
function limitedByOf({
  groups,
  member,
  isAdmitted,
  isConditionTainted,
}: Pick<LimitedNode, "groups" | "member" | "isAdmitted"> & { readonly isConditionTainted: boolean }) {
  if (groups?.includes(POLICY_CEILING) !== true) return groups;
  const isUnderCeiling = !isConditionTainted && member !== null && isForCondition(member);
  if (isUnderCeiling) return isAdmitted ? CEILING_ALONE : groups;
  return groups.filter((group) => group !== POLICY_CEILING);
}

const CEILING_ALONE: readonly string[] = [POLICY_CEILING];

/**
 * Whether a node was drained and is not ready again (direct mode). An owner that took over counts such a node as never
 * drained once a new pod is bound to it. A node that is not judged stays what it was.
 */
function isDrained(before: Pick<LimitedNode, "isDisrupted"> | null, member: Member | null): boolean {
  const wasDrained = before?.isDisrupted === true;
  if (member === null) return wasDrained;
  return isEmptied(member) || (wasDrained && member.judged.readiness !== "ready");
}

/**
 * Whether a node is down and no drain of it is due or ahead, for example because its pods are deleted. Nothing else
 * shows the drain to a process that started after it. While its pods are not known, a drain may be ahead.
 */
function isEmptied(member: Member): boolean {
  const { eviction, evictionFromAt, podsUnknown } = member.judged;
  return isDown(member) && eviction === "unmarked" && evictionFromAt === undefined && podsUnknown !== true;
}

/** Whether a node has had a pod to delete since it was last ready: a drain of it is due, was granted, or is ahead. */
function hadPods(before: Pick<LimitedNode, "hadPods"> | null, member: Member | null): boolean {
  if (member?.judged.readiness === "ready") return false;
  if (before?.hadPods === true) return true;
  if (member === null || !isDown(member)) return false;
  const { eviction, evictionFromAt, podsUnknown } = member.judged;
  return eviction !== "unmarked" || (evictionFromAt !== undefined && podsUnknown !== true);
}

/**
 * Whether the pods of a node that is down were deleted since it was last known, for example by another owner whose
 * messages do not arrive (direct mode). A node whose pods were not known may have had none.
 */
function wasDrained(before: LimitedNode, { isDisrupted, isAdmitted }: LimitedNode): boolean {
  const wasDown = before.member !== null && isDown(before.member) && !before.isDisrupted;
  return wasDown && before.hadPods && isDisrupted && !isAdmitted;
}

/** A node that stays down is down since it first was, even if its kubelet is heard again. */
function downSince(before: LimitedNode | null, member: Member | null, { nowMs, wallMs }: Instant): DownSince | null {
  if (member === null || !isDown(member)) return null;
  const at = member.judged.since;
  const ms = before?.down?.ms ?? nowMs - Math.max(0, wallMs - at);
  return { at, ms };
}

/** Whether two states of a node are the same to every limit. */
function countsAlike(left: LimitedNode, right: LimitedNode): boolean {
  const [leftIsUnhealthy, rightIsUnhealthy] = [left, right].map(({ member }) => member && isUnhealthy(member.judged));
  return (
    leftIsUnhealthy === rightIsUnhealthy &&
    left.zone === right.zone &&
    left.domain === right.domain &&
    left.isAdmitted === right.isAdmitted &&
    (left.conditionTaintedMs === null) === (right.conditionTaintedMs === null) &&
    left.isDisrupted === right.isDisrupted &&
    left.down?.at === right.down?.at &&
    left.joined === right.joined &&
    isSameGroups(left.groups, right.groups)
  );
}

function isDown({ judged }: Pick<Member, "judged">): boolean {
  return judged.readiness === "notReady" || judged.readiness === "unknown";
}

function isSameGroups(left: readonly string[] | null, right: readonly string[] | null): boolean {
  return left === right || left?.join("\n") === right?.join("\n");
}

/**
 * The policy whose message permits a node: that of all policies together for a condition, else its own, else that of
 * the whole cluster; null for a node without limits.
 */
export function limitingPolicy({ limitedBy }: Pick<LimitedNode, "limitedBy">): string | null {
  if (limitedBy === null || limitedBy.length === 0) return null;
  if (limitedBy.includes(POLICY_CEILING)) return POLICY_CEILING;
  return limitedBy.find((group) => group !== WHOLE_CLUSTER) ?? WHOLE_CLUSTER;
}
