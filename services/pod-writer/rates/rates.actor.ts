/**
 * The rates of evictions, over all nodes of a policy. Their pods are evicted by many processes, but a rate counts them
 * all, so one actor of the fleet decides: the one in the process that owns shard 0 of the pod-writer service.
 *
 *   asked.eviction ──▶ waiting-pods ──▶ rates.actor ──judged.evictions──▶ permit-gate ──▶ eviction ──▶ done.write
 *   judged.pod         (which, and     (which may go now)                (every pod-writer)               │
 *                       since when)          ▲──────────── eviction-window (how many went) ◀──────────────┘
 *
 * A bus that is split has an owner on each side. So an owner permits evictions only while it holds a Lease at the API
 * server (permit-lease.ts). Nothing else at the API server shows which pods were evicted in the last minute, so an
 * owner that leaves hands its count over in the Lease (handover.ts). If it did not, the next owner permits no pod until
 * the permits of others have ended and their evictions are a minute old. The first start ever does not wait: no process
 * has held the Lease, and the memory of limits, which outlives a deleted Lease, exists and is empty (first-start.ts).
 */
import { EVICTION_QUEUE_PUBLISHED_MAX } from "../../../protocols/judged.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { NodePolicy, PolicySet } from "../../../protocols/policy-set.ts";
import type { Io, LastHolder, Stop, Timer } from "../../../protocols/ports.ts";
import { type EvictionRates, evictionRatesOf } from "../../domain/eviction-rates.ts";
import { frozenAt, mergedIntervals } from "../../domain/paused-time/frozen-time.ts";
import { type ExpectedEviction, evictionOrder } from "./eviction-order.policy.ts";
import { EvictionWindow, PERMIT_ENDS_MS, WINDOW_MS } from "./eviction-window.ts";
import { FirstStart } from "./first-start.ts";
import { type HandedOverRate, handedOver, handoverText } from "./handover.ts";
import { PermitLease } from "./permit-lease.ts";
import { type RequestedPod, WaitingPods } from "./waiting-pods.ts";

/** How long an owner without the count permits no pod, in milliseconds. */
const SETTLE_MS = PERMIT_ENDS_MS + WINDOW_MS;
/** Changes within this time lead to one round, in milliseconds. */
const ROUND_MS = 100;
/** How often everything is published again, in milliseconds. */
const REPEAT_MS = 1_000;
/** How much longer than the longest interval of requests a pod waits without one, in milliseconds. */
const UNREPEATED_MS = 10_000;

interface RatedPolicy {
  rates: EvictionRates;
  readonly window: EvictionWindow;
  /** Since when its evictions are counted completely. */
  countedMs: number;
}

/** What an owner publishes about one policy. */
type Announced = BodyOf<"judged.evictions">;

/** Decides for all policies with rates while this process is the owner. */
export class EvictionRatesActor {
  readonly #io: Io;
  readonly #waiting: WaitingPods;
  readonly #policies = new Map<string, RatedPolicy>();
  readonly #published = new Map<string, string>();
  readonly #lease: PermitLease;
  #isOwner = false;
  /** Whether this owner has held the Lease since it became the owner, and has counted since. */
  #hasCounted = false;
  readonly #firstStart: FirstStart;
  #stops: readonly Stop[] = [];
  #timer: Timer | null = null;
  #timerMs = Number.POSITIVE_INFINITY;
  #repeatMs = 0;

