/**
 * The actor of one node: keeps its state and heartbeats, steps its machine, and publishes the judgement and requests
 * that the policies decide.
 */
import { CONFLICT_MAX, type Readiness } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { Annotation, SilentReason } from "../../protocols/names.ts";
import type { Heartbeat, ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import type { FrozenInterval, NodePolicy } from "../../protocols/policy-set.ts";
import type { Metrics } from "../../protocols/ports.ts";
import { nodeFreezeOf } from "../domain/freeze.ts";
import { type PresentHold, presentHold } from "../domain/maintenance.ts";
import { graceMsOf, readyConditionOf } from "../domain/node-conditions.ts";
import { policyOf, selectingPolicies } from "../domain/node-policy.ts";
import { onClock } from "../domain/paused-time/frozen-time.ts";
import { nodeOutagesOf, type OutageTime, outagesOnClock, type PausedTime } from "../domain/paused-time/outages.ts";
import { domainKeyOf, isCounted } from "../domain/zone-key.ts";
import type { KeyedDeadlines } from "../structures/deadlines.keyed.ts";
import { NO_SIGHTINGS, type Sightings, withSightings } from "./concerns/conditions/condition-sightings.ts";
import {
  type ConditionPlan,
  conditionPlanOf,
  NO_CONDITION_PLAN,
  NO_RULES,
  typesOf,
} from "./concerns/conditions/condition-taints.policy.ts";
import { desiredChangesOf, harmlessChanges, isHarmless } from "./desired-changes.policy.ts";
import {
  type DrainAhead,
  delayedUntilMs,
  directEvictionEvent,
  directEvictionFromMs,
  drainAhead,
  hasPodsToEvict,
  readinessEvent,
  taintEvictionEvent,
} from "./eviction.policy.ts";
import { HeartbeatRecord } from "./heartbeats.ts";
import { holdsChange, holdTypes } from "./concerns/maintenance/maintenance.policy.ts";
import {
  INITIAL_NODE_STATE,
  isSilent,
  judgedReadiness,
  type NodeAction,
  type NodeEvent,
  type NodeState,
  stepNode,
} from "./node.machine.ts";
import { sendRequests } from "./node.requests.ts";
import { OutOfService, type OutOfServiceContext, type OutOfServiceView } from "./concerns/out-of-service/out-of-service.ts";
import type { PolicyConflicts } from "./concerns/selection/policy-conflicts.ts";
import { publishedInstant } from "./published-instant.ts";
import { ReadyRecord } from "./concerns/taint-delay/transition-record.ts";
import { type RequestNoun, RequestSchedule } from "./request-schedule.ts";
import { silentFromMs } from "./silence.policy.ts";
import {
  isHoldEffective,
  type PublishedHold,
  publishedHold,
  type TaintHold,
  taintHoldOf,
  transitionsChangeOf,
  unknownHold,
} from "./concerns/taint-delay/taint-delay.policy.ts";
import { type BoundPods, boundWhileNotReady, withoutMarked } from "./unready.policy.ts";

/** What an actor sees of its shard. */
export interface NodeView {
  /** Why the shard is blind; null when it is not. */
  blindness(nowMs: number): string | null;
  /** Since when the watches have been synced, on the monotonic clock. */
  readonly watchHealth: { readonly since: number | null };
  /** The outages that the observer has found. */
  readonly outages: readonly FrozenInterval[];
  /** The pods of a node; null where they are not known. */
  pods(node: string): { readonly pods: readonly ObservedPod[] } | null;
}

/** What the actors of one shard share. */
export interface NodeContext extends OutOfServiceContext {
  readonly view: NodeView;
  /** Wakes an actor when its node's grace ends. */
  readonly graces: KeyedDeadlines<NodeActor>;
  /** Wakes an actor for retries of its requests and for its eviction. */
  readonly reviews: KeyedDeadlines<NodeActor>;
  readonly lateness: ReturnType<Metrics["histogram"]>;
  readonly refuted: ReturnType<Metrics["counter"]>;
  readonly heldBack: ReturnType<Metrics["counter"]>;
  /** The actors to review again once the view of the shard is synced. */
  readonly waiting: Set<NodeActor>;
  /** The actors to review with each message about limits, because they hold something back. */
  readonly heldActors: Set<NodeActor>;
  readonly conflicts: PolicyConflicts;
  /** `ZoneHalts.endedMs` of a zone. */
  readonly haltEndedMs: (zone: string) => number | null;
  markSuspect(reason: string, cause: string | null): void;
}

/** The actor of one node. A heartbeat only moves a deadline. Everything else ends in a review of the whole state. */
export class NodeActor {
  readonly #context: NodeContext;
  readonly #heartbeats: HeartbeatRecord;
  #node: ObservedNode;
  /** The newest version received. Heartbeats carry newer versions than the node's state. */
  #resourceVersion: string;
  #state: NodeState;
  #readiness: Readiness;
  /** When the readiness began, on the wall clock. */
  #since: number;
  readonly #ready: ReadyRecord;
  /** The end of the halt that its grace was last restarted by, on the monotonic clock. */
  #restartedMs = Number.NEGATIVE_INFINITY;
  /** The pods bound to the node while its kubelet reports Ready=False; null while it reports another status. */
  #bound: BoundPods | null = null;
  #drainAhead: DrainAhead = {};
  /** Until when `unhealthyDelay` of its policy keeps it from waiting for eviction, monotonic; never if it is over. */
  #delayedUntilMs = Number.POSITIVE_INFINITY;
  /** The same as published last, in epoch milliseconds. */
  #publishedDelayAt: number | undefined = undefined;
  /** The last known policy of the node; null for none, undefined while it is not known. */
  #policy: NodePolicy | null | undefined;
  /** The names of the policies that select it where several do. */
  #conflict: readonly string[] = [];
  /** The policies that select it, also where several do: each of them may hold its evictions. */
  #selecting: readonly NodePolicy[] = [];
  /** Whether its policy is known now. */
  #isPolicyKnown = false;
  /** What keeps the NoSchedule taint of a Ready node on; null for nothing. */
  #taintHold: TaintHold | null = null;
  /** The same as published last. */
  #publishedHold: PublishedHold | null = null;
  /** Since when this process has seen the conditions that its policy names. */
  #sightings: Sightings = NO_SIGHTINGS;
  /** The new value of Annotation.holds; undefined for no change. */
  #holdsText: string | null | undefined = undefined;
  /** What holds its evictions now by `maintenance` of its policies; null for nothing. */
  #hold: PresentHold | null = null;
  /** What those call for. */
  #conditions: ConditionPlan = NO_CONDITION_PLAN;
  readonly #outOfService: OutOfService;
  /** The last judgement published; empty to publish the next one even if it is the same. */
  #published = "";
  /** Null without open requests. */
  #requests: RequestSchedule | null = null;

  constructor(context: NodeContext, node: ObservedNode) {
    const { clock } = context.io;
    const transitionAt = readyConditionOf(node)?.transitionAt ?? node.createdAt;
    this.#context = context;
    this.#outOfService = new OutOfService(context);
    this.#node = node;
    this.#resourceVersion = node.resourceVersion;
    this.#heartbeats = new HeartbeatRecord(clock.monotonicMs());
    this.#state = stepNode(INITIAL_NODE_STATE, readinessEvent(node)).state;
    this.#readiness = judgedReadiness(this.#state);
    this.#since = Math.min(transitionAt, clock.wallMs());
    this.#ready = new ReadyRecord(node, clock);
    this.#resolvePolicy();
  }

  /** The key of the disruption domain the node belongs to: its zone, or its zone and policy. */
  get zone(): string {
    return domainKeyOf(this.#node.labels, this.#policy ?? null);
  }

  /** Takes an observed state of the node, changed or not. */
  observe(node: ObservedNode, cause: string): void {
    this.#node = node;
    this.#resourceVersion = node.resourceVersion;
    this.#ready.take(node);
    if (this.#takeStatus(readyConditionOf(node), this.#context.io.clock.monotonicMs(), cause)) this.#step("heartbeat");
    this.#step(readinessEvent(node));
    this.review(cause);
  }

  /** Takes the stamp of an observed Ready condition, which may arrive before the batch that carries the same one. */
  #takeStatus(ready: ReturnType<typeof readyConditionOf>, nowMs: number, cause: string): boolean {
    if (!this.#heartbeats.isStatusKnown) return false;
    const renewedAt = ready?.heartbeatAt ?? null;
    if (ready?.reason !== SilentReason.never.reason || renewedAt === null) {
      return this.#heartbeats.take({ kind: "status", renewedAt }, nowMs, cause);
    }
    this.#heartbeats.takeWritten(renewedAt);
    return false;
  }

  /**
   * Takes a heartbeat that was seen at `seenMs` on this process's monotonic clock. Returns whether the node must be
   * reviewed, once the heartbeats that arrived with this one are taken too.
   */
  takeHeartbeat(heartbeat: Heartbeat, seenMs: number, cause: string): boolean {
    // A verdict is bound to the version it rests on. If heartbeat and known state disagree on whether Ready exists, a
    // state was lost and the other grace applies, so its version must not carry a verdict.
    const isOfKnownState = (heartbeat.renewedAt !== null) === (readyConditionOf(this.#node) !== null);
    if (isOfKnownState) this.#resourceVersion = heartbeat.resourceVersion ?? this.#resourceVersion;
    const isOlder = heartbeat.kind === "status" && this.#ready.backdate(heartbeat.renewedAt, seenMs);
    const isAlive = this.#heartbeats.take(heartbeat, seenMs, cause);
    const isReturn = isAlive && isSilent(this.#state);
    if (isAlive && this.#state.heartbeat !== "fresh") this.#step("heartbeat");
    if (isAlive) this.#armGrace();
    return isReturn || isOlder;
  }

  /** Starts the drain that the zone granted, unless this process is blind or the node was replaced. */
  grantDrain(uid: string, cause: string): void {
    if (uid !== this.#node.uid || !this.#canJudge(this.#context.io.clock.monotonicMs())) return;
    this.#step("drainGranted");
    this.republish(cause);
    this.review(cause);
  }

  /** Applies the start or end of a halt. The start cancels a drain (R6.10). */
  zoneHalted(isHalted: boolean, cause: string): void {
    const { clock, profile } = this.#context.io;
    if (isHalted && profile.evictionMode === "direct") this.#step("evictionCancelled");
    // Not by haltEndedMs: a zone without counted nodes, such as that of an excluded node, is forgotten as it ends.
    if (!isHalted) this.#restartAfterHalt(clock.monotonicMs());
    this.review(cause);
  }

  /**
   * The end of a halt restarts grace and timeout (R6.11), because during a halt a dead network makes live nodes silent.
   * It may have been before this process judged the node, or before it knew the zone of the node's policy.
   */
  #restartAfterHalt(endedMs: number | null): void {
    if (endedMs === null || endedMs <= this.#restartedMs) return;
    this.#restartedMs = endedMs;
    this.#heartbeats.rebase(endedMs);
    this.#ready.restart(endedMs);
  }

  /** Takes the outcome of a write to this node or one of its pods; `isOwn` if a node actor requested it. */
  written(done: BodyOf<"done.write">, { isOwn, cause }: { readonly isOwn: boolean; readonly cause: string }): void {
    const nowMs = this.#context.io.clock.monotonicMs();
    if (done.ask === "asked.unready" && (done.outcome === "ok" || done.outcome === "shadowed"))
      this.#bound = withoutMarked(this.#bound, done.uid);
    const isOfVerdict = done.ask === "asked.condition" && done.uid === this.#node.uid;
    if (isOfVerdict && !done.retrying) this.#step("verdictSettled");
    if (isOwn && done.outcome === "denied") {
      this.#requests?.postpone(done.ask.slice("asked.".length) as RequestNoun, nowMs);
      this.review(cause);
    }
    if (!isOfVerdict || done.outcome !== "refused") return;
    if (!this.#step("verdictRefuted").includes("restartGrace")) return;
    this.#context.refuted.add(1);
    this.#heartbeats.rebase(nowMs);
    this.#context.markSuspect(`a live read refuted the silence of ${this.#node.node}`, cause);
    this.review(cause);
  }

  republish(cause: string): void {
    this.#published = "";
    this.#publishJudgement(cause);
  }

  /** Decides from the whole state: whether the node is silent, whether to evict it, what to publish and request. */
  review(cause: string | null = this.#heartbeats.cause): void {
    const nowMs = this.#context.io.clock.monotonicMs();
    this.#resolvePolicy();
    this.#restartAfterHalt(this.#context.haltEndedMs(this.zone));
    const canJudge = this.#canJudge(nowMs);
    this.#checkGrace(nowMs, canJudge);
    const evictionFromMs = this.#decideEviction(nowMs, canJudge);
    this.#holdTaint(nowMs);
    this.#reviewConditions(nowMs);
    this.#reviewOutOfService(canJudge);
    if (this.#isGrantRequestDue(nowMs)) this.#published = "";
    this.#publishJudgement(cause);
    this.#request(nowMs, canJudge, cause);
    this.#armReview(evictionFromMs);
  }

  /** Cancels every wake-up of the actor. */
  end(): void {
    this.#context.graces.cancel(this);
    this.#context.reviews.cancel(this);
    this.#context.waiting.delete(this);
    this.#context.heldActors.delete(this);
  }

  #reviewOutOfService(canJudge: boolean): void {
    const { waiting, heldActors } = this.#context;
    this.#outOfService.review(this.#outOfServiceView(canJudge));
    const isHeld = this.#outOfService.report?.state === "held";
    if (isHeld) heldActors.add(this);
    else heldActors.delete(this);
    if (isHeld && !canJudge) waiting.add(this);
  }

  #outOfServiceView(canJudge: boolean): OutOfServiceView {
    const isConfirmed = this.#state.heartbeat === "confirmed";
    return {
      node: this.#node,
      policy: this.#policy,
      zone: this.zone,
      canJudge,
      quietFromMs: isConfirmed ? this.#silentFromMs() : Number.POSITIVE_INFINITY,
      leaseRenewedAt: this.#heartbeats.basisFor(this.#node).leaseRenewedAt,
      outages: this.#outages(),
    };
  }

  /** Whether it may request anything harmful: it sees the shard, and knows by which policy to judge. */
  #canJudge(nowMs: number): boolean {
    return this.#isPolicyKnown && this.#context.view.blindness(nowMs) === null;
  }

  /** An unknown policy is taken for the last known one. Two policies that select the node leave it without one. */
  #resolvePolicy(): void {
    const policies = this.#context.io.policies.current();
    const resolved = policyOf(this.#node, policies);
    this.#isPolicyKnown = resolved.kind !== "unknown";
    if (policies !== null && resolved.kind !== "unknown") this.#selecting = selectingPolicies(resolved, policies);
    if (resolved.kind === "policy") this.#policy = resolved.policy;
    else if (resolved.kind !== "unknown") this.#policy = null;
    if (resolved.kind !== "unknown") this.#conflict = resolved.kind === "conflict" ? resolved.names : [];
    if (resolved.kind === "conflict") this.#context.conflicts.report(resolved.names, this.#node.node);
  }

  #silentFromMs(): number {
    const { view, io } = this.#context;
    return silentFromMs(
      this.#heartbeats.lastMs,
      view.watchHealth.since,
      graceMsOf(this.#node, io.profile, this.#policy),
    );
  }

  /** Steps the machine and returns its actions. */
  #step(event: NodeEvent): readonly NodeAction[] {
    const { state, actions } = stepNode(this.#state, event);
    this.#state = state;
    return actions;
  }

  #armGrace(): void {
    const isFound = isSilent(this.#state) || this.#state.heartbeat === "confirmed";
    if (isFound) this.#context.graces.cancel(this);
    else this.#context.graces.schedule(this, this.#silentFromMs());
  }

  /** Steps the machine by whether the grace is over. Once the API shows Unknown there is nothing left to find. */
  #checkGrace(nowMs: number, canJudge: boolean): void {
    const fromMs = this.#silentFromMs();
    const isOver = nowMs >= fromMs && this.#state.heartbeat !== "confirmed";
    const actions = this.#step(isOver ? (canJudge ? "graceOver" : "graceOverBlind") : "graceRuns");
    if (actions.includes("countVerdict")) this.#context.lateness.observe((nowMs - fromMs) / 1000);
    if (actions.includes("awaitSync")) this.#context.waiting.add(this);
    if (isOver) this.#context.graces.cancel(this);
    else this.#armGrace();
  }

  /** Steps the eviction. Returns when a direct one will be due; null when none is ahead. */
  #decideEviction(nowMs: number, canJudge: boolean): number | null {
    const { io } = this.#context;
    const readiness = judgedReadiness(this.#state);
    const isDirect = io.profile.evictionMode === "direct";
    const hasPods = hasPodsToEvict(this.#context.view.pods(this.#node.node)?.pods ?? null);
    const isDelayed = this.#delay(readiness, nowMs);
    const fromMs = isDirect && hasPods !== false ? this.#directEvictionFromMs(readiness) : null;
    const isOverdue = fromMs !== null && nowMs >= fromMs;
    if (isOverdue && !canJudge) this.#context.waiting.add(this);
    const event = isDirect
      ? directEvictionEvent(readiness, {
          status: this.#state.eviction,
          isOverdue: isOverdue && canJudge,
          hasPods,
          isDelayed,
        })
      : taintEvictionEvent(this.#node, readiness, isDelayed);
    if (event !== null) this.#step(event);
    if (readiness !== this.#readiness) this.#since = io.clock.wallMs();
    this.#readiness = readiness;
    const dueMs = isOverdue ? null : fromMs;
    const aheadMs = this.#state.eviction === "unmarked" ? fromMs : null;
    const drain = { fromMs: aheadMs, hasPods };
    this.#drainAhead = drainAhead(this.#drainAhead, drain, { nowMs, wallMs: io.clock.wallMs() });
    return dueMs;
  }

  /** Whether `unhealthyDelay` of its policy keeps the node from waiting for eviction. */
  #delay(readiness: Readiness, nowMs: number): boolean {
    const reported = { transitionMs: this.#ready.timeoutFromMs, delayMs: this.#policy?.unhealthyDelayMs ?? null };
    const isPossible = readiness === "notReady" && reported.delayMs !== null;
    const untilMs = delayedUntilMs(readiness, reported, isPossible ? this.#paused(nowMs) : {});
    const isDelayed = nowMs < untilMs;
    this.#delayedUntilMs = isDelayed ? untilMs : Number.POSITIVE_INFINITY;
    return isDelayed;
  }

  /** When what its silence causes stood and stands still, on the monotonic clock. */
  #paused(nowMs: number): PausedTime {
    const { clock, policies } = this.#context.io;
    const wallMs = clock.wallMs();
    const { frozen } = nodeFreezeOf(this.#node, policies.current(), wallMs);
    const aheadMs = nowMs - wallMs;
    return { frozen: onClock(frozen, aheadMs), outages: outagesOnClock(this.#outages(), aheadMs) };
  }

  /** Decides whether the node's policy keeps its NoSchedule taint on. An unknown policy is taken for the one before. */
  #holdTaint(nowMs: number): void {
    const { io, beganMs } = this.#context;
    const history = this.#ready.history();
    const at = { nowMs, wallMs: io.clock.wallMs() };
    if (this.#policy === undefined) this.#taintHold = unknownHold(this.#node, { beganMs, nowMs });
    else this.#taintHold = this.#policy === null ? null : taintHoldOf(this.#node, this.#policy, history, at);
  }

  /** Decides which taints its conditions call for; while its policy is not known, what was decided last stays open. */
  #reviewConditions(nowMs: number): void {
    const { io, view } = this.#context;
    const { upstream, evictionMode, bounds } = io.profile;
    if (upstream === "beside") return;
    if (!this.#isPolicyKnown) {
      this.#conditions = { ...NO_CONDITION_PLAN, judged: this.#conditions.judged };
      this.#holdsText = undefined;
      // It ends on time all the same: one that is over would have the node reviewed for ever.
      if (this.#hold !== null && this.#hold.untilAt <= io.clock.wallMs()) this.#hold = null;
      return;
    }
    const rules = this.#conflict.length > 0 ? null : (this.#policy ?? NO_RULES);
    // Of policies that conflict no rule applies, and each holds evictions: countdowns need the record of that.
    const maintenances = this.#selecting.flatMap(({ maintenance }) => maintenance ?? []);
    const types = [...new Set([...typesOf(rules ?? NO_RULES), ...holdTypes(maintenances)])];
    const now = { nowMs, wallMs: io.clock.wallMs() };
    const isUnbroken = view.blindness(nowMs) === null;
    const [node, policies] = [this.#node, io.policies.current()];
    const sightings = withSightings(this.#sightings, node, types, { ...now, isUnbroken });
    this.#sightings = sightings;
    this.#conditions = conditionPlanOf({
      node,
      rules,
      sightings,
      policies,
      evictionMode,
      outages: this.#outages(),
      now,
    });
    const { endedHoldsMax } = bounds;
    this.#holdsText = holdsChange({ node, maintenances, sightings, evictionMode, endedHoldsMax, now });
    this.#hold = presentHold(node, this.#selecting, now.wallMs);
  }

  #directEvictionFromMs(readiness: Readiness): number | null {
    if (this.#state.eviction !== "unmarked" || (readiness !== "notReady" && readiness !== "unknown")) return null;
    const transitionAt = readyConditionOf(this.#node)?.transitionAt ?? Number.POSITIVE_INFINITY;
    const down = {
      readiness,
      transitionMs: this.#ready.timeoutFromMs,
      lastHeartbeatMs: this.#heartbeats.lastMs,
      isHeartbeatWitnessed: this.#heartbeats.isWitnessedAfter(transitionAt),
      policyGraceMs: this.#policy?.nodeMonitorGraceMs ?? null,
    };
    const { profile, clock } = this.#context.io;
    const fromMs = directEvictionFromMs(down, profile, this.#paused(clock.monotonicMs()));
    return Number.isFinite(this.#delayedUntilMs) ? Math.max(fromMs, this.#delayedUntilMs) : fromMs;
  }

  /** The outages that count for the node. */
  #outages(): OutageTime {
    const { io, view } = this.#context;
    return nodeOutagesOf(this.#node, io.policies.current(), view.outages, io.profile);
  }

  /**
   * Whether to republish the judgement because a drain, or a node that was delayed, waits for its grant. A judgement
   * that was lost then contradicts nothing that the zone observes, so no other component would request it.
   */
  #isGrantRequestDue(nowMs: number): boolean {
    const { profile } = this.#context.io;
    const isUncontradicted = profile.evictionMode === "direct" || this.#policy?.unhealthyDelayMs != null;
    const isWaiting = isUncontradicted && this.#state.eviction === "toBeEvicted";
    if (!isWaiting && this.#requests === null) return false;
    this.#requests ??= new RequestSchedule(profile);
    return this.#requests.isDue("grant", isWaiting ? "drain" : null, nowMs);
  }

  #publishJudgement(cause: string | null): void {
    const { node, uid, resourceVersion, labels } = this.#node;
    const { eviction } = this.#state;
    const readiness = judgedReadiness(this.#state);
    const ready = isSilent(this.#state) ? "Unknown" : (readyConditionOf(this.#node)?.status ?? null);
    const { zone } = this;
    const counted = isCounted(labels);
    const hold = { ...this.#publishedTaintHold(), ...this.#publishedDelay() };
    const policy = this.#publishedPolicy();
    const { report } = this.#outOfService;
    const outOfService = report === undefined ? {} : { outOfService: report };
    const { evictionFromAt, podsUnknown } = this.#drainAhead;
    const held = `${evictionFromAt} ${podsUnknown} ${policy.policy} ${policy.conflict?.join()}`;
    const conditions = this.#publishedConditions();
    const further = JSON.stringify({ ...hold, ...conditions, ...outOfService });
    const judgement = `${readiness} ${eviction} ${ready} ${counted} ${zone} ${held} ${further}`;
    if (judgement === this.#published) return;
    this.#published = judgement;
    const { bus, clock } = this.#context.io;
    const { witnessedMs } = this.#heartbeats;
    const heartbeatAt = Number.isFinite(witnessedMs) ? clock.wallMs() - (clock.monotonicMs() - witnessedMs) : null;
    const drain = { ...this.#drainAhead, ...policy, ...hold, ...conditions, ...outOfService };
    const where = { node, uid, resourceVersion, zone, counted, ...drain };
    bus.publish("judged.node", { ...where, readiness, ready, since: this.#since, heartbeatAt, eviction }, cause);
  }

  /** Its policy, or those of which none applies. */
  #publishedPolicy(): Pick<BodyOf<"judged.node">, "policy" | "conflict"> {
    if (this.#conflict.length > 0) return { conflict: this.#conflict.slice(0, CONFLICT_MAX) };
    return this.#policy == null ? {} : { policy: this.#policy.name };
  }

  #publishedConditions(): Pick<BodyOf<"judged.node">, "conditions" | "maintenance"> {
    const { judged } = this.#conditions;
    return {
      ...(judged.length === 0 ? {} : { conditions: [...judged] }),
      ...(this.#hold === null ? {} : { maintenance: this.#hold }),
    };
  }

  #publishedDelay(): Pick<BodyOf<"judged.node">, "unhealthyDelay"> {
    const { clock } = this.#context.io;
    const untilMs = this.#delayedUntilMs;
    // A freeze without an end has no instant.
    if (!Number.isFinite(untilMs)) this.#publishedDelayAt = undefined;
    else {
      const now = { nowMs: clock.monotonicMs(), wallMs: clock.wallMs() };
      this.#publishedDelayAt = publishedInstant(this.#publishedDelayAt, untilMs, now);
    }
    return this.#publishedDelayAt === undefined ? {} : { unhealthyDelay: { untilAt: this.#publishedDelayAt } };
  }

  /** What keeps the NoSchedule taint on, for people; nothing for a node that carries none. */
  #publishedTaintHold(): Pick<BodyOf<"judged.node">, "taintHold"> {
    const { clock } = this.#context.io;
    const now = { nowMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    const hold = isHoldEffective(this.#node) ? this.#taintHold : null;
    this.#publishedHold = publishedHold(this.#publishedHold, hold, now);
    return this.#publishedHold === null ? {} : { taintHold: this.#publishedHold };
  }

  #request(nowMs: number, canJudge: boolean, cause: string | null): void {
    const { view, io, heldBack, waiting } = this.#context;
    const node = this.#node;
    const pods = view.pods(node.node)?.pods ?? null;
    this.#bound = boundWhileNotReady(this.#bound, node, pods);
    const { eviction, heartbeat } = this.#state;
    const { profile } = io;
    const outOfService = this.#outOfServiceView(canJudge);
    const changes = desiredChangesOf({
      node,
      pods,
      bound: this.#bound,
      isSilent: isSilent(this.#state),
      isReadinessHeld: this.#isReadinessHeld(nowMs),
      eviction,
      isTaintHeld: this.#taintHold !== null,
      conditionTaints: this.#conditions,
      outOfService: this.#outOfService.change(outOfService),
      annotations: this.#outOfService.annotations(outOfService, this.#annotationsChange()),
      profile,
    });
    const mustWait = !canJudge && !isHarmless(changes);
    if (mustWait) {
      heldBack.add(1);
      waiting.add(this);
    }
    const schedule = this.#requests ?? new RequestSchedule(io.profile);
    const basis = this.#heartbeats.basisFor(node);
    const verdict = { resourceVersion: this.#resourceVersion, basis, isTakenBack: heartbeat === "recalled" };
    const request = { io, node, ...verdict, toEvict: changes.evictions, schedule, nowMs, cause };
    if (sendRequests(request, mustWait ? harmlessChanges(changes) : changes)) this.#step("verdictRequested");
    this.#requests = schedule.isEmpty() ? null : schedule;
  }

  /** Whether a circuit breaker keeps its pods from being marked; if so, each message about limits reviews it. */
  #isReadinessHeld(nowMs: number): boolean {
    const { limits, heldActors } = this.#context;
    if (readyConditionOf(this.#node)?.status !== "Unknown") return false;
    const isHeld = limits.holdsReadiness(this.#policy ?? null, this.#since, nowMs);
    if (isHeld) heldActors.add(this);
    return isHeld;
  }

  /** The change of the records of its conditions: since when they count, and when they have held its evictions. */
  #conditionRecords(): Readonly<Record<string, string | null>> | null {
    const { annotations } = this.#conditions;
    return this.#holdsText === undefined ? annotations : { ...annotations, [Annotation.holds]: this.#holdsText };
  }

  #annotationsChange(): Readonly<Record<string, string | null>> | null {
    if (this.#policy === undefined) return null;
    const flapping = this.#policy?.flapping ?? null;
    const wallMs = this.#context.io.clock.wallMs();
    const transitions = transitionsChangeOf(this.#node, flapping, this.#ready.history().transitionsAt, wallMs);
    const annotations = this.#conditionRecords();
    return transitions === null || annotations === null
      ? (transitions ?? annotations)
      : { ...transitions, ...annotations };
  }

  #armReview(evictionFromMs: number | null): void {
    const never = Number.POSITIVE_INFINITY;
    const { clock } = this.#context.io;
    const dueMs = Math.min(
      this.#requests?.nextDueMs() ?? never,
      evictionFromMs ?? never,
      this.#taintHold?.untilMs ?? never,
      this.#delayedUntilMs,
      clock.monotonicMs() +
        Math.max(0, Math.min(this.#conditions.nextAt, this.#hold?.untilAt ?? never) - clock.wallMs()),
      this.#outOfService.nextMs,
    );
    if (dueMs < never) this.#context.reviews.schedule(this, dueMs);
    else this.#context.reviews.cancel(this);
  }
}
