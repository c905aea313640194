/** One node that carries NoExecute taints, and the sentence of each pod on it. It keeps no timer of its own. */

import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, ObservedPod, Taint } from "../../protocols/objects.ts";
import type { Bus, Io } from "../../protocols/ports.ts";
import { type Eviction, evictionOf, type StandingTaint } from "../domain/toleration.ts";
import type { Deadlines } from "../platform/structures/deadlines.ts";
import { requestRetries, retryPauseMs } from "../platform/structures/retry-schedule.ts";
import {
  boundMsOf,
  isEvictable,
  isSameCause,
  type KnownTaint,
  knownTaints,
  type Now,
  onApiTime,
  type ViewHistory,
} from "./taint-manager.policy.ts";

/** The sentence of one pod. There may be a million of them, so they hold little beside the pod itself. */
export interface EvictionSchedule {
  readonly node: TaintedNode;
  pod: ObservedPod;
  /** When the pod was bound, on the monotonic clock as it was then: a step of the wall clock moves no countdown. */
  readonly boundMs: number;
  slot: number;
  /** The taint that decides, and the seconds it is tolerated; null when it is not. */
  taint: Taint;
  tolerationSeconds: number | null;
  /** How often its eviction has been asked for; SETTLED when a writer has told that the pod is on its way out. */
  requests: number;
}

/** A sentence carried out: lifting it cancels nothing (L28). As a count of requests it makes for the longest pause. */
const SETTLED = 2 ** 30;

/** What the tainted nodes of one service share. */
export interface TaintedNodeContext {
  readonly io: Pick<Io, "clock" | "profile"> & { readonly bus: Pick<Bus, "publish"> };
  readonly deadlines: Deadlines<EvictionSchedule>;
}

/** A node with NoExecute taints. It is made when the first one is seen and ends with the last. */
export class TaintedNode {
  readonly name: string;
  readonly #context: TaintedNodeContext;
  readonly #schedules = new Map<string, EvictionSchedule>();
  /** When pods without a sentence were bound that came later than some taint, or had one; almost always none. */
  readonly #boundLate = new Map<string, number>();
  #node: ObservedNode;
  #taints: readonly KnownTaint[] = [];
  #cause: string | null = null;

  constructor(context: TaintedNodeContext, node: ObservedNode) {
    this.#context = context;
    this.#node = node;
    this.name = node.node;
  }

  /** The taints with the instants they count from. */
  get taints(): readonly KnownTaint[] {
    return this.#taints;
  }

  /** The taints on which a countdown rests now. */
  countedTaints(): ReadonlySet<Taint> {
    const counted = new Set<Taint>();
    for (const { taint, tolerationSeconds } of this.#schedules.values()) {
      if (tolerationSeconds !== null && tolerationSeconds > 0) counted.add(taint);
    }
    return counted;
  }

