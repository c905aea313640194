/**
 * Follows what is published of nodes, zones and pods. The rest of the ledger reads the state here and is shown each
 * message before the state follows it. Where messages were lost, it requests a resync of their shard.
 */
import type { AnyMessage, BodyOf, Message, MessageType } from "../../../protocols/messages.ts";
import type { Io, Stop } from "../../../protocols/ports.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { ratedPoliciesOf } from "../../domain/eviction-rates.ts";
import { ClusterWatchHealth } from "../../platform/shard-view/cluster-watch-health.ts";
import { RetrySchedule, requestRetries } from "../../structures/retry-schedule.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import { ClusterState, wasSent } from "./cluster-state.ts";
import { DrainPods } from "./drain-pods.ts";
import { Heartbeats } from "./heartbeats.ts";
import { type Instants, MissingJudgements } from "./missing-judgements.ts";
import { NodeInventory } from "./node-inventory.ts";
import {
  frozenEviction,
  isBeforeFreeze,
  isInOutage,
  type PresentFreezes,
  presentFreezes,
} from "./present-freezes.policy.ts";
import { UnconfirmedPods } from "./unconfirmed-pods.ts";

/** Processes that started within this time of each other may all be the first to observe a node. */
const STARTED_TOGETHER_MS = 30_000;
/** An empty zone that was not published for this long has vanished: its owner repeats it every few seconds. */
export const VANISHED_MS = 60_000;

/** The state as published so far, and how far it is complete. */
export class StateSubscriber {
  readonly cluster = new ClusterState();
  readonly drainPods = new DrainPods();
  readonly watchHealth: ClusterWatchHealth;
  readonly heartbeats: Heartbeats;
  readonly #io: Io;
  readonly #setup: LedgerSetup;
  readonly #deliver: (message: AnyMessage) => void;
  readonly #inventory: NodeInventory;
  readonly #unconfirmed: UnconfirmedPods;
  readonly #missing: MissingJudgements;
  readonly #resyncs: RetrySchedule<number>;
  /** Ends the subscription to observed.pods. */
  #podsStop: Stop | null = null;

  /**
   * `deliver` passes a message to all parts of the ledger: pods, and the departure of a node that only a digest shows.
   * `onHeartbeats` receives how many heartbeats have arrived in own shards.
   */
  constructor(setup: LedgerSetup, deliver: (message: AnyMessage) => void, onHeartbeats: (count: number) => void) {
    const { io } = setup;
    const { clock, policies, profile } = io;
    this.#io = io;
    this.#setup = setup;
    this.#deliver = deliver;
    this.#inventory = new NodeInventory(profile, clock.monotonicMs());
    this.watchHealth = new ClusterWatchHealth(profile, clock.monotonicMs());
    this.heartbeats = new Heartbeats(setup, this.cluster, onHeartbeats);
    this.#unconfirmed = new UnconfirmedPods(this.cluster, profile);
    this.#missing = new MissingJudgements(profile, policies);
    this.#resyncs = new RetrySchedule(requestRetries(profile));
    this.#followPods();
  }

