/**
 * The actor of one node: keeps its state and heartbeats, steps its machine, and publishes the judgement and requests
 * that its decisions lead to. It judges as upstream does; everything beyond that is in `concerns`.
 */

import { SHOWN_OUTCOMES } from "../../protocols/done.ts";
import type { Readiness } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import type { Instant } from "../domain/instant.ts";
import { graceMsOf, readyConditionOf } from "../domain/node-conditions.ts";
import { isCounted, zoneKeyOf } from "../domain/zone-key.ts";
import { type Findings, NOTHING_FOUND } from "./concerns/concern.ts";
import type { NodeConcerns } from "./concerns/node-concerns.ts";
import { pausesOf } from "./concerns/pause.ts";
import { desiredChangesOf, harmlessChanges, isHarmless } from "./desired-changes.policy.ts";
import {
  type DrainAhead,
  directEvictionEvent,
  directEvictionFromMs,
  drainAhead,
  hasPodsToEvict,
  readinessEvent,
  taintEvictionEvent,
} from "./eviction.policy.ts";
import { HeartbeatRecord, ReadyTransition } from "./heartbeats.ts";
import type { NodeContext } from "./node.context.ts";
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
import { RequestSchedule } from "./request-schedule.ts";
import { silentFromMs } from "./silence.policy.ts";
import { type BoundPods, boundWhileNotReady, withoutMarked } from "./unready.policy.ts";

/** The actor of one node. A heartbeat only moves a deadline. Everything else ends in a review of the whole state. */
export class NodeActor {
  readonly #context: NodeContext<NodeActor>;
  readonly #heartbeats: HeartbeatRecord;
  readonly #transition: ReadyTransition;
  #node: ObservedNode;
  /** The newest version received. Heartbeats carry newer versions than the node's state. */
  #resourceVersion: string;
  #state: NodeState;
  /** The readiness as judged, and when it began, on the wall clock. */
  #judged: { readonly readiness: Readiness; readonly since: number };
  /** The pods bound to the node while its kubelet reports Ready=False; null while it reports another status. */
  #bound: BoundPods | null = null;
  #drainAhead: DrainAhead = {};
  #concerns: NodeConcerns | null;
  /** What these found in the last review. */
  #findings: Findings = NOTHING_FOUND;
  /** The last judgement published; empty to publish the next one even if it is the same. */
  #published = "";
  /** Null without open requests. */
  #requests: RequestSchedule | null = null;

  constructor(context: NodeContext<NodeActor>, node: ObservedNode) {
    const { clock } = context.io;
    const transitionAt = readyConditionOf(node)?.transitionAt ?? node.createdAt;
    this.#context = context;
    this.#node = node;
    this.#resourceVersion = node.resourceVersion;
    this.#heartbeats = new HeartbeatRecord(clock.monotonicMs());
    this.#state = stepNode(INITIAL_NODE_STATE, readinessEvent(node)).state;
    this.#judged = { readiness: judgedReadiness(this.#state), since: Math.min(transitionAt, clock.wallMs()) };
    this.#transition = new ReadyTransition(node, clock);
    this.#concerns = context.concerns.concernsFor(node, undefined);
  }

  /** The key of the disruption domain that the node belongs to. */
  get zone(): string {
    return this.#concerns === null ? zoneKeyOf(this.#node.labels) : this.#concerns.domainOf(this.#node);
  }