  /** Brings every sentence up to date with the node's taints and its pods, as they are seen now. */
  review(node: ObservedNode, pods: readonly ObservedPod[], seen: Omit<ViewHistory, keyof Now>, cause: string): void {
    const now = this.#now();
    this.#node = node;
    this.#cause = cause;
    this.#taints = knownTaints(node, this.#taints, { ...now, ...seen });
    const present = new Set<string>();
    for (const pod of pods) {
      present.add(pod.uid);
      this.#reviewPod(pod, now);
    }
    for (const [uid, sentence] of this.#schedules) if (!present.has(uid)) this.#endLeaving(sentence, now);
    for (const uid of this.#boundLate.keys()) if (!present.has(uid)) this.#boundLate.delete(uid);
  }

  /** Lifts every sentence; the node is gone, or has no NoExecute taint any more. */
  end(cause: string): void {
    this.#cause = cause;
    const now = this.#now();
    for (const schedule of this.#schedules.values()) this.#cancel(schedule, now);
  }

  /** Forgets every sentence without a word; another process minds the node now. */
  drop(): void {
    for (const { slot } of this.#schedules.values()) this.#context.deadlines.remove(slot);
    this.#schedules.clear();
  }

  /** Takes word that the pod of this uid is on its way out. */
  settle(uid: string): void {
    const schedule = this.#schedules.get(uid);
    if (schedule !== undefined) schedule.requests = SETTLED;
  }

  /** Asks for the eviction of a pod whose deadline has come, the first time with the sentence that says so. */
  requestEviction(schedule: EvictionSchedule): void {
    const { pod, taint, slot } = schedule;
    if (this.#schedules.get(pod.uid) !== schedule) return;
    const { io, deadlines } = this.#context;
    // While it was held back, because nothing could be seen, it got another deadline: that one will come.
    if (deadlines.dueAt(slot) !== Number.POSITIVE_INFINITY) return;
    const now = this.#now();
    const cause = schedule.requests === 0 ? this.#publish(schedule, "due", now) : this.#cause;
    const target = { namespace: pod.namespace, name: pod.name, uid: pod.uid, node: this.#node.node };
    const deadlineAt = this.#deadlineAt(schedule, now);
    const decided = { deadlineAt, taint: idOf(taint), timeAdded: taint.timeAdded ?? null };
    io.bus.publish("asked.eviction", { ...target, mode: "taint", ...decided }, cause);
    if (schedule.requests !== SETTLED) schedule.requests += 1;
    deadlines.set(slot, now.monotonicMs + retryPauseMs(schedule.requests, requestRetries(io.profile)));
  }

  #now(): Now {
    const { clock } = this.#context.io;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }

  #reviewPod(pod: ObservedPod, now: Now): void {
    const schedule = this.#schedules.get(pod.uid);
    if (schedule !== undefined && pod.deletionAt !== null) {
      this.#endLeaving(schedule, now);
      return;
    }
    const eviction = isEvictable(pod) ? this.#evictionOf(pod, now) : null;
    if (eviction === null) {
      if (schedule !== undefined) this.#cancel(schedule, now);
      return;
    }
    if (schedule === undefined) this.#begin(pod, eviction, now);
    else this.#change(schedule, pod, eviction, now);
  }

  /** When the pod has to leave, on the monotonic clock. */
  #evictionOf(pod: ObservedPod, now: Now): Eviction | null {
    return this.#evictionUnder(this.#taints, pod, this.#boundMs(pod, now));
  }

  /** The same as the API's own stamps have it; what has to happen at once has no other deadline than now. */
  #deadlineAt({ pod }: EvictionSchedule, now: Now): number {
    const at = this.#evictionUnder(onApiTime(this.#taints), pod, pod.boundAt)?.at ?? Number.NEGATIVE_INFINITY;
    return Number.isFinite(at) ? at : now.wallMs;
  }

  #evictionUnder(taints: readonly StandingTaint[], pod: ObservedPod, boundAt: number): Eviction | null {
    const { tolerationComparisonOperators } = this.#context.io.profile;
    return evictionOf(taints, pod.tolerations, boundAt, { comparisonOperators: tolerationComparisonOperators });
  }

  #boundMs(pod: ObservedPod, now: Now): number {
    const known = this.#schedules.get(pod.uid)?.boundMs ?? this.#boundLate.get(pod.uid);
    if (known !== undefined) return known;
    const boundMs = boundMsOf(pod.boundAt, this.#taints, now);
    const isLate = this.#taints.some(({ since, lineage }) => boundMs > Math.min(since, lineage?.since ?? since));
    if (isLate) this.#boundLate.set(pod.uid, boundMs);
    return boundMs;
  }

  #begin(pod: ObservedPod, { at, taint, tolerationSeconds }: Eviction, now: Now): void {
    const boundMs = this.#boundMs(pod, now);
    const schedule: EvictionSchedule = { node: this, pod, boundMs, slot: 0, taint, tolerationSeconds, requests: 0 };
    schedule.slot = this.#context.deadlines.add(schedule);
    this.#schedules.set(pod.uid, schedule);
    this.#schedule(schedule, at, now);
  }

  #change(schedule: EvictionSchedule, pod: ObservedPod, eviction: Eviction, now: Now): void {
    const isDue = eviction.at <= now.monotonicMs;
    const isOnTime = schedule.requests === 0 ? this.#context.deadlines.dueAt(schedule.slot) === eviction.at : isDue;
    const isUnchanged = isOnTime && isSameCause(schedule, eviction);
    schedule.pod = pod;
    schedule.taint = eviction.taint;
    schedule.tolerationSeconds = eviction.tolerationSeconds;
    if (isUnchanged || (schedule.requests !== 0 && isDue)) return;
    schedule.requests = 0;
    this.#schedule(schedule, eviction.at, now);
  }

  #schedule(schedule: EvictionSchedule, at: number, now: Now): void {
    this.#context.deadlines.set(schedule.slot, Math.max(at, now.monotonicMs));
    if (at > now.monotonicMs) this.#publish(schedule, "pending", now);
  }

  /** Ends the sentence of a pod that is gone or on its way out: lifted, unless it is we who asked for that. */
  #endLeaving(schedule: EvictionSchedule, now: Now): void {
    if (schedule.requests !== 0) schedule.requests = SETTLED;
    this.#cancel(schedule, now);
  }

  /** Takes a sentence back. When it was not carried out, that is told, and becomes the pod's "Cancelling deletion". */
  #cancel(schedule: EvictionSchedule, now: Now): void {
    const { uid } = schedule.pod;
    this.#context.deadlines.remove(schedule.slot);
    this.#schedules.delete(uid);
    this.#boundLate.set(uid, schedule.boundMs);
    if (schedule.requests !== SETTLED) this.#publish(schedule, "none", now);
  }

  #publish(schedule: EvictionSchedule, eviction: BodyOf<"judged.pod">["eviction"], now: Now): string | null {
    const { namespace, name, uid } = schedule.pod;
    const pod = { namespace, name, uid, node: this.#node.node, eviction: eviction };
    const decided =
      eviction === "none"
        ? { deadlineAt: null, taint: null, tolerationSeconds: null }
        : {
            deadlineAt: this.#deadlineAt(schedule, now),
            taint: idOf(schedule.taint),
            tolerationSeconds: schedule.tolerationSeconds,
          };
    return this.#context.io.bus.publish("judged.pod", { ...pod, ...decided }, this.#cause);
  }
}

function idOf({ key, effect }: Taint) {
  return { key, effect };
}
