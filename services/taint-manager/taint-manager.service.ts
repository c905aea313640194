/**
 * The taint-manager: schedules the eviction of pods from nodes with NoExecute taints, as kube-controller-manager's
 * taint-eviction-controller does. Decisions are in taint-manager.policy.ts.
 */
import type { Outcome } from "../../protocols/done.ts";
import type { BodyOf, Message } from "../../protocols/messages.ts";
import { Annotation } from "../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import type { Io, Service, Stop, Timer } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { type NodeFreeze, nodeFreezeOf } from "../domain/freeze.ts";
import { ratedPolicyOf } from "../domain/node-policy.ts";
import { nodeOutagesOf } from "../domain/paused-time/outages.ts";
import { noExecuteTaints } from "../domain/toleration.ts";
import { Republishing } from "../platform/shard-view/republishing.ts";
import { feedShard, type ShardFeed } from "../platform/shard-view/shard-feed.ts";
import { Deadlines } from "../structures/deadlines.ts";
import { RetrySchedule, requestRetries } from "../structures/retry-schedule.ts";
import { OtherOwnerJudgements } from "./other-owner-judgements.ts";
import {
  contradictedForMs,
  type KnownTaint,
  type Now,
  startsToWrite,
  type ViewHistory,
} from "./taint-manager.policy.ts";
import { type EvictionSchedule, stayingJudgement, TaintedNode, type TaintedNodeContext } from "./tainted-node.ts";
import { UnreadablePods } from "./unreadable-pods.ts";

/** The start of the source of a ledger, in any process: no other service keeps the deadlines of pods. */
const LEDGER_PREFIX = "ledger@";

/** Outcomes after which the pod-writer has nothing left to do about a pod. */
const SETTLING: readonly Outcome[] = ["ok", "gone", "shadowed"];