  /** Subscribes to what shows whether messages were lost, and to the heartbeats of own shards. */
  follow(): Stop {
    const { bus, fleet, policies } = this.#io;
    const { heartbeats } = this;
    const stops = [
      bus.subscribe("observed.pulse", "all", (message) => this.#onPulse(message)),
      bus.subscribe("pulse.member", "all", ({ body }) => this.#onMember(body)),
      bus.onGap((type, shard) => this.#onGap(type, shard)),
      policies.follow(() => this.#onPolicies()),
      fleet.follow("ledger", { gained: (shard) => heartbeats.gain(shard), lost: (shard) => heartbeats.lose(shard) }),
    ];
    return () => {
      for (const stop of stops) stop();
      heartbeats.stop();
      this.#podsStop?.();
    };
  }

  /** Whether a message is older than what it has followed already. */
  isOutdated(message: AnyMessage): boolean {
    return message.type === "observed.node" && this.#inventory.isOutdated(message);
  }

  onMessage(message: AnyMessage): void {
    if (message.type === "observed.node") this.#onNode(message);
    else if (message.type === "observed.pods") this.#onPods(message.body);
    else {
      if (message.type === "observed.gone") this.#onGone(message.body);
      if (message.type === "judged.node") {
        const observed = this.cluster.nodes.get(message.body.node)?.observed ?? null;
        this.#missing.onJudgedNode(message.body, observed, this.#instants());
      }
      if (message.type === "judged.pod") {
        this.#unconfirmed.confirm(message.body);
        this.#missing.onJudgedPod(message.body, this.#instants());
      }
      this.cluster.apply(message);
    }
  }

  /** Restores the pending pods from a stored message. */
  restore(message: AnyMessage): void {
    if (message.type === "judged.pod") {
      this.#unconfirmed.restore(message);
      this.#followPods();
    }
    if (message.type === "done.write" && !this.#isSuperseded(message)) this.cluster.apply(message);
  }

  get freezes(): PresentFreezes {
    const { clock, policies, profile } = this.#io;
    return presentFreezes(policies.current(), profile, clock.wallMs());
  }

  /** The policies in force that have eviction rates; null while the policies are not known. */
  get rated(): ReadonlySet<string> | null {
    const set = this.#io.policies.current();
    return set === null ? null : ratedPoliciesOf(set);
  }

  /** Why it is not known which nodes exist in the shard of a node; null where it is. */
  readonly unknownReason = (node: string): string | null =>
    this.#inventory.unknownReason(shardOf(node), this.#io.clock.monotonicMs());

  /** Whether it is known whether a node of this name exists. */
  readonly isKnown = (node: string): boolean => this.unknownReason(node) === null;

  /** Forgets settled pods, and what is kept of nodes that do not exist. Returns the zones that have vanished. */
  sweep(): readonly BodyOf<"judged.zone">[] {
    const { cluster, freezes } = this;
    const { clock } = this.#io;
    const wallMs = clock.wallMs();
    const isSilent = (node: string): boolean => cluster.nodes.get(node)?.judged?.readiness === "unknown";
    cluster.pods.forgetSettled(wallMs, isSilent, (judged, name) => {
      const node = cluster.nodes.get(name);
      if (node === undefined) return false;
      return isInOutage(judged) || isBeforeFreeze(judged, node, freezes) || !!frozenEviction(judged, node, freezes);
    });
    cluster.forgetUnobserved(this.isKnown);
    // Messages of several publishers cross: a judgement or a heartbeat may come after its node has left.
    const mayExist = (node: string): boolean => cluster.nodes.has(node) || !this.isKnown(node);
    this.#missing.keep(mayExist, (uid) => cluster.pods.get(uid)?.judged?.eviction === "pending");
    this.heartbeats.ages.keep(mayExist);
    return this.#inventory.isKnown(clock.monotonicMs()) ? cluster.forgetVanished(wallMs - VANISHED_MS) : [];
  }

  #onNode(message: Message<"observed.node">): void {
    const { body } = message;
    this.#unconfirmed.onNode(body);
    this.drainPods.onNode(body);
    if (!this.cluster.nodes.get(body.node)?.observed) this.#missing.onNewNode(body);
    this.cluster.apply({ ...message, body: this.#inventory.onNode(body) });
    this.#missing.onNode(body, this.cluster.onFullNode(body), this.#io.clock.monotonicMs());
  }

  #onPods(body: BodyOf<"observed.pods">): void {
    this.#unconfirmed.onPods(body);
    if (this.#io.profile.evictionMode === "direct") this.drainPods.onPods(body);
  }

  #onGone(body: BodyOf<"observed.gone">): void {
    this.#inventory.onGone(body);
    this.heartbeats.ages.forget(body.node);
    this.#unconfirmed.drop(body.node);
    this.drainPods.drop(body.node);
    this.#missing.forget(body.node);
  }

  /** What is observed is compared by its digest, and zones and limits are repeated. These are published once. */
  #onGap(type: MessageType, shard: number): void {
    if (type === "judged.node" || type === "judged.pod") this.#onLoss(shard);
    if (type === "done.write") this.#markPodsUnconfirmed(shard);
  }

  /** Requests the judgements of a shard again with its next pulse. */
  #onLoss(shard: number): void {
    this.#inventory.markSuspect(shard, "judgements may be missing");
    this.#markPodsUnconfirmed(shard);
  }

  #markPodsUnconfirmed(shard: number): void {
    this.#unconfirmed.onLoss(shard);
    this.#followPods();
  }

  #onPolicies(): void {
    const set = this.#io.policies.current();
    if (set !== null) this.cluster.keepPolicies(set);
    this.#missing.policiesChanged(this.cluster.nodes.values(), this.#io.clock.monotonicMs());
  }

  /** A ledger that started well before this one has registered the nodes that existed then. */
  #onMember({ member, services, since }: BodyOf<"pulse.member">): void {
    const { startedAt } = this.#setup;
    if (services.includes("node")) this.#missing.expectJudgements();
    const isOlder = since < startedAt - STARTED_TOGETHER_MS;
    if (member !== this.#io.fleet.member && isOlder && services.includes("ledger")) this.cluster.joinedAt = startedAt;
  }

  #onPulse(message: Message<"observed.pulse">): void {
    const { id, body } = message;
    const now = this.#io.clock.monotonicMs();
    if (this.watchHealth.isInterrupted(body.shard, now)) this.#onLoss(body.shard);
    this.watchHealth.onPulse(message, now);
    const { departed, resync } = this.#inventory.onPulse(message, now);
    for (const { node, uid } of departed) {
      this.#deliver({ ...message, type: "observed.gone", id: `${id}/${node}`, body: { node, uid } });
    }
    const reason = resync ?? this.#reviewUnconfirmed(body, now) ?? this.#missing.resyncReason(body, now);
    if (reason === null) return;
    this.#missing.resyncRequested(body.shard);
    this.#io.bus.publish("asked.resync", { shard: body.shard, reason }, id);
  }

