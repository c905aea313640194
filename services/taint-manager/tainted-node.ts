/** One node with NoExecute taints and the eviction schedule of each pod on it; `Deadlines` holds the timers. */

import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, ObservedPod, Taint, TaintId } from "../../protocols/objects.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import type { Bus, Io } from "../../protocols/ports.ts";
import type { Freeze, NodeFreeze } from "../domain/freeze.ts";
import { NO_OUTAGES, type OutageTime, type PausedTime } from "../domain/paused-time/outages.ts";
import { taintIdOf } from "../domain/taint-swap.ts";
import {
  bindingAt,
  type CountedTaint,
  type Eviction,
  evictionOf,
  isSwappable,
  type TolerationRules,
  type UnreadableToleration,
  unreadableText,
  unreadableTolerationOf,
} from "../domain/toleration.ts";
import type { Deadlines } from "../structures/deadlines.ts";
import { requestRetries, retryPauseMs } from "../structures/retry-schedule.ts";
import { RecreatedPods } from "./recreated-pods.ts";
import {
  boundMsOf,
  isEvictable,
  isRedated,
  isSameCause,
  type KnownTaint,
  knownTaints,
  type Now,
  onApiTime,
  type ViewHistory,
} from "./taint-manager.policy.ts";
import type { UnreadablePods } from "./unreadable-pods.ts";

type PodJudgement = BodyOf<"judged.pod">;

/** The eviction schedule of one pod. It is small, because there may be a million of them. */
export interface EvictionSchedule {
  readonly node: TaintedNode;
  pod: ObservedPod;
  /** When the pod was bound, on the monotonic clock, so that no step of the wall clock moves a countdown. */
  readonly boundMs: number;
  slot: number;
  /** The taint that decides. */
  taint: Taint;
  /** How long it is tolerated; null if it is not. */
  tolerationSeconds: number | null;
  /** The taint that these seconds belong to, if it is another. */
  toleratedTaint: TaintId | null;
  /** How often the eviction was requested; SETTLED once a writer has reported that the pod is terminating. */
  requests: number;
}

/** The eviction is done, so its end cancels nothing (L28). As a count of requests it gives the longest pause. */
const SETTLED = 2 ** 30;

/** What the tainted nodes of a process share. */
export interface TaintedNodeContext {
  readonly io: Pick<Io, "clock" | "profile"> & { readonly bus: Pick<Bus, "publish"> };
  readonly deadlines: Deadlines<EvictionSchedule>;
  /** Counts the pods that stay because a toleration cannot be read; absent if they are not counted. */
  readonly unreadablePods?: UnreadablePods;
}

/** What its countdowns and evictions depend on besides its taints, its pods and its freezes. */
interface NodeConditions {
  readonly outages?: OutageTime;
  /** The policy of the node, if that limits the rate of evictions. */
  readonly ratedPolicy?: string | null;
}

/** A node from its first NoExecute taint to its last. */
export class TaintedNode {
  readonly name: string;
  readonly #context: TaintedNodeContext;
  readonly #schedules = new Map<string, EvictionSchedule>();
  /** When pods were bound that have no schedule but had one or came after some taint; almost always empty. */
  #boundLate: Map<string, number> | null = null;
  /** When pods with a later stamp were known to be bound, on the API's clock; almost always empty. */
  #boundSeenAt: Map<string, number> | null = null;
  #recreated: RecreatedPods | null = null;
  /** Mirror pods of which it was published that they stay. */
  #kept: Set<string> | null = null;
  /** The pods, by uid, that stay because a toleration cannot be read; almost always empty. */
  readonly #unreadable = new Map<string, UnreadableToleration>();
  #node: ObservedNode;
  #taints: readonly KnownTaint[] = [];
  /** The same on the API's clock, which every message of a pod needs. */
  #taintsOnApiTime: readonly CountedTaint[] = [];
  #freeze: Freeze | null = null;
  /** How tolerations are matched, without and with what pauses countdowns. */
  #running: TolerationRules;
  #paused: TolerationRules & Required<PausedTime>;
  /** The policy of the node, if that limits the rate of evictions. */
  #ratedPolicy: string | null = null;
  #cause: string | null = null;