/** Requests the eviction of pods when their deadlines come. Does nothing in direct mode, where taints evict no pods. */
export const taintManagerService: Service = (io) => {
  if (io.profile.evictionMode !== "taint") return () => {};
  const shards = new Map<number, TaintShard>();
  const fire = (schedule: EvictionSchedule): void => shards.get(shardOf(schedule.node.name))?.requestEviction(schedule);
  const deadlines = new Deadlines<EvictionSchedule>({ clock: io.clock, fire });
  const unreadablePods = new UnreadablePods(io);
  const lose = (shard: number): void => {
    shards.get(shard)?.stop();
    shards.delete(shard);
  };
  const stops = [
    io.fleet.follow("taint-manager", {
      gained: (shard) => shards.set(shard, new TaintShard(io, shard, { io, deadlines, unreadablePods })),
      lost: lose,
    }),
    io.policies.follow((cause) => {
      for (const shard of shards.values()) shard.onPolicies(cause);
    }),
    io.bus.onGap((type, shard) => {
      if (type.startsWith("observed.")) shards.get(shard)?.markSuspect("messages were lost");
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    for (const shard of shards.keys()) lose(shard);
    deadlines.stop();
  };
};

class TaintShard {
  readonly #io: Io;
  readonly #context: TaintedNodeContext;
  readonly #feed: ShardFeed;
  readonly #nodes = new Map<string, TaintedNode>();
  /** Schedules that came due while the view was blind or the node frozen. */
  readonly #waiting = new Set<EvictionSchedule>();
  readonly #annotationRetries: RetrySchedule<string>;
  /** Nodes with a record of taint starts, which has to be removed with the taints. */
  readonly #annotated = new Set<string>();
  readonly #otherOwners: OtherOwnerJudgements;
  readonly #republishing: Republishing<EvictionSchedule>;
  readonly #stops: readonly Stop[];
  /** The next planned end of a freeze that blocks evictions, on the API's clock. */
  #thawAt = Number.POSITIVE_INFINITY;
  #thaw: Timer | null = null;
  /** Runs until a contradicted start may be recorded. */
  #recordable: Timer | null = null;
  readonly #gainedMs: number;
  /** When the view was last complete, on the monotonic clock: a taint that is new now was absent then. */
  #completeMs = Number.NEGATIVE_INFINITY;

  constructor(io: Io, shard: number, context: TaintedNodeContext) {
    this.#io = io;
    this.#context = context;
    this.#gainedMs = io.clock.monotonicMs();
    this.#annotationRetries = new RetrySchedule(requestRetries(io.profile));
    const { clock, profile, fleet, bus } = io;
    this.#otherOwners = new OtherOwnerJudgements({ clock, profile, correct: (other) => this.#correct(other) });
    this.#republishing = new Republishing({
      clock,
      known: () => this.#schedules(),
      publish: (schedule, cause) => schedule.node.republish(schedule, cause),
    });
    this.#stops = [
      bus.subscribe("done.write", shard, ({ body }) => this.#settle(body)),
      bus.subscribe("asked.resync", shard, ({ source, id }) => {
        if (source.startsWith(LEDGER_PREFIX)) this.#republishing.begin(id);
      }),
      bus.subscribe("judged.pod", shard, (message) => {
        if (message.source !== `taint-manager@${fleet.member}`) this.#otherOwners.onJudgement(message);
      }),
    ];
    this.#feed = feedShard(io, shard, {
      needs: ["nodes", "pods"],
      reader: {
        node: (node, previous, cause) => this.#review(node, previous, cause),
        pods: (node, _pods, cause) => this.#review(node, node, cause),
        gone: (node, cause) => this.#forget(node.node, cause),
        outagesChanged: (cause) => this.#reviewAll(cause),
        pulse: (cause) => this.#pulse(cause),
      },
    });
  }

  markSuspect(reason: string): void {
    this.#feed.markSuspect(reason, null);
  }

  /** Requests the eviction of a pod whose deadline has come, once the view is not blind and the node not frozen. */
  requestEviction(schedule: EvictionSchedule): void {
    const isFrozen = this.#isFrozen(schedule.node.name);
    if (!isFrozen && !this.#isBlind()) schedule.node.requestEviction(schedule);
    else this.#waiting.add(schedule);
    if (!isFrozen) return;
    schedule.node.publishFrozen(schedule);
    this.#releaseAtThaw(schedule.node.name);
  }

  /**
   * Applies a change of the node policies: computes each countdown again, and requests evictions that are not frozen
   * any more.
   */
  onPolicies(cause: string | null): void {
    this.#reviewAll(cause);
    this.#release();
  }

  #reviewAll(cause: string | null): void {
    for (const [name, tainted] of this.#nodes) {
      const node = this.#feed.view.node(name);
      if (node !== null) this.#reviewTainted(tainted, node, this.#viewHistory(true), cause);
    }
  }

  stop(): void {
    this.#feed.stop();
    for (const stop of this.#stops) stop();
    this.#otherOwners.stop();
    this.#republishing.stop();
    this.#thaw?.cancel();
    this.#recordable?.cancel();
    for (const node of this.#nodes.values()) node.drop();
  }

  *#schedules(): Generator<EvictionSchedule> {
    for (const { schedules } of this.#nodes.values()) yield* schedules;
  }

  #isBlind(): boolean {
    return this.#feed.view.blindness(this.#io.clock.monotonicMs()) !== null;
  }

  #review(node: ObservedNode, previous: ObservedNode | null, cause: string): void {
    const isSame = previous?.uid === node.uid;
    if (node.taintsSeenAt === undefined) this.#annotated.delete(node.node);
    else this.#annotated.add(node.node);
    if (previous !== null && !isSame) this.#end(node.node, cause);
    if (noExecuteTaints(node.taints).length === 0) {
      this.#end(node.node, cause);
    } else {
      const tainted = this.#nodes.get(node.node) ?? new TaintedNode(this.#context, node);
      this.#nodes.set(node.node, tainted);
      this.#reviewTainted(tainted, node, this.#viewHistory(isSame), cause);
    }
    this.#recordStarts(node, cause);
    this.#release();
  }

  #reviewTainted(
    tainted: TaintedNode,
    node: ObservedNode,
    seen: Omit<ViewHistory, keyof Now>,
    cause: string | null,
  ): void {
    const pods = this.#feed.view.pods(node.node)?.pods ?? [];
    const ratedPolicy = ratedPolicyOf(node, this.#io.policies.current())?.name ?? null;
    const outages = nodeOutagesOf(node, this.#io.policies.current(), this.#feed.view.outages, this.#io.profile);
    tainted.review(node, pods, { ...seen, ...this.#freezeOf(node), outages, ratedPolicy }, cause);
  }

  /** The view before a node's present state. A node known before was seen after this shard was gained. */
  #viewHistory(wasKnown: boolean): { readonly absentMs: number; readonly isUnbroken: boolean } {
    const absentMs = wasKnown ? Math.max(this.#completeMs, this.#gainedMs) : this.#completeMs;
    return { absentMs, isUnbroken: !this.#isBlind() };
  }

  #forget(name: string, cause: string): void {
    this.#end(name, cause);
    this.#annotated.delete(name);
    this.#annotationRetries.forget(name);
  }

  #end(name: string, cause: string): void {
    this.#nodes.get(name)?.end(cause);
    this.#nodes.delete(name);
  }

  #pulse(cause: string): void {
    if (!this.#isBlind()) this.#completeMs = this.#io.clock.monotonicMs();
    for (const name of new Set([...this.#nodes.keys(), ...this.#annotated])) {
      const node = this.#feed.view.node(name);
      if (node !== null) this.#recordStarts(node, cause);
    }
    this.#release();
  }

  #release(): void {
    if (this.#waiting.size === 0 || this.#isBlind()) return;
    // Thousands of pods of one node may wait.
    const frozen = new Map<TaintedNode, boolean>();
    for (const schedule of this.#waiting) {
      const { node } = schedule;
      const isFrozen = frozen.get(node) ?? this.#isFrozen(node.name);
      frozen.set(node, isFrozen);
      if (isFrozen && node.has(schedule)) continue;
      this.#waiting.delete(schedule);
      node.requestEviction(schedule);
    }
  }

  /** Releases the waiting schedules when the freeze of a node ends as planned. */
  #releaseAtThaw(name: string): void {
    const node = this.#feed.view.node(name);
    const untilAt = node === null ? null : (this.#freezeOf(node).freeze?.untilAt ?? null);
    if (untilAt === null || untilAt >= this.#thawAt) return;
    const { clock } = this.#io;
    this.#thawAt = untilAt;
    this.#thaw?.cancel();
    this.#thaw = clock.after(Math.max(1, untilAt - clock.wallMs()), () => {
      this.#thawAt = Number.POSITIVE_INFINITY;
      this.#release();
      for (const { node } of this.#waiting) this.#releaseAtThaw(node.name);
    });
  }

  #freezeOf(node: ObservedNode): NodeFreeze {
    return nodeFreezeOf(node, this.#io.policies.current(), this.#io.clock.wallMs());
  }

  /** Whether no pod may be evicted from a node, because it is frozen or may be. */
  #isFrozen(name: string): boolean {
    const node = this.#feed.view.node(name);
    return node !== null && this.#freezeOf(node).freeze !== null;
  }

  /** Requests a record of taint starts that only this process knows, so that countdowns continue after it ends. */
  #recordStarts(node: ObservedNode, cause: string | null): void {
    const tainted = this.#nodes.get(node.node);
    const nowMs = this.#io.clock.monotonicMs();
    this.#recordLater(node, tainted?.taints ?? [], nowMs);
    const countedTaints = (): ReadonlySet<Taint> => tainted?.countedTaints() ?? new Set();
    const starts = startsToWrite(node, tainted?.taints ?? [], { countedTaints, nowMs });
    if (starts === null) {
      this.#annotationRetries.settle(node.node, nowMs);
      return;
    }
    if (!this.#annotationRetries.isDue(node.node, nowMs)) return;
    const annotation = Object.keys(starts).length === 0 ? null : JSON.stringify(starts);
    const { uid, resourceVersion, taints, taintsOmitted = 0 } = node;
    const about = { node: node.node, uid, resourceVersion, ...(taintsOmitted === 0 ? { taints: [...taints] } : {}) };
    const annotations = { [Annotation.taintsSeen]: annotation };
    this.#io.bus.publish("asked.label", { ...about, labels: {}, annotations }, cause);
  }

  /** Records contradicted starts once they may be recorded: by then the clock behind them may be corrected. */
  #recordLater(node: ObservedNode, known: readonly KnownTaint[], nowMs: number): void {
    if (this.#recordable !== null) return;
    const waitsMs = known.map((each) => contradictedForMs(each, node, nowMs)).filter((ms) => ms > 0);
    if (waitsMs.length === 0) return;
    this.#recordable = this.#io.clock.after(Math.min(...waitsMs), () => {
      this.#recordable = null;
      for (const [name, tainted] of this.#nodes) {
        const later = this.#feed.view.node(name);
        if (later === null) continue;
        this.#reviewTainted(tainted, later, this.#viewHistory(true), null);
        this.#recordStarts(later, null);
      }
      this.#release();
    });
  }

  /**
   * Publishes this shard's judgement of a pod that another owner judged otherwise. Pods are known on tainted nodes
   * only; a terminating one is skipped.
   */
  #correct({ id, body }: Message<"judged.pod">): void {
    const tainted = this.#nodes.get(body.node);
    const pod = this.#feed.view.pods(body.node)?.pods.find(({ uid }) => uid === body.uid);
    const isConcerned = tainted === undefined ? this.#feed.view.node(body.node) !== null : pod?.deletionAt === null;
    if (!isConcerned || tainted?.correct(body, id) === true || body.eviction === "none") return;
    this.#io.bus.publish("judged.pod", stayingJudgement(body), id);
  }

  #settle({ ask, node, uid, outcome }: BodyOf<"done.write">): void {
    if (ask === "asked.eviction" && SETTLING.includes(outcome)) this.#nodes.get(node)?.settle(uid);
  }
}
