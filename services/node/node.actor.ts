/**
 * The actor of one node: holds what was heard of it, steps its machine, and tells and asks what the policies decide.
 */
import type { Readiness } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import type { Io, Metrics } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { isCounted, zoneKeyOf } from "../domain/zone-key.ts";
import type { ShardView } from "../platform/shard-view/shard-view.ts";
import type { KeyedDeadlines } from "../platform/structures/deadlines.keyed.ts";
import { desiredChangesOf, harmlessChanges, isHarmless } from "./desired-changes.policy.ts";
import {
  type DrainFrom,
  directEvictionEvent,
  directEvictionFromMs,
  drainFrom,
  readinessEvent,
  taintEvictionEvent,
} from "./eviction.policy.ts";
import { HeartbeatRecord, ReadyTransition } from "./heartbeats.ts";
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
import { type RequestNoun, RequestSchedule } from "./request-schedule.ts";
import { graceMsOf, silentFromMs } from "./silence.policy.ts";
import { type BoundPods, boundWhileNotReady, withoutMarked } from "./unready.policy.ts";

/** What the actors of one shard share. */
export interface NodeContext {
  readonly io: Io;
  readonly view: ShardView;
  /** Wakes an actor when its node's silence may have lasted too long. */
  readonly graces: KeyedDeadlines<NodeActor>;
  /** Wakes an actor to repeat its asks. */
  readonly reviews: KeyedDeadlines<NodeActor>;
  /** How much later than its grace each silent node was found, in seconds. */
  readonly lateness: ReturnType<Metrics["histogram"]>;
  /** Verdicts that a live read refuted. */
  readonly refuted: ReturnType<Metrics["counter"]>;
  /** Reviews that held harmful changes back. */
  readonly heldBack: ReturnType<Metrics["counter"]>;
  /** The actors of the shard to review again once its view is whole. */
  readonly waiting: Set<NodeActor>;
  /** Notes that the view of the shard was wrong. */
  markSuspect(reason: string, cause: string | null): void;
}

/**
 * One node's actor. A heartbeat only moves a deadline; everything else ends in a review, which looks at all there is.
 */
export class NodeActor {
  readonly #context: NodeContext;
  readonly #heartbeats: HeartbeatRecord;
  #node: ObservedNode;
  /** The node's version as told last: its heartbeats move it. */
  #resourceVersion: string;
  #state: NodeState;
  /** The readiness as it was judged last. */
  #readiness: Readiness;
  /** When it began, on the wall clock. */
  #since: number;
  readonly #transition: ReadyTransition;
  /** The pods bound to the node while its kubelet reports Ready=False; null while it reports something else. */
  #bound: BoundPods | null = null;
  /** The earliest instant of a drain as it is published. */
  #drainFrom: DrainFrom = {};
  /** The judgement told last. */
  #published = "";
  /** Null while nothing is asked for. */
  #requests: RequestSchedule | null = null;

  constructor(context: NodeContext, node: ObservedNode) {
    const { clock } = context.io;
    const nowMs = clock.monotonicMs();
    const transitionAt = readyConditionOf(node)?.transitionAt ?? node.createdAt;
    this.#context = context;
    this.#node = node;
    this.#resourceVersion = node.resourceVersion;
    this.#heartbeats = new HeartbeatRecord(nowMs);
    this.#state = stepNode(INITIAL_NODE_STATE, readinessEvent(node)).state;
    this.#readiness = judgedReadiness(this.#state);
    this.#since = Math.min(transitionAt, clock.wallMs());
    this.#transition = new ReadyTransition(node, clock);
  }

