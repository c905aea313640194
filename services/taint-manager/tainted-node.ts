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
  type Sight,
} from "./taint-manager.policy.ts";

/** The sentence of one pod. There may be a million of them, so they hold little beside the pod itself. */
export interface Sentence {
  readonly node: TaintedNode;
  pod: ObservedPod;
  /** When the pod was bound, on the monotonic clock as it was then: a step of the wall clock moves no countdown. */
  readonly boundMs: number;
  slot: number;
  /** The taint that decides, and the seconds it is tolerated; null when it is not. */
  taint: Taint;
  tolerationSeconds: number | null;
  /** How often its eviction has been asked for; SETTLED when a writer has told that the pod is on its way out. */
  asked: number;
}

/** A sentence carried out: lifting it cancels nothing (L28). As a count of requests it makes for the longest pause. */
const SETTLED = 2 ** 30;

/** What the tainted nodes of one service share. */
export interface TaintSurroundings {
  readonly io: Pick<Io, "clock" | "profile"> & { readonly bus: Pick<Bus, "publish"> };
  readonly deadlines: Deadlines<Sentence>;
}

/** A node with NoExecute taints. It is made when the first one is seen and ends with the last. */
export class TaintedNode {
  readonly name: string;
  readonly #around: TaintSurroundings;
  readonly #sentences = new Map<string, Sentence>();
  /** When pods without a sentence were bound that came later than some taint, or had one; almost always none. */
  readonly #boundLate = new Map<string, number>();
  #node: ObservedNode;
  #taints: readonly KnownTaint[] = [];
  #cause: string | null = null;

  constructor(around: TaintSurroundings, node: ObservedNode) {
    this.#around = around;
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
    for (const { taint, tolerationSeconds } of this.#sentences.values()) {
      if (tolerationSeconds !== null && tolerationSeconds > 0) counted.add(taint);
    }
    return counted;
  }