  /**
   * Forgets unconfirmed pods whose nodes do not exist. Returns why the shard needs a resync: only the next one confirms
   * pods that were restored after the last one.
   */
  #reviewUnconfirmed({ shard, watches }: BodyOf<"observed.pulse">, nowMs: number): string | null {
    this.#followPods();
    if (this.#unconfirmed.isEmpty || this.#inventory.unknownReason(shard, nowMs) !== null) return null;
    this.#unconfirmed.dropAbsent(shard);
    if (!this.#unconfirmed.hasAnyOf(shard)) {
      this.#resyncs.forget(shard);
      return null;
    }
    return watches.pods.synced && this.#resyncs.isDue(shard, nowMs) ? "pending pods are not confirmed" : null;
  }

  /** Subscribes to observed.pods where they are needed: in direct mode the upcoming drains name pods too. */
  #followPods(): void {
    const { bus, profile } = this.#io;
    if (this.#unconfirmed.isEmpty && profile.evictionMode !== "direct" && !this.#setup.comparesPods) {
      this.#podsStop?.();
      this.#podsStop = null;
    } else {
      this.#podsStop ??= bus.subscribe("observed.pods", "all", this.#deliver);
    }
  }

  /** Whether a restored try never reached the API server and a later message about its pod supersedes it. */
  #isSuperseded({ at, body }: Message<"done.write">): boolean {
    const pod = this.cluster.pods.get(body.uid);
    return pod !== undefined && pod.publishedAt > at && !wasSent(body.outcome) && body.outcome !== "gone";
  }

  #instants(): Instants {
    const { clock } = this.#io;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }
}
