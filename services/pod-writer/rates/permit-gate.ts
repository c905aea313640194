/**
 * Keeps the evictions of rated policies in one pod-writer waiting until a permit names their pod. A permit is for one
 * attempt: after a failure the pod waits for another. While it waits nothing is read or written for it. An attempt
 * continues without a permit when its pod changes, because the pod may not need to go any more, and when its node
 * leaves the policy.
 */
import type { EvictionPermit } from "../../../protocols/done.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Clock } from "../../../protocols/ports.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { PERMIT_VALID_MS } from "./eviction-window.ts";

/**
 * How long after it has gained a shard a writer uses no permit there, in milliseconds: until then the last owner may
 * use the same ones. If one of the two is refused, the permit goes to another pod, while the other may still evict this
 * one.
 */
export const SHARED_MS = 2_000;

/** An eviction that waits. */
export interface WaitingEviction {
  readonly policy: string;
  readonly uid: string;
  readonly node: string;
  /** When its request was received, on the monotonic clock. */
  readonly receivedMs: number;
  /** The version of the pod that is observed; null while none is. */
  readonly observedVersion: () => string | null;
  /** Attempts the eviction from its beginning; without a permit because something has changed. */
  readonly resume: (permit: EvictionPermit | null) => void;
}

type Waiting = WaitingEviction & { readonly version: string | null };

/** The evictions that wait in this process, and the valid permits. */
export class PermitGate {
  readonly #clock: Pick<Clock, "wallMs" | "monotonicMs">;
  /** When each shard was gained and lost last, on the monotonic clock. */
  readonly #gainedMs = new Map<number, number>();
  readonly #lostMs = new Map<number, number>();
  readonly #waiting = new Map<string, Waiting>();
  /** The permits of each policy as last published: when each was granted, by uid. */
  readonly #permits = new Map<string, ReadonlyMap<string, number>>();
  /** Permits that were used, by uid. */
  readonly #used = new Map<string, number>();

  constructor(clock: Pick<Clock, "wallMs" | "monotonicMs">) {
    this.#clock = clock;
  }

  /** Uses the permit of a pod; null if there is none, or if another writer may use it. */
  use(policy: string, { uid, node }: Pick<WaitingEviction, "uid" | "node">): EvictionPermit | null {
    const gainedMs = this.#gainedMs.get(shardOf(node)) ?? Number.NEGATIVE_INFINITY;
    if (this.#clock.monotonicMs() < gainedMs + SHARED_MS) return null;
    const grantedAt = this.#permits.get(policy)?.get(uid);
    if (grantedAt === undefined || this.#used.get(uid) === grantedAt) return null;
    const permit = { policy, grantedAt };
    if (!this.isValid(permit, policy)) return null;
    this.#used.set(uid, grantedAt);
    return permit;
  }

  /** Whether a permit is still valid: a late one could exceed the rate together with later ones. */
  isValid({ policy, grantedAt }: EvictionPermit, wanted: string): boolean {
    return policy === wanted && Math.abs(this.#clock.wallMs() - grantedAt) < PERMIT_VALID_MS;
  }

  /**
   * Adds an eviction that waits until its pod is permitted or changes. One that was requested before its shard was lost
   * is dropped: its attempt was under way then, and a later request may wait already.
   */
  add(eviction: WaitingEviction): void {
    const lostMs = this.#lostMs.get(shardOf(eviction.node)) ?? Number.NEGATIVE_INFINITY;
    if (eviction.receivedMs < lostMs) return;
    this.#waiting.set(eviction.uid, { ...eviction, version: eviction.observedVersion() });
  }

  /** Applies the permits of a policy. An owner without the Lease grants none, and withdraws none of another owner. */
  onPermits({ policy, permits, lease }: BodyOf<"judged.evictions">): void {
    if (lease !== undefined) return;
    this.#permits.set(policy, new Map(permits.map(({ uid, grantedAt }) => [uid, grantedAt])));
    for (const { uid } of permits) {
      const waiting = this.#waiting.get(uid);
      if (waiting?.policy !== policy) continue;
      const permit = this.use(policy, waiting);
      if (permit !== null) this.#resume(waiting, permit);
    }
    const nowAt = this.#clock.wallMs();
    for (const [uid, grantedAt] of this.#used) if (nowAt - grantedAt >= PERMIT_VALID_MS) this.#used.delete(uid);
  }

  /** Attempts the evictions of a node whose pods have changed. */
  review(node: string): void {
    if (this.#waiting.size === 0) return;
    this.#resumeWhere((waiting) => waiting.node === node && waiting.observedVersion() !== waiting.version);
  }

  /** Attempts the evictions of a node that wait for a policy which does not limit them any more. */
  reviewPolicy(node: string, limitingPolicy: () => string | null): void {
    this.#resumeWhere((waiting) => waiting.node === node && waiting.policy !== limitingPolicy());
  }

  /** Attempts every eviction that waits, because the policies have changed. */
  reviewAll(): void {
    this.#resumeWhere(() => true);
  }

  /** Begins to keep the evictions of a shard. */
  gain(shard: number): void {
    this.#gainedMs.set(shard, this.#clock.monotonicMs());
  }

  /** Forgets the evictions of a shard. */
  drop(shard: number): void {
    this.#lostMs.set(shard, this.#clock.monotonicMs());
    for (const { uid, node } of this.#waiting.values()) if (shardOf(node) === shard) this.#waiting.delete(uid);
  }

  /** An attempt may add its eviction again at once, so those to resume are chosen first. */
  #resumeWhere(isResumed: (waiting: Waiting) => boolean): void {
    for (const waiting of [...this.#waiting.values()].filter(isResumed)) this.#resume(waiting, null);
  }

  #resume(waiting: Waiting, permit: EvictionPermit | null): void {
    this.#waiting.delete(waiting.uid);
    waiting.resume(permit);
  }
}