  constructor(context: TaintedNodeContext, node: ObservedNode) {
    this.#context = context;
    this.#node = node;
    this.name = node.node;
    this.#running = { comparisonOperators: context.io.profile.tolerationComparisonOperators };
    this.#paused = { ...this.#running, frozen: [], outages: NO_OUTAGES };
  }

  get taints(): readonly KnownTaint[] {
    return this.#taints;
  }

  get schedules(): Iterable<EvictionSchedule> {
    return this.#schedules.values();
  }

  /** The taints that decide a countdown now. */
  countedTaints(): ReadonlySet<Taint> {
    const counted = new Set<Taint>();
    for (const { taint, tolerationSeconds } of this.#schedules.values()) {
      if (tolerationSeconds !== null && tolerationSeconds > 0) counted.add(taint);
    }
    return counted;
  }

  /** Whether a schedule is still the one of its pod. */
  has(schedule: EvictionSchedule): boolean {
    return this.#schedules.get(schedule.pod.uid) === schedule;
  }

  /** Updates every schedule from the node's taints and its pods. */
  review(
    node: ObservedNode,
    pods: readonly ObservedPod[],
    {
      frozen = [],
      freeze = null,
      outages = NO_OUTAGES,
      ratedPolicy = null,
      ...seen
    }: Omit<ViewHistory, keyof Now> & Partial<NodeFreeze> & NodeConditions,
    cause: string | null,
  ): void {
    const now = this.#now();
    this.#node = node;
    this.#cause = cause;
    this.#freeze = freeze;
    this.#paused = { ...this.#running, frozen, outages };
    this.#ratedPolicy = ratedPolicy;
    const before = this.#taints;
    this.#taints = knownTaints(node, before, { ...now, ...seen });
    this.#taintsOnApiTime = onApiTime(this.#taints);
    const isCorrection = isRedated(before, this.#taints);
    let scheduled = 0;
    for (const pod of pods) if (this.#reviewPod(pod, now, isCorrection)) scheduled += 1;
    const isAnyLate = this.#boundLate !== null || this.#boundSeenAt !== null;
    const isAnyKept = this.#kept !== null || this.#unreadable.size > 0;
    if (this.#schedules.size > scheduled || isAnyLate || isAnyKept) this.#forgetOthers(pods, now);
  }

  /** Ends what is known of pods that are gone. */
  #forgetOthers(pods: readonly ObservedPod[], now: Now): void {
    const present = new Set(pods.map(({ uid }) => uid));
    for (const [uid, schedule] of this.#schedules) if (!present.has(uid)) this.#endLeaving(schedule, now);
    for (const known of [this.#boundLate, this.#boundSeenAt, this.#kept]) {
      for (const uid of known?.keys() ?? []) if (!present.has(uid)) known?.delete(uid);
    }
    for (const uid of this.#unreadable.keys()) if (!present.has(uid)) this.#release(uid);
  }

  /** Cancels every schedule; the node is gone or has no NoExecute taint left. */
  end(cause: string): void {
    this.#cause = cause;
    const now = this.#now();
    for (const schedule of this.#schedules.values()) this.#cancel(schedule, now);
    for (const uid of this.#unreadable.keys()) this.#release(uid);
  }

  /** Drops every schedule without a message, because another process owns the node now. */
  drop(): void {
    for (const { slot } of this.#schedules.values()) this.#context.deadlines.remove(slot);
    this.#schedules.clear();
    for (const uid of this.#unreadable.keys()) this.#release(uid);
  }

  /** Records that the pod with this uid is terminating. */
  settle(uid: string): void {
    const schedule = this.#schedules.get(uid);
    if (schedule !== undefined) schedule.requests = SETTLED;
  }

  /** Requests the eviction of a pod whose deadline has come; before the first request it publishes `due`. */
  requestEviction(schedule: EvictionSchedule): void {
    const { pod, taint, slot } = schedule;
    if (!this.has(schedule)) return;
    const { io, deadlines } = this.#context;
    // A schedule that waited while the view was blind may have a new deadline, which is still to come.
    if (deadlines.dueAt(slot) !== Number.POSITIVE_INFINITY) return;
    const now = this.#now();
    if (this.#isPaused && (this.#evictionOf(pod, now)?.at ?? 0) > now.monotonicMs) return;
    if (schedule.requests === 0) {
      const pause = this.#recreated?.pauseOf(pod, now) ?? null;
      if (pause !== null) {
        deadlines.set(slot, now.monotonicMs + pause.waitMs);
        this.#publish(schedule, "due", now);
        return;
      }
      this.#recreated ??= new RecreatedPods();
      this.#recreated.onEviction(pod, now);
    }
    const cause = schedule.requests === 0 ? this.#publish(schedule, "due", now) : this.#cause;
    const target = { namespace: pod.namespace, name: pod.name, uid: pod.uid, node: this.#node.node };
    // Pods under a rate are evicted in the order of these instants, which a restart must not change.
    const deadlineAt = this.#ratedPolicy === null ? this.#deadlineAt(schedule, now) : this.#dueSince(schedule, now);
    const decided = { deadlineAt, taint: taintIdOf(taint), timeAdded: taint.timeAdded ?? null };
    const rated = this.#ratedPolicy === null ? {} : { policy: this.#ratedPolicy };
    const boundAt = this.#boundSeenAt?.get(pod.uid);
    const seen = boundAt === undefined ? {} : { boundAt };
    io.bus.publish("asked.eviction", { ...target, mode: "taint", ...decided, ...seen, ...rated }, cause);
    if (schedule.requests !== SETTLED) schedule.requests += 1;
    deadlines.set(slot, now.monotonicMs + retryPauseMs(schedule.requests, requestRetries(io.profile)));
  }

  /** Publishes the judgement of a pod again if another process judged otherwise. Returns whether it has a schedule. */
  correct(other: PodJudgement, cause: string): boolean {
    const schedule = this.#schedules.get(other.uid);
    if (schedule === undefined) return false;
    const own = this.#present(schedule);
    const isSame = own.eviction === other.eviction && own.deadlineAt === other.deadlineAt;
    if (!isSame) this.#context.io.bus.publish("judged.pod", own, cause);
    return true;
  }

  /** Publishes the judgement of a pod again, unless its eviction is done. */
  republish(schedule: EvictionSchedule, cause: string): void {
    if (!this.has(schedule) || schedule.requests === SETTLED) return;
    this.#context.io.bus.publish("judged.pod", this.#present(schedule), cause);
  }

  /** Publishes that a pod's deadline has come while its node is frozen. */
  publishFrozen(schedule: EvictionSchedule): void {
    if (this.has(schedule)) this.#publish(schedule, "due", this.#now());
  }

  #now(): Now {
    const { clock } = this.#context.io;
    // In this order an interruption between the reads makes a deadline late, not early.
    const wallMs = clock.wallMs();
    return { wallMs, monotonicMs: clock.monotonicMs() };
  }

  /**
   * Reviews a pod and returns whether it has a schedule then. After a correction of the clock each deadline is judged
   * again: it is the same moment with another date.
   */
  #reviewPod(pod: ObservedPod, now: Now, isCorrection: boolean): boolean {
    const schedule = this.#schedules.get(pod.uid);
    if (schedule !== undefined && pod.deletionAt !== null) {
      this.#endLeaving(schedule, now);
      return false;
    }
    this.#noteBinding(pod, schedule, now);
    const evictedBy = isEvictable(pod) ? this.#evictionOf(pod, now) : null;
    const eviction = pod.mirror === true ? null : evictedBy;
    if (pod.mirror === true && evictedBy !== null) this.#publishKept(pod, evictedBy.taint);
    this.#countUnreadable(pod, evictedBy);
    if (eviction === null) {
      if (schedule !== undefined) this.#cancel(schedule, now);
      return false;
    }
    if (schedule === undefined) this.#begin(pod, eviction, now);
    else if (!this.#change(schedule, pod, eviction, now) && isCorrection) this.#repeat(schedule, now);
    return true;
  }

  /** Counts a pod that stays because a toleration cannot be read. */
  #countUnreadable(pod: ObservedPod, eviction: Eviction | null): void {
    if (eviction !== null && this.#unreadable.size === 0) return;
    const unreadable = eviction === null && isEvictable(pod) ? this.#unreadableOf(pod) : null;
    const before = this.#unreadable.get(pod.uid);
    if (before === undefined && unreadable === null) return;
    const textOf = (each: UnreadableToleration): string => unreadableText(each.toleration);
    if (before !== undefined && unreadable !== null && textOf(before) === textOf(unreadable)) return;
    this.#release(pod.uid);
    if (unreadable === null) return;
    this.#unreadable.set(pod.uid, unreadable);
    this.#context.unreadablePods?.add(pod, this.name, unreadable);
  }

  #unreadableOf({ tolerations }: ObservedPod): UnreadableToleration | null {
    const taints = this.#taints.map(({ taint }) => taint);
    return unreadableTolerationOf(taints, tolerations, this.#running);
  }

  #release(uid: string): void {
    const unreadable = this.#unreadable.get(uid);
    this.#unreadable.delete(uid);
    if (unreadable !== undefined) this.#context.unreadablePods?.remove(unreadable);
  }

  /**
   * When the pod must leave, on the monotonic clock. Frozen time and outages are known on the API's clock, so what they
   * add to a countdown is taken from there.
   */
  #evictionOf(pod: ObservedPod, now: Now): Eviction | null {
    const running = evictionOf(this.#taints, pod.tolerations, this.#boundMs(pod, now), this.#running);
    if (running === null || !this.#isPaused) return running;
    const paused = this.#evictionOnApiTime(pod, now);
    const own = this.#taints.find(({ taint }) => taint === paused?.taint);
    return paused === null || own === undefined ? running : { ...paused, at: own.since + (paused.at - own.sinceAt) };
  }

  /** Whether countdowns of the node are paused, or were. */
  get #isPaused(): boolean {
    return this.#paused.frozen.length > 0 || this.#paused.outages.intervals.length > 0;
  }

  /** The same on the API's clock. An eviction without a deadline is due now. Infinity means a pause without an end. */
  #deadlineAt({ pod }: EvictionSchedule, now: Now, paused = this.#paused): number {
    const at = this.#evictionOnApiTime(pod, now, paused)?.at ?? Number.NEGATIVE_INFINITY;
    return at === Number.NEGATIVE_INFINITY ? now.wallMs : at;
  }

  /** The same, but an eviction without a deadline is due since its taint began, or since the pod was bound. */
  #dueSince({ pod, taint }: EvictionSchedule, now: Now): number {
    const at = this.#evictionOnApiTime(pod, now)?.at ?? Number.NEGATIVE_INFINITY;
    if (at !== Number.NEGATIVE_INFINITY) return at;
    const sinceAt = this.#taints.find((each) => each.taint === taint)?.sinceAt ?? now.wallMs;
    return Math.min(now.wallMs, Math.max(sinceAt, this.#boundAt(pod, now)));
  }

  #evictionOnApiTime(pod: ObservedPod, now: Now, paused: TolerationRules = this.#paused): Eviction | null {
    return evictionOf(this.#taintsOnApiTime, pod.tolerations, this.#boundAt(pod, now), paused);
  }

  /** Keeps when a pod was bound whose stamp is in the future, or later than the stamp that it had. */
  #noteBinding({ uid, boundAt }: ObservedPod, schedule: EvictionSchedule | undefined, now: Now): void {
    if (this.#boundSeenAt?.has(uid) === true || this.#boundLate?.has(uid) === true) return;
    const seenAt = schedule?.pod.boundAt ?? now.wallMs;
    if (boundAt <= seenAt) return;
    this.#boundSeenAt ??= new Map();
    this.#boundSeenAt.set(uid, seenAt);
  }

  #keepBound(uid: string, boundMs: number): void {
    this.#boundLate ??= new Map();
    this.#boundLate.set(uid, boundMs);
  }

  /** When a pod was bound, on the API's clock. */
  #boundAt(pod: ObservedPod, now: Now): number {
    const seenAt = this.#boundSeenAt?.get(pod.uid) ?? null;
    // A stamp was not in the future when it was first seen, although the clock may have been set back since.
    const nowAt = seenAt === null ? Math.max(pod.boundAt, now.wallMs) : now.wallMs;
    return bindingAt(pod, { seenAt, nowAt });
  }

  #boundMs(pod: ObservedPod, now: Now): number {
    const known = this.#schedules.get(pod.uid)?.boundMs ?? this.#boundLate?.get(pod.uid);
    if (known !== undefined) return known;
    const boundMs = boundMsOf(this.#boundAt(pod, now), this.#taints, now);
    const isLate = this.#taints.some(({ since, lineage }) => boundMs > Math.min(since, lineage?.since ?? since));
    if (isLate) this.#keepBound(pod.uid, boundMs);
    return boundMs;
  }

  #begin(pod: ObservedPod, { at, taint, tolerationSeconds, toleratedTaint }: Eviction, now: Now): void {
    const boundMs = this.#boundMs(pod, now);
    const decided = { taint, tolerationSeconds, toleratedTaint };
    const schedule: EvictionSchedule = { node: this, pod, boundMs, slot: 0, ...decided, requests: 0 };
    schedule.slot = this.#context.deadlines.add(schedule);
    this.#schedules.set(pod.uid, schedule);
    this.#schedule(schedule, at, now);
  }

  /** Follows a change of the pod or its taints. Returns whether there is a new deadline. */
  #change(schedule: EvictionSchedule, pod: ObservedPod, eviction: Eviction, now: Now): boolean {
    const isDue = eviction.at <= now.monotonicMs;
    const isOnTime = schedule.requests === 0 ? this.#context.deadlines.dueAt(schedule.slot) === eviction.at : isDue;
    const isUnchanged = isOnTime && isSameCause(schedule, eviction);
    schedule.pod = pod;
    schedule.taint = eviction.taint;
    schedule.tolerationSeconds = eviction.tolerationSeconds;
    schedule.toleratedTaint = eviction.toleratedTaint;
    if (isUnchanged || (schedule.requests !== 0 && isDue)) return false;
    schedule.requests = 0;
    this.#schedule(schedule, eviction.at, now);
    return true;
  }

  #repeat(schedule: EvictionSchedule, now: Now): void {
    if (schedule.requests === 0) this.#publish(schedule, "pending", now);
  }

  #schedule(schedule: EvictionSchedule, at: number, now: Now): void {
    if (at === Number.POSITIVE_INFINITY) this.#context.deadlines.clear(schedule.slot);
    else this.#context.deadlines.set(schedule.slot, Math.max(at, now.monotonicMs));
    if (at > now.monotonicMs) this.#publish(schedule, "pending", now);
  }

  /** Ends the schedule of a pod that is gone or terminating: cancelled, unless its eviction was requested. */
  #endLeaving(schedule: EvictionSchedule, now: Now): void {
    if (schedule.requests !== 0) schedule.requests = SETTLED;
    this.#cancel(schedule, now);
  }

  /** Ends a schedule. Unless the eviction is done, `none` is published: the pod's Event "Cancelling deletion". */
  #cancel(schedule: EvictionSchedule, now: Now): void {
    const { uid } = schedule.pod;
    this.#context.deadlines.remove(schedule.slot);
    this.#schedules.delete(uid);
    this.#keepBound(uid, schedule.boundMs);
    if (schedule.requests !== SETTLED) this.#publish(schedule, "none", now);
  }

  /**
   * Publishes once that the mirror of a static pod stays: its kubelet creates it again at once, so it would be deleted
   * without end.
   */
  #publishKept(pod: ObservedPod, taint: Taint): void {
    if (this.#kept?.has(pod.uid) === true) return;
    this.#kept ??= new Set();
    this.#kept.add(pod.uid);
    const { namespace, name, uid } = pod;
    const judged = stayingJudgement({ namespace, name, uid, node: this.#node.node });
    this.#context.io.bus.publish("judged.pod", { ...judged, taint: taintIdOf(taint), kept: "mirror" }, this.#cause);
  }

  #publish(schedule: EvictionSchedule, eviction: PodJudgement["eviction"], now: Now): string | null {
    return this.#context.io.bus.publish("judged.pod", this.#judgement(schedule, eviction, now), this.#cause);
  }

  /** The present judgement of a pod. */
  #present(schedule: EvictionSchedule): PodJudgement {
    const now = this.#now();
    const isDue =
      schedule.requests > 0 || (this.#evictionOf(schedule.pod, now)?.at ?? now.monotonicMs) <= now.monotonicMs;
    return this.#judgement(schedule, isDue ? "due" : "pending", now);
  }

  #judgement(schedule: EvictionSchedule, eviction: PodJudgement["eviction"], now: Now): PodJudgement {
    const { namespace, name, uid } = schedule.pod;
    const pod = { namespace, name, uid, node: this.#node.node };
    if (eviction === "none") return stayingJudgement(pod);
    const deadlineAt = finiteOrNull(this.#dueSince(schedule, now));
    const { tolerationSeconds, toleratedTaint } = schedule;
    const judgement = { ...pod, eviction, deadlineAt, taint: taintIdOf(schedule.taint), tolerationSeconds };
    const isHeldBack = this.#freeze !== null || this.#isPaused || this.#recreated !== null;
    if (toleratedTaint === null && !isHeldBack) return judgement;
    return {
      ...judgement,
      ...(toleratedTaint === null ? {} : { toleratedTaint }),
      ...this.#frozenBy(schedule, now),
      ...this.#pause(schedule, eviction, now),
      ...this.#lastOutage(schedule),
    };
  }

  #lastOutage({ taint }: EvictionSchedule): Pick<PodJudgement, "outage"> {
    const last = this.#paused.outages.intervals.at(-1);
    const sinceAt = this.#taints.find((each) => each.taint === taint)?.sinceAt ?? Number.NEGATIVE_INFINITY;
    const isMet = last !== undefined && isSwappable(taint) && (last.toAt ?? Number.POSITIVE_INFINITY) > sinceAt;
    return isMet ? { outage: last } : {};
  }

  /** How long a due pod waits, if its owner creates such pods again on this node. */
  #pause(
    { pod, requests }: EvictionSchedule,
    eviction: PodJudgement["eviction"],
    now: Now,
  ): Pick<PodJudgement, "recreated"> {
    const isDue = eviction === "due" && requests === 0;
    const pause = isDue ? (this.#recreated?.pauseOf(pod, now) ?? null) : null;
    if (pause === null) return {};
    return { recreated: { deletions: pause.deletions, nextAt: now.wallMs + pause.waitMs } };
  }

  /** What freezes the node, and how much of a countdown would be left if the freeze ended now. */
  #frozenBy(schedule: EvictionSchedule, now: Now): Pick<BodyOf<"judged.pod">, "held"> {
    if (this.#freeze === null) return {};
    const outages = { ...NO_OUTAGES, intervals: endedBy(this.#paused.outages.intervals, now.wallMs) };
    const paused = { ...this.#running, frozen: endedBy(this.#paused.frozen, now.wallMs), outages };
    const remainingMs = Math.max(0, this.#deadlineAt(schedule, now, paused) - now.wallMs);
    return { held: { ...this.#freeze, remainingMs } };
  }
}

/** The judgement of a pod that no taint evicts. */
export function stayingJudgement({
  namespace,
  name,
  uid,
  node,
}: Pick<PodJudgement, "namespace" | "name" | "uid" | "node">): PodJudgement {
  return { namespace, name, uid, node, eviction: "none", deadlineAt: null, taint: null, tolerationSeconds: null };
}

function finiteOrNull(at: number): number | null {
  return Number.isFinite(at) ? at : null;
}

/** The parts of the intervals before an instant. */
function endedBy(intervals: readonly FrozenInterval[], at: number): FrozenInterval[] {
  return intervals
    .filter(({ fromAt }) => fromAt < at)
    .map(({ fromAt, toAt }) => ({ fromAt, toAt: Math.min(toAt ?? at, at) }));
}