  /** Brings every sentence up to date with the node's taints and its pods, as they are seen now. */
  review(node: ObservedNode, pods: readonly ObservedPod[], seen: Omit<Sight, keyof Now>, cause: string): void {
    const now = this.#now();
    this.#node = node;
    this.#cause = cause;
    this.#taints = knownTaints(node, this.#taints, { ...now, ...seen });
    const present = new Set<string>();
    for (const pod of pods) {
      present.add(pod.uid);
      this.#reviewPod(pod, now);
    }
    for (const [uid, sentence] of this.#sentences) if (!present.has(uid)) this.#leave(sentence, now);
    for (const uid of this.#boundLate.keys()) if (!present.has(uid)) this.#boundLate.delete(uid);
  }

  /** Lifts every sentence; the node is gone, or has no NoExecute taint any more. */
  end(cause: string): void {
    this.#cause = cause;
    const now = this.#now();
    for (const sentence of this.#sentences.values()) this.#lift(sentence, now);
  }

  /** Forgets every sentence without a word; another process minds the node now. */
  drop(): void {
    for (const { slot } of this.#sentences.values()) this.#around.deadlines.remove(slot);
    this.#sentences.clear();
  }

  /** Takes word that the pod of this uid is on its way out. */
  settle(uid: string): void {
    const sentence = this.#sentences.get(uid);
    if (sentence !== undefined) sentence.asked = SETTLED;
  }

  /** Asks for the eviction of a pod whose deadline has come, the first time with the sentence that says so. */
  execute(sentence: Sentence): void {
    const { pod, taint, slot } = sentence;
    if (this.#sentences.get(pod.uid) !== sentence) return;
    const { io, deadlines } = this.#around;
    // While it was held back, because nothing could be seen, it got another deadline: that one will come.
    if (deadlines.dueAt(slot) !== Number.POSITIVE_INFINITY) return;
    const now = this.#now();
    const cause = sentence.asked === 0 ? this.#tell(sentence, "now", now) : this.#cause;
    const target = { namespace: pod.namespace, name: pod.name, uid: pod.uid, node: this.#node.node };
    const deadlineAt = this.#deadlineAt(sentence, now);
    const decided = { deadlineAt, taint: idOf(taint), timeAdded: taint.timeAdded ?? null };
    io.bus.publish("asked.eviction", { ...target, mode: "taint", ...decided }, cause);
    if (sentence.asked !== SETTLED) sentence.asked += 1;
    deadlines.set(slot, now.monotonicMs + retryPauseMs(sentence.asked, requestRetries(io.profile)));
  }

  #now(): Now {
    const { clock } = this.#around.io;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }

  #reviewPod(pod: ObservedPod, now: Now): void {
    const sentence = this.#sentences.get(pod.uid);
    if (sentence !== undefined && pod.deletionAt !== null) {
      this.#leave(sentence, now);
      return;
    }
    const eviction = isEvictable(pod) ? this.#evictionOf(pod, now) : null;
    if (eviction === null) {
      if (sentence !== undefined) this.#lift(sentence, now);
      return;
    }
    if (sentence === undefined) this.#pass(pod, eviction, now);
    else this.#change(sentence, pod, eviction, now);
  }

  /** When the pod has to leave, on the monotonic clock. */
  #evictionOf(pod: ObservedPod, now: Now): Eviction | null {
    return this.#weigh(this.#taints, pod, this.#boundMs(pod, now));
  }

  /** The same as the API's own stamps have it; what has to happen at once has no other deadline than now. */
  #deadlineAt({ pod }: Sentence, now: Now): number {
    const at = this.#weigh(onApiTime(this.#taints), pod, pod.boundAt)?.at ?? Number.NEGATIVE_INFINITY;
    return Number.isFinite(at) ? at : now.wallMs;
  }

  #weigh(taints: readonly StandingTaint[], pod: ObservedPod, boundAt: number): Eviction | null {
    const { tolerationComparisonOperators } = this.#around.io.profile;
    return evictionOf(taints, pod.tolerations, boundAt, { comparisonOperators: tolerationComparisonOperators });
  }

  #boundMs(pod: ObservedPod, now: Now): number {
    const known = this.#sentences.get(pod.uid)?.boundMs ?? this.#boundLate.get(pod.uid);
    if (known !== undefined) return known;
    const boundMs = boundMsOf(pod.boundAt, this.#taints, now);
    const isLate = this.#taints.some(({ since, line }) => boundMs > Math.min(since, line?.since ?? since));
    if (isLate) this.#boundLate.set(pod.uid, boundMs);
    return boundMs;
  }

  #pass(pod: ObservedPod, { at, taint, tolerationSeconds }: Eviction, now: Now): void {
    const boundMs = this.#boundMs(pod, now);
    const sentence: Sentence = { node: this, pod, boundMs, slot: 0, taint, tolerationSeconds, asked: 0 };
    sentence.slot = this.#around.deadlines.add(sentence);
    this.#sentences.set(pod.uid, sentence);
    this.#schedule(sentence, at, now);
  }

  #change(sentence: Sentence, pod: ObservedPod, eviction: Eviction, now: Now): void {
    const isDue = eviction.at <= now.monotonicMs;
    const isOnTime = sentence.asked === 0 ? this.#around.deadlines.dueAt(sentence.slot) === eviction.at : isDue;
    const isUnchanged = isOnTime && isSameCause(sentence, eviction);
    sentence.pod = pod;
    sentence.taint = eviction.taint;
    sentence.tolerationSeconds = eviction.tolerationSeconds;
    if (isUnchanged || (sentence.asked !== 0 && isDue)) return;
    sentence.asked = 0;
    this.#schedule(sentence, eviction.at, now);
  }

  #schedule(sentence: Sentence, at: number, now: Now): void {
    this.#around.deadlines.set(sentence.slot, Math.max(at, now.monotonicMs));
    if (at > now.monotonicMs) this.#tell(sentence, "deadline", now);
  }

  /** Ends the sentence of a pod that is gone or on its way out: lifted, unless it is we who asked for that. */
  #leave(sentence: Sentence, now: Now): void {
    if (sentence.asked !== 0) sentence.asked = SETTLED;
    this.#lift(sentence, now);
  }

  /** Takes a sentence back. When it was not carried out, that is told, and becomes the pod's "Cancelling deletion". */
  #lift(sentence: Sentence, now: Now): void {
    const { uid } = sentence.pod;
    this.#around.deadlines.remove(sentence.slot);
    this.#sentences.delete(uid);
    this.#boundLate.set(uid, sentence.boundMs);
    if (sentence.asked !== SETTLED) this.#tell(sentence, "none", now);
  }

  #tell(sentence: Sentence, kind: BodyOf<"judged.pod">["sentence"], now: Now): string | null {
    const { namespace, name, uid } = sentence.pod;
    const pod = { namespace, name, uid, node: this.#node.node, sentence: kind };
    const decided =
      kind === "none"
        ? { deadlineAt: null, taint: null, tolerationSeconds: null }
        : {
            deadlineAt: this.#deadlineAt(sentence, now),
            taint: idOf(sentence.taint),
            tolerationSeconds: sentence.tolerationSeconds,
          };
    return this.#around.io.bus.publish("judged.pod", { ...pod, ...decided }, this.#cause);
  }
}

function idOf({ key, effect }: Taint) {
  return { key, effect };
}