  /** Handles an observed state of the node, changed or not. */
  observe(node: ObservedNode, cause: string): void {
    const nowMs = this.#context.io.clock.monotonicMs();
    this.#node = node;
    this.#resourceVersion = node.resourceVersion;
    this.#transition.observe(node, nowMs);
    if (this.#heartbeats.recordReady(readyConditionOf(node), nowMs, cause)) this.#step("heartbeat");
    this.#step(readinessEvent(node));
    this.review(cause);
  }

  /**
   * Handles a heartbeat that was seen at `seenMs` on this process's monotonic clock. Returns whether the node must be
   * reviewed, once the heartbeats that arrived with this one are handled too.
   */
  onHeartbeat(heartbeat: Heartbeat, seenMs: number, cause: string): boolean {
    // A verdict is bound to the version it rests on. If heartbeat and known state disagree on whether Ready exists, a
    // state was lost and the other grace applies, so its version must not carry a verdict.
    const matchesKnownState = (heartbeat.renewedAt !== null) === (readyConditionOf(this.#node) !== null);
    if (matchesKnownState) this.#resourceVersion = heartbeat.resourceVersion ?? this.#resourceVersion;
    const isOlder = heartbeat.kind === "status" && this.#transition.backdate(heartbeat.renewedAt, seenMs);
    const isAlive = this.#heartbeats.record(heartbeat, seenMs, cause);
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
   * It may have been before this process judged the node, or before it knew the disruption domain of the node.
   */
  #restartAfterHalt(endedMs: number | null): void {
    if (endedMs !== null && this.#transition.restartAfterHalt(endedMs)) this.#heartbeats.rebase(endedMs);
  }

  /**
   * Handles the outcome of a write to this node or one of its pods. A denied write is requested again like any other
   * that the API does not show yet: an API server that has just started denies everything for a moment.
   */
  written(done: BodyOf<"done.write">, cause: string): void {
    const nowMs = this.#context.io.clock.monotonicMs();
    const isMark = done.ask === "asked.unready" && SHOWN_OUTCOMES.has(done.outcome);
    if (isMark) this.#bound = withoutMarked(this.#bound, done.uid);
    const isVerdictReply = done.ask === "asked.condition" && done.uid === this.#node.uid;
    if (isVerdictReply && !done.retrying) this.#step("verdictSettled");
    if (!isVerdictReply || done.outcome !== "refused") return;
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
    const { clock } = this.#context.io;
    const at = { nowMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    this.#concerns = this.#context.concerns.concernsFor(this.#node, this.#concerns);
    this.#restartAfterHalt(this.#context.haltEndedMs(this.zone));
    const canJudge = this.#canJudge(at.nowMs);
    this.#checkGrace(at.nowMs, canJudge);
    this.#judge(at.wallMs);
    this.#reviewConcerns(at);
    const evictionFromMs = this.#decideEviction(at, canJudge);
    if (this.#isGrantRequestDue(at.nowMs)) this.#published = "";
    this.#publishJudgement(cause);
    this.#request(at.nowMs, canJudge, cause);
    this.#armReview(evictionFromMs);
  }

  /** Cancels every wake-up of the actor. */
  end(): void {
    this.#context.graces.cancel(this);
    this.#context.reviews.cancel(this);
    this.#context.waitingForSync.delete(this);
    this.#context.waitingForLimits.delete(this);
  }

  /** Whether it may request anything harmful: it sees the shard, and knows by which settings to judge. */
  #canJudge(nowMs: number): boolean {
    return this.#concerns?.isKnown !== false && this.#context.shard.blindness(nowMs) === null;
  }

  #silentFromMs(): number {
    const { io, shard } = this.#context;
    const graceMs = graceMsOf(this.#node, this.#concerns?.graces ?? io.profile);
    return silentFromMs(this.#heartbeats.lastMs, shard.watchHealth.since, graceMs);
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
    if (actions.includes("awaitSync")) this.#context.waitingForSync.add(this);
    if (isOver) this.#context.graces.cancel(this);
    else this.#armGrace();
  }

  #judge(wallMs: number): void {
    const readiness = judgedReadiness(this.#state);
    if (readiness !== this.#judged.readiness) this.#judged = { readiness, since: wallMs };
  }

  #reviewConcerns(at: Instant): void {
    const { shard, waitingForSync, waitingForLimits } = this.#context;
    const isConfirmed = this.#state.heartbeat === "confirmed";
    this.#findings =
      this.#concerns?.review({
        node: this.#node,
        ...this.#judged,
        readySinceMs: this.#transition.ms,
        timeoutFromMs: this.#transition.timeoutFromMs,
        quietFromMs: isConfirmed ? this.#silentFromMs() : Number.POSITIVE_INFINITY,
        leaseRenewedAt: this.#heartbeats.basisFor(this.#node).leaseRenewedAt,
        isSynced: shard.blindness(at.nowMs) === null,
        outages: shard.outages,
        at,
      }) ?? NOTHING_FOUND;
    const { waitsFor } = this.#findings;
    if (waitsFor.has("sync")) waitingForSync.add(this);
    if (waitsFor.has("limits")) waitingForLimits.add(this);
    else waitingForLimits.delete(this);
  }

  /** Steps the eviction. Returns when a direct one will be due; null when none is ahead. */
  #decideEviction(at: Instant, canJudge: boolean): number | null {
    const { io, shard, waitingForSync } = this.#context;
    const { readiness } = this.#judged;
    const isDirect = io.profile.evictionMode === "direct";
    const hasPods = hasPodsToEvict(shard.pods(this.#node.node)?.pods ?? null);
    const { evictableFromMs } = this.#findings;
    const isDelayed = evictableFromMs !== null && at.nowMs < evictableFromMs;
    const dueMs = isDirect && hasPods !== false ? this.#directEvictionFromMs(at) : null;
    const fromMs = dueMs !== null && isDelayed ? Math.max(dueMs, evictableFromMs) : dueMs;
    const isOverdue = fromMs !== null && at.nowMs >= fromMs;
    if (isOverdue && !canJudge) waitingForSync.add(this);
    const { eviction: status } = this.#state;
    const event = isDirect
      ? directEvictionEvent(readiness, { status, isOverdue: isOverdue && canJudge, hasPods, isDelayed })
      : taintEvictionEvent(this.#node, readiness, isDelayed);
    if (event !== null) this.#step(event);
    const aheadMs = this.#state.eviction === "unmarked" ? fromMs : null;
    this.#drainAhead = drainAhead(this.#drainAhead, { fromMs: aheadMs, hasPods }, at);
    return isOverdue ? null : fromMs;
  }

  #directEvictionFromMs(at: Instant): number | null {
    const { readiness } = this.#judged;
    if (this.#state.eviction !== "unmarked" || (readiness !== "notReady" && readiness !== "unknown")) return null;
    const transitionAt = readyConditionOf(this.#node)?.transitionAt ?? Number.POSITIVE_INFINITY;
    const { io, shard } = this.#context;
    const { nodeMonitorGraceMs: graceMs } = this.#concerns?.graces ?? io.profile;
    const down = {
      readiness,
      transitionMs: this.#transition.timeoutFromMs,
      lastHeartbeatMs: this.#heartbeats.lastMs,
      isHeartbeatWitnessed: this.#heartbeats.isWitnessedAfter(transitionAt),
      graceMs,
    };
    return directEvictionFromMs(down, io.profile, pausesOf(io, this.#node, shard.outages, at));
  }

  /**
   * Whether to republish the judgement because a drain, or a node that was delayed, waits for its grant. A judgement
   * that was lost then contradicts nothing that the zone observes, so no other component would request it.
   */
  #isGrantRequestDue(nowMs: number): boolean {
    const { profile } = this.#context.io;
    const isUncontradicted = profile.evictionMode === "direct" || this.#findings.evictableFromMs !== null;
    const isWaiting = isUncontradicted && this.#state.eviction === "toBeEvicted";
    if (!isWaiting && this.#requests === null) return false;
    this.#requests ??= new RequestSchedule(profile);
    return this.#requests.isDue("grant", isWaiting ? "drain" : null, nowMs);
  }

  #publishJudgement(cause: string | null): void {
    const { node, uid, resourceVersion, labels } = this.#node;
    const { bus, clock } = this.#context.io;
    const { witnessedMs } = this.#heartbeats;
    const judgement = {
      zone: this.zone,
      counted: isCounted(labels),
      ...this.#drainAhead,
      ...this.#findings.judged,
      readiness: judgedReadiness(this.#state),
      ready: isSilent(this.#state) ? ("Unknown" as const) : (readyConditionOf(this.#node)?.status ?? null),
      eviction: this.#state.eviction,
    };
    const text = JSON.stringify(judgement);
    if (text === this.#published) return;
    this.#published = text;
    const heartbeatAt = Number.isFinite(witnessedMs) ? clock.wallMs() - (clock.monotonicMs() - witnessedMs) : null;
    const { since } = this.#judged;
    bus.publish("judged.node", { node, uid, resourceVersion, since, heartbeatAt, ...judgement }, cause);
  }

  #request(nowMs: number, canJudge: boolean, cause: string | null): void {
    const { shard, io, postponed, waitingForSync } = this.#context;
    const node = this.#node;
    const pods = shard.pods(node.node)?.pods ?? null;
    this.#bound = boundWhileNotReady(this.#bound, node, pods);
    const { eviction, heartbeat } = this.#state;
    const { profile } = io;
    const [bound, findings] = [this.#bound, this.#findings];
    const changes = desiredChangesOf({
      node,
      pods,
      bound,
      isSilent: isSilent(this.#state),
      eviction,
      findings,
      profile,
    });
    const mustWait = !canJudge && !isHarmless(changes);
    if (mustWait) {
      postponed.add(1);
      waitingForSync.add(this);
    }
    const schedule = this.#requests ?? new RequestSchedule(profile);
    const basis = this.#heartbeats.basisFor(node);
    const verdict = { resourceVersion: this.#resourceVersion, basis, isWithdrawn: heartbeat === "recalled" };
    const request = { io, node, ...verdict, toEvict: changes.evictions, schedule, nowMs, cause };
    if (sendRequests(request, mustWait ? harmlessChanges(changes) : changes)) this.#step("verdictRequested");
    this.#requests = schedule.isEmpty() ? null : schedule;
  }

  #armReview(evictionFromMs: number | null): void {
    const never = Number.POSITIVE_INFINITY;
    const dueMs = Math.min(this.#requests?.nextDueMs() ?? never, evictionFromMs ?? never, this.#findings.nextMs);
    if (dueMs < never) this.#context.reviews.schedule(this, dueMs);
    else this.#context.reviews.cancel(this);
  }
}
