/**
 * The pods of rated policies whose eviction was requested and is not done. A pod leaves when its countdown is
 * cancelled, when it is evicted or gone, and when its request is not repeated any more. Pure state; instants whose
 * names end in Ms are on the monotonic clock.
 */
import type { BodyOf } from "../../../protocols/messages.ts";

/** One pod. */
export interface RequestedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly node: string;
  readonly policy: string;
  /** When it was due first, in epoch milliseconds. */
  readonly deadlineAt: number;
  /** Its place among others: when it was due, and after a failed attempt when it may be attempted again. */
  readonly rankAt: number;
  /** From when on it may be attempted again; minus infinity before a failure. */
  readonly retryMs: number;
  readonly requestedMs: number;
}

/** A pod as an owner hands it over to the next. */
export type HandedOverPod = Omit<RequestedPod, "retryMs" | "requestedMs">;

/** Pods by uid. */
export class WaitingPods {
  readonly #pods = new Map<string, RequestedPod>();
  /** How long after its last request a pod is dropped, in milliseconds. */
  readonly #keptMs: number;

  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** Records a request. A repeated one keeps the pod's place. */
  onRequest({ uid, namespace, node, deadlineAt }: BodyOf<"asked.eviction">, policy: string, nowMs: number): void {
    const known = this.#pods.get(uid);
    const before = known?.policy === policy ? known : undefined;
    const firstAt = Math.min(before?.deadlineAt ?? deadlineAt, deadlineAt);
    const hasFailed = before !== undefined && before.retryMs !== Number.NEGATIVE_INFINITY;
    this.#pods.set(uid, {
      uid,
      namespace,
      node,
      policy,
      deadlineAt: firstAt,
      rankAt: hasFailed ? before.rankAt : firstAt,
      retryMs: before?.retryMs ?? Number.NEGATIVE_INFINITY,
      requestedMs: nowMs,
    });
  }

  /** Adds a pod that waited for the last owner, with its place. */
  inherit(pod: HandedOverPod, nowMs: number): void {
    if (this.#pods.has(pod.uid)) return;
    this.#pods.set(pod.uid, { ...pod, retryMs: Number.NEGATIVE_INFINITY, requestedMs: nowMs });
  }

  /** Records that the attempt for a pod failed. Other pods are evicted first until it may be attempted again. */
  failed(uid: string, retryAt: number, retryMs: number): void {
    const pod = this.#pods.get(uid);
    if (pod !== undefined) this.#pods.set(uid, { ...pod, rankAt: retryAt, retryMs });
  }

  /** Records that a pod changed as it was evicted. That is no refusal, so the pod keeps its place. */
  conflicted(uid: string, retryMs: number): void {
    const pod = this.#pods.get(uid);
    if (pod !== undefined) this.#pods.set(uid, { ...pod, retryMs });
  }

  /** Drops a pod. Returns whether it was there. */
  drop(uid: string): boolean {
    return this.#pods.delete(uid);
  }

  dropNode(node: string): void {
    for (const pod of this.#pods.values()) if (pod.node === node) this.#pods.delete(pod.uid);
  }

  /** Drops the pods whose requests are not repeated any more, and those of policies without rates. */
  keep(policies: ReadonlyMap<string, unknown>, nowMs: number): void {
    for (const { uid, policy, requestedMs } of this.#pods.values()) {
      if (!policies.has(policy) || nowMs >= requestedMs + this.#keptMs) this.#pods.delete(uid);
    }
  }

  /** The pods of each policy in order: the one that was due first before the others. */
  byPolicy(): Map<string, RequestedPod[]> {
    const policies = new Map<string, RequestedPod[]>();
    for (const pod of this.#pods.values()) {
      const pods = policies.get(pod.policy);
      if (pods === undefined) policies.set(pod.policy, [pod]);
      else pods.push(pod);
    }
    for (const pods of policies.values()) {
      pods.sort((left, right) => left.rankAt - right.rankAt || (left.uid < right.uid ? -1 : 1));
    }
    return policies;
  }
}