  /** The key of the zone the node belongs to. */
  get zone(): string {
    return zoneKeyOf(this.#node.labels);
  }

  /** Takes a newer state of the node, or the same again. */
  observe(node: ObservedNode, cause: string): void {
    const before = readyConditionOf(this.#node);
    const ready = readyConditionOf(node);
    const nowMs = this.#context.io.clock.monotonicMs();
    this.#node = node;
    this.#resourceVersion = node.resourceVersion;
    const hasChanged = before?.transitionAt !== ready?.transitionAt || before?.status !== ready?.status;
    if (hasChanged) this.#transition.restart(nowMs);
    // The heartbeat inside a node's own state may come ahead of the batch that tells it.
    const heartbeat = { kind: "status" as const, renewedAt: ready?.heartbeatAt ?? null };
    const isAlive = this.#heartbeats.isStatusKnown && this.#heartbeats.take(heartbeat, nowMs, cause);
    if (isAlive) this.#step("heartbeat");
    this.#step(readinessEvent(node));
    this.review(cause);
  }

  /** Takes a sign of life seen at `readAtMs` on this process's monotonic clock. */
  takeHeartbeat(heartbeat: Heartbeat, seenMs: number, cause: string): void {
    // A verdict is bound to the version of what it rests on: one with or without Ready where the other is known, as the
    // state was lost on its way, calls for another grace.
    const isOfKnownState = (heartbeat.renewedAt !== null) === (readyConditionOf(this.#node) !== null);
    if (isOfKnownState) this.#resourceVersion = heartbeat.resourceVersion ?? this.#resourceVersion;
    const isOlder = heartbeat.kind === "status" && this.#transition.hear(heartbeat.renewedAt, seenMs);
    const isAlive = this.#heartbeats.take(heartbeat, seenMs, cause);
    const isReturn = isAlive && isSilent(this.#state);
    if (isAlive && this.#state.heartbeat !== "fresh") this.#step("heartbeat");
    if (isReturn || isOlder) this.review(cause);
    else if (isAlive) this.#armGrace();
  }

  /** Takes the zone's word that this node's turn to be drained has come (5.6). */
  grantDrain(uid: string, cause: string): void {
    const { view, io } = this.#context;
    if (uid !== this.#node.uid || view.blindness(io.clock.monotonicMs()) !== null) return;
    this.#step("drainGranted");
    this.republish(cause);
    this.review(cause);
  }

  /**
   * Takes word that every zone is down, or no longer. Halted, a drain is called off (R6.10); afterwards the node gets
   * its whole grace and timeout again (R6.11), because nobody could tell it from its network.
   */
  zoneHalted(isHalted: boolean, cause: string): void {
    const { clock, profile } = this.#context.io;
    if (isHalted && profile.evictionMode === "direct") this.#step("evictionCancelled");
    if (!isHalted) {
      this.#heartbeats.rebase(clock.monotonicMs());
      this.#transition.restart(clock.monotonicMs());
    }
    this.review(cause);
  }

  /** Takes what came of a write about this node or one of its pods, and whether a node actor had asked for it. */
  written(done: BodyOf<"done.write">, { isOwn, cause }: { readonly isOwn: boolean; readonly cause: string }): void {
    const nowMs = this.#context.io.clock.monotonicMs();
    if (done.ask === "asked.unready" && done.outcome === "ok") this.#bound = withoutMarked(this.#bound, done.uid);
    const isOfVerdict = done.ask === "asked.condition" && done.uid === this.#node.uid;
    if (isOfVerdict && !done.retrying) this.#step("verdictSettled");
    if (isOwn && (done.outcome === "shadowed" || done.outcome === "denied")) {
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

  /** Tells its judgement again. */
  republish(cause: string): void {
    this.#published = "";
    this.#publishJudgement(cause);
  }

  /** Looks at everything known: is it silent, what state is it in, what is to be told and asked. */
  review(cause: string | null = this.#heartbeats.cause): void {
    const { view, io } = this.#context;
    const nowMs = io.clock.monotonicMs();
    const canSee = view.blindness(nowMs) === null;
    this.#checkGrace(nowMs, canSee);
    const evictionFromMs = this.#decideEviction(nowMs, canSee);
    if (this.#isGrantRequestDue(nowMs)) this.#published = "";
    this.#publishJudgement(cause);
    this.#request(nowMs, canSee, cause);
    this.#armReview(evictionFromMs);
  }

  /** Ends the actor: nothing wakes it any more. */
  end(): void {
    this.#context.graces.cancel(this);
    this.#context.reviews.cancel(this);
    this.#context.waiting.delete(this);
  }

  #silentFromMs(): number {
    const { view, io } = this.#context;
    return silentFromMs(this.#heartbeats.lastMs, view.watchHealth.since, graceMsOf(this.#node, io.profile));
  }

  /** Steps the machine; returns what the step calls for. */
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

  /** Finds out whether the grace is over. Once the API shows Unknown there is nothing left to find. */
  #checkGrace(nowMs: number, canSee: boolean): void {
    const fromMs = this.#silentFromMs();
    const isOver = nowMs >= fromMs && this.#state.heartbeat !== "confirmed";
    const actions = this.#step(isOver ? (canSee ? "graceOver" : "graceOverUnseen") : "graceRuns");
    if (actions.includes("countVerdict")) this.#context.lateness.observe((nowMs - fromMs) / 1000);
    if (actions.includes("awaitSight")) this.#context.waiting.add(this);
    if (isOver) this.#context.graces.cancel(this);
    else this.#armGrace();
  }

  /** Decides on the eviction. Returns when a direct one will be due; null when none is to come. */
  #decideEviction(nowMs: number, canSee: boolean): number | null {
    const { io } = this.#context;
    const readiness = judgedReadiness(this.#state);
    const isDirect = io.profile.evictionMode === "direct";
    const fromMs = isDirect ? this.#directEvictionFromMs(readiness) : null;
    const isOverdue = fromMs !== null && nowMs >= fromMs;
    if (isOverdue && !canSee) this.#context.waiting.add(this);
    const event = isDirect
      ? directEvictionEvent(readiness, this.#state.eviction, isOverdue && canSee)
      : taintEvictionEvent(this.#node, readiness);
    if (event !== null) this.#step(event);
    if (readiness !== this.#readiness) this.#since = io.clock.wallMs();
    this.#readiness = readiness;
    const dueMs = isOverdue ? null : fromMs;
    this.#drainFrom = drainFrom(this.#drainFrom, dueMs, nowMs, io.clock.wallMs());
    return dueMs;
  }

  #directEvictionFromMs(readiness: Readiness): number | null {
    if (this.#state.eviction !== "unmarked" || (readiness !== "notReady" && readiness !== "unknown")) return null;
    const transitionAt = readyConditionOf(this.#node)?.transitionAt ?? Number.POSITIVE_INFINITY;
    const isHeartbeatWitnessed = this.#heartbeats.isWitnessedAfter(transitionAt);
    const down = {
      readiness,
      transitionMs: this.#transition.ms,
      lastHeartbeatMs: this.#heartbeats.lastMs,
      isHeartbeatWitnessed,
    };
    return directEvictionFromMs(down, this.#context.io.profile);
  }

  /**
   * Whether the judgement is to be told (again) because a drain waits for the zone's turn: one that was lost on its way
   * contradicts nothing that can be observed, so nobody would miss it.
   */
  #isGrantRequestDue(nowMs: number): boolean {
    const { profile } = this.#context.io;
    const isWaiting = profile.evictionMode === "direct" && this.#state.eviction === "toBeEvicted";
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
    const judgement = `${readiness} ${eviction} ${ready} ${counted} ${zone} ${this.#drainFrom.evictionFromAt}`;
    if (judgement === this.#published) return;
    this.#published = judgement;
    const { bus, clock } = this.#context.io;
    const { witnessedMs } = this.#heartbeats;
    const heartbeatAt = Number.isFinite(witnessedMs) ? clock.wallMs() - (clock.monotonicMs() - witnessedMs) : null;
    const where = { node, uid, resourceVersion, zone, counted, ...this.#drainFrom };
    bus.publish("judged.node", { ...where, readiness, ready, since: this.#since, heartbeatAt, eviction }, cause);
  }

  #request(nowMs: number, canSee: boolean, cause: string | null): void {
    const { view, io, heldBack, waiting } = this.#context;
    const pods = view.pods(this.#node.node)?.pods ?? null;
    this.#bound = boundWhileNotReady(this.#bound, this.#node, pods);
    const changes = desiredChangesOf({
      node: this.#node,
      pods,
      bound: this.#bound,
      isSilent: isSilent(this.#state),
      eviction: this.#state.eviction,
      evictionMode: io.profile.evictionMode,
    });
    const mustWait = !canSee && !isHarmless(changes);
    if (mustWait) {
      heldBack.add(1);
      waiting.add(this);
    }
    const isTakenBack = this.#state.heartbeat === "recalled";
    const schedule = this.#requests ?? new RequestSchedule(io.profile);
    const basis = this.#heartbeats.basisFor(this.#node);
    const verdict = { resourceVersion: this.#resourceVersion, basis, isTakenBack };
    const request = { io, node: this.#node, ...verdict, schedule, nowMs, cause };
    if (sendRequests(request, mustWait ? harmlessChanges(changes) : changes)) this.#step("verdictRequested");
    this.#requests = schedule.nextDueMs() === null ? null : schedule;
  }

  #armReview(evictionFromMs: number | null): void {
    const never = Number.POSITIVE_INFINITY;
    const dueMs = Math.min(this.#requests?.nextDueMs() ?? never, evictionFromMs ?? never);
    if (dueMs < never) this.#context.reviews.schedule(this, dueMs);
    else this.#context.reviews.cancel(this);
  }
}