  constructor(io: Io) {
    this.#io = io;
    this.#waiting = new WaitingPods(2 * io.profile.askRetryMaxMs + UNREPEATED_MS);
    this.#firstStart = new FirstStart(io.kube, () => this.#countFromStart());
    this.#lease = new PermitLease({
      io,
      acquired: (last) => this.#onLeaseAcquired(last),
      handover: () => handoverText(this.#rates(), this.#io.profile.bounds, this.#now()),
    });
  }

  own(): void {
    this.#isOwner = true;
    this.#firstStart.own();
    this.#lease.own();
    this.onPolicies();
  }

  disown(): void {
    this.#isOwner = false;
    this.#lease.disown();
    this.#end();
  }

  /** Applies the policies in force. A policy that gets its first rate is counted from then on. */
  onPolicies(): void {
    const set = this.#io.policies.current();
    if (!this.#isOwner || set === null) return;
    const nowMs = this.#now();
    const rated = new Map(set.policies.flatMap((policy) => ratedEntry(policy)));
    for (const name of this.#policies.keys()) {
      if (rated.has(name)) continue;
      this.#policies.delete(name);
      this.#published.delete(name);
    }
    for (const [name, rates] of rated) {
      const known = this.#policies.get(name);
      if (known !== undefined) known.rates = rates;
      else this.#policies.set(name, { rates, window: new EvictionWindow(), countedMs: nowMs });
    }
    this.#firstStart.policies(this.#policies.size > 0);
    if (this.#policies.size === 0) this.#end();
    else this.#begin();
  }

  #begin(): void {
    if (this.#stops.length === 0) {
      const { bus, profile } = this.#io;
      this.#lease.want(true);
      this.#stops = [
        bus.subscribe("asked.eviction", "all", ({ body }) => this.#onRequest(body)),
        bus.subscribe("done.write", "all", ({ body }) => this.#settle(body)),
        profile.evictionMode === "direct"
          ? bus.subscribe("judged.node", "all", ({ body: { node, eviction } }) => {
              if (eviction !== "evicted") this.#waiting.dropNode(node);
            })
          : bus.subscribe("judged.pod", "all", ({ body: { uid, eviction, held } }) => {
              if (eviction !== "due" || held !== undefined) this.#leave(uid);
            }),
      ];
    }
    this.#wake(ROUND_MS);
  }

  #end(): void {
    this.#lease.want(false);
    this.#hasCounted = false;
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#timer?.cancel();
    this.#timer = null;
    this.#timerMs = Number.POSITIVE_INFINITY;
    this.#policies.clear();
    this.#published.clear();
    this.#waiting.keep(this.#policies, 0);
  }

  #onRequest(body: BodyOf<"asked.eviction">): void {
    const { policy, uid } = body;
    if (policy === undefined || !this.#policies.has(policy)) this.#leave(uid);
    else {
      this.#waiting.onRequest(body, policy, this.#now());
      this.#wake(ROUND_MS);
    }
  }

  #leave(uid: string): void {
    if (this.#waiting.drop(uid)) this.#wake(ROUND_MS);
  }

  #settle({ ask, uid, namespace, outcome, permit, retrying, retryAt }: BodyOf<"done.write">): void {
    if (ask !== "asked.eviction") return;
    const { clock } = this.#io;
    for (const [name, { window }] of this.#policies) {
      const grantedAt = permit?.policy === name ? permit.grantedAt : null;
      window.settle({ uid, namespace, outcome, grantedAt }, this.#now());
    }
    if (retrying && retryAt !== undefined) {
      const retryMs = this.#now() + Math.max(0, retryAt - clock.wallMs());
      if (outcome === "conflict") this.#waiting.conflicted(uid, retryMs);
      else this.#waiting.failed(uid, retryAt, retryMs);
    } else this.#waiting.drop(uid);
    this.#wake(ROUND_MS);
  }

  /** Continues the count of the last holder where it is known. A policy without one is counted from now on. */
  #onLeaseAcquired(last: LastHolder): void {
    const nowMs = this.#now();
    const isContinued = last.kind === "self" && this.#hasCounted;
    this.#hasCounted = true;
    if (isContinued) return;
    const rates = last.kind === "released" ? handedOver(last.handover, nowMs) : [];
    for (const [name, policy] of this.#policies) {
      const before = rates.find((each) => each.policy === name);
      policy.countedMs = before === undefined ? nowMs : before.countedMs;
      policy.window.inherit(before?.counted ?? []);
      for (const pod of before?.waiting ?? []) this.#waiting.inherit(pod, nowMs);
    }
    this.#firstStart.lease(last.kind === "none");
    this.#wake(ROUND_MS);
  }

  /** Counts from before the start: nothing was evicted then. */
  #countFromStart(): void {
    for (const policy of this.#policies.values())
      policy.countedMs = Math.min(policy.countedMs, this.#now() - SETTLE_MS);
    this.#wake(ROUND_MS);
  }

  /**
   * What is known about each rate now. The eviction of a pod that is attempted or was refused is requested again
   * anyway.
   */
  #rates(): HandedOverRate[] {
    const waiting = this.#waiting.byPolicy();
    return [...this.#policies].map(([policy, { window, countedMs }]) => ({
      policy,
      countedMs,
      counted: [...window.counted()],
      waiting: (waiting.get(policy) ?? []).filter(({ uid, retryMs }) => !window.hasPermit(uid) && retryMs < 0),
    }));
  }

  #now(): number {
    return this.#io.clock.monotonicMs();
  }

  /** Decides within so many milliseconds. */
  #wake(withinMs: number): void {
    const dueMs = this.#now() + withinMs;
    if (this.#policies.size === 0 || dueMs >= this.#timerMs) return;
    this.#timer?.cancel();
    this.#timerMs = dueMs;
    this.#timer = this.#io.clock.after(withinMs, () => {
      this.#timerMs = Number.POSITIVE_INFINITY;
      this.#decide();
    });
  }

  #decide(): void {
    const nowMs = this.#now();
    const isRepeated = nowMs >= this.#repeatMs;
    if (isRepeated) this.#repeatMs = nowMs + REPEAT_MS;
    const set = this.#io.policies.current();
    this.#waiting.keep(this.#policies, nowMs);
    const waiting = this.#waiting.byPolicy();
    let nextMs = nowMs + REPEAT_MS;
    for (const [name, policy] of this.#policies) {
      const pods = this.#isFrozen(name, set) ? [] : (waiting.get(name) ?? []);
      const round = this.#round(name, policy, { pods, nowMs });
      this.#publish(round.announced, isRepeated);
      nextMs = Math.min(nextMs, round.nextMs);
    }
    this.#wake(nextMs > nowMs ? nextMs - nowMs : ROUND_MS);
  }

  #isFrozen(name: string, set: PolicySet | null): boolean {
    const policy = set?.policies.find((each) => each.name === name);
    if (set === null || policy === undefined) return true;
    const frozen = [...policy.frozen, ...set.everywhere.frozen];
    return frozen.length > 0 && frozenAt(mergedIntervals(frozen), this.#io.clock.wallMs()) !== null;
  }

  /** Permits the pods that are due. Returns what to publish, and when the next pod may be evicted. */
  #round(
    name: string,
    { rates, window, countedMs }: RatedPolicy,
    { pods, nowMs }: { readonly pods: readonly RequestedPod[]; readonly nowMs: number },
  ): { readonly announced: Announced; readonly nextMs: number } {
    window.update(nowMs);
    const unpermitted = pods.filter(({ uid }) => !window.hasPermit(uid));
    const waiting = unpermitted.filter(({ retryMs }) => retryMs <= nowMs);
    const retries = unpermitted.map(({ retryMs }) => retryMs).filter((retryMs) => retryMs > nowMs);
    const isHolder = this.#lease.isHeld();
    const fromMs = isHolder ? Math.max(nowMs, countedMs + SETTLE_MS) : Number.POSITIVE_INFINITY;
    const queue: ExpectedEviction<RequestedPod>[] = [];
    let permitsLeft = this.#io.profile.bounds.evictionPermitsMax - window.permits().length;
    let granted = 0;
    const counted = [...window.counted()];
    for (const expected of evictionOrder({ rates, waiting, counted, fromMs })) {
      if (expected.atMs <= nowMs && permitsLeft > 0) {
        window.grant(expected.pod, { grantedMs: nowMs, grantedAt: this.#io.clock.wallMs() });
        permitsLeft -= 1;
        granted += 1;
      } else if (queue.length < EVICTION_QUEUE_PUBLISHED_MAX) queue.push(expected);
      else break;
    }
    const announced = this.#announcement(
      name,
      { window, queue, waiting: waiting.length - granted, pods: waiting },
      nowMs,
    );
    const nextMs = Math.min(queue[0]?.atMs ?? Number.POSITIVE_INFINITY, ...retries);
    return { announced, nextMs };
  }

  #announcement(
    policy: string,
    found: {
      readonly window: EvictionWindow;
      readonly queue: readonly ExpectedEviction<RequestedPod>[];
      readonly waiting: number;
      readonly pods: readonly RequestedPod[];
    },
    nowMs: number,
  ): Announced {
    const { window, queue, waiting, pods } = found;
    const nowAt = this.#io.clock.wallMs();
    const at = (ms: number): number => Math.round(nowAt + (ms - nowMs));
    const isHolder = this.#lease.isHeld();
    const left = pods.filter(({ uid }) => !window.hasPermit(uid)).map(({ deadlineAt }) => deadlineAt);
    return {
      policy,
      inWindow: window.size,
      waiting,
      oldestDeadlineAt: left.length === 0 ? null : left.reduce((oldest, each) => Math.min(oldest, each)),
      permits: window.permits(),
      queue: queue.map(({ pod: { uid }, field, atMs }) => ({
        uid,
        field,
        expectedAt: Number.isFinite(atMs) ? at(atMs) : null,
      })),
      ...(isHolder ? {} : { lease: { holder: this.#lease.holder() } }),
    };
  }

  #publish(announced: Announced, isRepeated: boolean): void {
    const text = JSON.stringify(announced);
    if (!isRepeated && this.#published.get(announced.policy) === text) return;
    this.#published.set(announced.policy, text);
    this.#io.bus.publish("judged.evictions", announced, null);
  }
}

function ratedEntry(policy: NodePolicy): [string, EvictionRates][] {
  const rates = evictionRatesOf(policy);
  return rates === null ? [] : [[policy.name, rates]];
}
