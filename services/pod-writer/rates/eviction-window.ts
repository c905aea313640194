/**
 * The evictions of one policy that count against its rates now. Each pod counts once, from its permit until a minute
 * after its eviction, so in no span of a minute more pods are evicted than the rates allow. A permit without an outcome
 * counts as an eviction at its last possible instant. Example: a permit is granted at second 0. If its pod is evicted
 * at second 8, the pod counts until second 68. If no outcome is received, it counts until second 90. Pure state;
 * instants are on the monotonic clock.
 */
import type { Outcome } from "../../../protocols/done.ts";

/** How long an eviction counts, in milliseconds. */
export const WINDOW_MS = 60_000;
/** How long after its grant a permit may be used, in milliseconds. */
export const PERMIT_VALID_MS = 10_000;
/** The last instant after a grant at which the pod may be evicted: the request may be under way for some time. */
export const PERMIT_ENDS_MS = 30_000;

interface Counted {
  readonly namespace: string;
  /** Until when an eviction counts that was made, or may have been; minus infinity for none. */
  evictedUntilMs: number;
  /** Its open permit; null without one. */
  permit: GrantedPermit | null;
}

/** When a permit was granted: for the count, and as published, in epoch milliseconds. */
interface GrantedPermit {
  readonly grantedMs: number;
  readonly grantedAt: number;
}

/** How an attempt to evict a pod ended. */
export interface EvictionOutcome {
  readonly uid: string;
  readonly namespace: string;
  readonly outcome: Outcome;
  /** When the permit that the attempt used was granted, in epoch milliseconds; null for an attempt without one. */
  readonly grantedAt: number | null;
}

/** Outcomes after which a pod is evicted, or may be. */
const EVICTED: ReadonlySet<Outcome> = new Set<Outcome>(["ok", "shadowed", "unknown"]);
/** Outcomes that an eviction by another writer can cause. */
const SHARED: ReadonlySet<Outcome> = new Set<Outcome>(["conflict", "gone"]);

/** A pod that counts, and until when at the latest. */
export interface CountedPod {
  /** Absent where the last owner counted it. */
  readonly uid?: string;
  readonly namespace: string;
  readonly untilMs: number;
}

/** What counts, by pod. */
export class EvictionWindow {
  readonly #pods = new Map<string, Counted>();
  /** What the last owner counted. */
  #inherited: readonly CountedPod[] = [];

  /** How many pods count. */
  get size(): number {
    return this.#pods.size + this.#inherited.length;
  }

  /** Counts what the last owner counted. */
  inherit(counted: readonly CountedPod[]): void {
    this.#inherited = [...this.#inherited, ...counted];
  }

  /** The open permits as they are published. */
  permits(): { readonly uid: string; readonly grantedAt: number }[] {
    return [...this.#pods].flatMap(([uid, { permit }]) =>
      permit === null ? [] : [{ uid, grantedAt: permit.grantedAt }],
    );
  }

  hasPermit(uid: string): boolean {
    return this.#pods.get(uid)?.permit != null;
  }

  /** Records that a pod may be evicted. */
  grant({ uid, namespace }: { readonly uid: string; readonly namespace: string }, permit: GrantedPermit): void {
    const evictedUntilMs = this.#pods.get(uid)?.evictedUntilMs ?? Number.NEGATIVE_INFINITY;
    this.#pods.set(uid, { namespace, evictedUntilMs, permit });
  }

  /**
   * Records how an attempt ended. An eviction always counts. Any other outcome ends only the permit that it names: one
   * that no attempt has used may still be used. While two writers own a shard, both use one permit, and only one of
   * them evicts the pod. So a pod that the other writer has found changed or gone counts until no writer can use that
   * permit any more.
   */
  settle({ uid, namespace, outcome, grantedAt }: EvictionOutcome, nowMs: number): void {
    const known = this.#pods.get(uid);
    if (EVICTED.has(outcome)) {
      if (known === undefined && grantedAt === null) return;
      const evictedUntilMs = Math.max(known?.evictedUntilMs ?? Number.NEGATIVE_INFINITY, nowMs + WINDOW_MS);
      this.#pods.set(uid, { namespace, evictedUntilMs, permit: null });
    } else if (known?.permit?.grantedAt === grantedAt) this.#end(uid, known, SHARED.has(outcome));
  }

  #end(uid: string, pod: Counted, isShared: boolean): void {
    if (isShared && pod.permit !== null) {
      pod.evictedUntilMs = Math.max(pod.evictedUntilMs, pod.permit.grantedMs + PERMIT_ENDS_MS);
    }
    pod.permit = null;
    if (pod.evictedUntilMs === Number.NEGATIVE_INFINITY) this.#pods.delete(uid);
  }

  /** Brings it up to date: permits without an outcome end, and evictions of more than a minute ago are dropped. */
  update(nowMs: number): void {
    this.#inherited = this.#inherited.filter(({ untilMs }) => untilMs > nowMs);
    for (const [uid, pod] of this.#pods) {
      if (pod.permit !== null && nowMs >= pod.permit.grantedMs + PERMIT_ENDS_MS) {
        pod.evictedUntilMs = latestMs(pod);
        pod.permit = null;
      }
      if (pod.permit === null && pod.evictedUntilMs <= nowMs) this.#pods.delete(uid);
    }
  }

  /** Until when each pod counts at the latest, as far as is known now. */
  *counted(): Generator<CountedPod> {
    yield* this.#inherited;
    for (const [uid, pod] of this.#pods) yield { uid, namespace: pod.namespace, untilMs: latestMs(pod) };
  }
}

function latestMs({ evictedUntilMs, permit }: Counted): number {
  return permit === null ? evictedUntilMs : Math.max(evictedUntilMs, permit.grantedMs + PERMIT_ENDS_MS + WINDOW_MS);
}
