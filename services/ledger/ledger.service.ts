/**
 * The ledger subscribes to all four kinds of message and keeps the record: history, explanations, Kubernetes Events and
 * metrics. It wires policies to ports and decides nothing.
 */
import type { Decision, LedgerReader } from "../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf, Message, MessageType } from "../../protocols/messages.ts";
import type { Io, Log, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { definitionOf } from "../../protocols/wire.ts";
import type { ZoneLabel } from "../domain/zone-key.ts";
import { EventRecorder } from "../platform/kube/events/event-recorder.ts";
import { ClusterWatchHealth } from "../platform/shard-view/cluster-watch-health.ts";
import { translated } from "../platform/shard-view/watch-health.ts";
import { RetrySchedule, requestRetries } from "../structures/retry-schedule.ts";
import { activityOf } from "./activity/activity.policy.ts";
import { ActivityLog } from "./activity/activity-log.ts";
import { Timeline } from "./activity/timeline.ts";
import { ClusterState, wasSent } from "./cluster-state.ts";
import { comparisonMetrics } from "./compare/comparison.metrics.ts";
import { Comparison } from "./compare/comparison.ts";
import { DrainPods } from "./drain-pods.ts";
import { eventsOf } from "./events.policy.ts";
import { timelineSentence } from "./explain/sentences.ts";
import { ForeignHeartbeats } from "./foreign-heartbeats.ts";
import { HeartbeatAges } from "./heartbeat-ages.ts";
import { History } from "./history.ts";
import { historyTextOf, instantOf, subjectOf } from "./history-text.policy.ts";
import { lastStateOf } from "./last-state.policy.ts";
import { LedgerMetrics } from "./ledger.metrics.ts";
import { ledgerReader, type ReaderSources, VANISHED_MS } from "./ledger.reader.ts";
import type { LedgerStore } from "./ledger.store.ts";
import { LivePods } from "./live-pods.ts";
import { LostReplies } from "./lost-replies.ts";
import { type Instants, MissingJudgements } from "./missing-judgements.ts";
import { NodeInventory } from "./node-inventory.ts";
import { frozenEviction, isBeforeFreeze, isInOutage, presentFreezes } from "./present-freezes.policy.ts";
import { UnconfirmedPods } from "./unconfirmed-pods.ts";

/** How often the gauges that change with time alone are set. */
const REFRESH_MS = 2000;
/** How often the store records that this ledger still runs: its comparison has no gap until then. */
const RUNNING_MS = 10_000;
/** Processes that started within this time of each other may all be the first to observe a node. */
const STARTED_TOGETHER_MS = 30_000;
/** How often settled pods and vanished nodes and zones are forgotten. */
const SWEEP_MS = 60_000;

/** Received for all shards, so that every ledger can explain every object; only the owner of a shard acts on them. */
const RECORDED_TYPES: readonly MessageType[] = [
  "observed.node",
  "observed.gone",
  "judged.node",
  "judged.zone",
  "judged.limits",
  "judged.evictions",
  "judged.remediations",
  "judged.pod",
  "asked.condition",
  "asked.taint",
  "asked.label",
  "asked.eviction",
  "asked.unready",
  "asked.drain",
  "done.write",
];

const EMPTY_STATE = new ClusterState();

/** A running ledger. */
export interface Ledger {
  readonly reader: LedgerReader;
  readonly stop: Stop;
}

/** What a ledger is started with. */
export interface LedgerOptions {
  /** Where its history outlives the process; null for nowhere. */
  readonly store?: LedgerStore | null;
  /** Whether Vigil runs in shadow mode. */
  readonly isShadow?: boolean;
  /** How metrics name a zone; readable by default. */
  readonly zoneLabel?: ZoneLabel;
  /** Where the owner of a shard logs verdicts, taints, drains, evictions and changes of zones; null for nowhere. */
  readonly activityLog?: Log | null;
  /**
   * In a cluster of up to this many nodes it always knows the last heartbeats of other members' nodes too, in a larger
   * one while somebody asks for nodes; 0 by default.
   */
  readonly followedNodesMax?: number;
}

/** Starts a ledger. */
export function startLedger(io: Io, options: LedgerOptions = {}): Ledger {
  const ledger = new RunningLedger(io, options);
  return { reader: ledger.reader, stop: () => ledger.stop() };
}

class RunningLedger {
  readonly reader: LedgerReader;
  readonly #io: Io;
  readonly #isShadow: boolean;
  readonly #store: LedgerStore | null;
  readonly #startedAt: number;
  readonly #state = new ClusterState();
  readonly #inventory: NodeInventory;
  readonly #history = new History();
  readonly #comparison: Comparison;
  /** Whether other controllers act beside Vigil, so that their treatment of pods is compared too. */
  readonly #comparesPods: boolean;
  readonly #unconfirmed: UnconfirmedPods;
  readonly #drainPods = new DrainPods();
  readonly #timeline: Timeline;
  readonly #lostReplies = new LostReplies();
  readonly #missingJudgements: MissingJudgements;
  readonly #ages = new HeartbeatAges();
  readonly #foreign: ForeignHeartbeats;
  readonly #watchHealth: ClusterWatchHealth;
  readonly #metrics: LedgerMetrics;
  readonly #recorder: EventRecorder;
  readonly #activityLog: ActivityLog | null;
  readonly #listeners = new Set<(decision: Decision) => void>();
  readonly #leases = new Map<number, Stop>();
  readonly #resyncs: RetrySchedule<number>;
  /** Ends the subscription to observed.pods. */
  #podsStop: Stop | null = null;
  readonly #stops: Stop[];

  constructor(io: Io, options: LedgerOptions) {
    const { store = null, isShadow = false, zoneLabel, activityLog = null, followedNodesMax = 0 } = options;
    this.#io = io;
    this.#isShadow = isShadow;
    this.#store = store;
    this.#startedAt = io.clock.wallMs();
    this.#unconfirmed = new UnconfirmedPods(this.#state, io.profile);
    this.#comparesPods = isShadow || io.profile.upstream === "beside";
    this.#comparison = this.#newComparison();
    this.#timeline = new Timeline(this.#startedAt);
    this.#inventory = new NodeInventory(io.profile, io.clock.monotonicMs());
    this.#watchHealth = new ClusterWatchHealth(io.profile, io.clock.monotonicMs());
    this.#metrics = new LedgerMetrics(io.metrics, zoneLabel);
    this.#recorder = new EventRecorder(io);
    this.#activityLog = activityLog && new ActivityLog(activityLog, io.clock);
    this.#resyncs = new RetrySchedule(requestRetries(io.profile));
    this.#missingJudgements = new MissingJudgements(io.profile, io.policies);
    this.#foreign = this.#foreignHeartbeats(followedNodesMax);
    this.reader = ledgerReader({
      state: this.#state,
      history: this.#history,
      watchHealth: this.#watchHealth,
      inventory: this.#inventory,
      livePods: new LivePods(io),
      drainPods: this.#drainPods,
      heartbeats: this.#heartbeats(),
      clock: io.clock,
      profile: io.profile,
      policies: io.policies,
      isShadow,
      comparison: this.#comparison,
      timeline: this.#timeline,
      isKept: () => store?.ready() === true,
      onDecision: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    });
    this.#followPods();
    store?.restore({
      message: (message) => this.#restore(message),
      compared: (records) => this.#comparison.restore(records, io.clock.wallMs()),
    });
    this.#stops = this.#followAll();
  }

  #followAll(): Stop[] {
    const { bus, clock, fleet, policies } = this.#io;
    return [
      ...RECORDED_TYPES.map((type) => bus.subscribe(type, "all", (message) => this.#receive(message as AnyMessage))),
      bus.subscribe("observed.pulse", "all", (message) => this.#takePulse(message)),
      bus.subscribe("pulse.member", "all", ({ body }) => this.#takeMember(body)),
      bus.onGap((type, shard) => this.#takeGap(type, shard)),
      policies.follow(() => this.#policiesChanged()),
      fleet.follow("ledger", { gained: (shard) => this.#gain(shard), lost: (shard) => this.#lose(shard) }),
      this.#repeating(REFRESH_MS, () => this.#refresh()),
      this.#repeating(SWEEP_MS, () => this.#sweep()),
      this.#repeating(RUNNING_MS, () => this.#comparison.noteRunning(clock.wallMs())),
    ];
  }

  #newComparison(): Comparison {
    const { fleet, metrics, profile } = this.#io;
    const isOurs = (node: string) => fleet.owns("ledger", shardOf(node));
    const count = comparisonMetrics(metrics);
    return new Comparison({
      member: fleet.member,
      startedAt: this.#startedAt,
      isBeside: profile.upstream === "beside" && !this.#isShadow,
      nodeMonitorGraceMs: profile.nodeMonitorGraceMs,
      keep: (record) => {
        if (record.kind === "run" || isOurs(record.node)) this.#store?.keepCompared(record);
      },
      podShown: ({ namespace, name }, step, { id, at }) => {
        const text = timelineSentence(step === "deleted" ? "podDeletedByAnother" : "podMarkedByAnother", {});
        const entry = { id, at, type: "observed.pods", cause: null };
        this.#decided(this.#history.addEntry(entry, { kind: "Pod", namespace, name }, text));
      },
      isOver: (incident) => {
        if (this.#comparesPods && isOurs(incident.node)) count(incident);
      },
    });
  }

  #foreignHeartbeats(nodesMax: number): ForeignHeartbeats {
    const { nodes } = this.#state;
    return new ForeignHeartbeats({
      ...this.#io,
      isOwn: (shard) => this.#leases.has(shard),
      nodes: () => nodes.size,
      isNode: (name) => nodes.has(name),
      nodesMax,
    });
  }

  #heartbeats(): ReaderSources["heartbeats"] {
    return {
      ask: () => this.#foreign.ask(),
      lastMs: (node) => this.#ages.lastMs(node) ?? this.#foreign.lastMs(node),
    };
  }

  stop(): void {
    for (const stop of [...this.#stops, ...this.#leases.values()]) stop();
    this.#foreign.stop();
    this.#podsStop?.();
    this.#comparison.noteRunning(this.#io.clock.wallMs());
    this.#recorder.stop();
    this.#activityLog?.stop();
    this.#listeners.clear();
  }

  #receive(message: AnyMessage): void {
    if (message.type === "observed.node" && this.#inventory.isOutdated(message)) return;
    for (const received of this.#lostReplies.take(message)) this.#process(received);
  }

  /** Events, text and counts follow from the message and the state before it, so the state is updated after them. */
  #process(message: AnyMessage): void {
    const state = this.#state;
    const isOurs = this.#io.fleet.owns("ledger", definitionOf(message.type).shard(message.body));
    const events = eventsOf(message, state, this.#io.profile.upstream);
    // What is said to be done has no effect in shadow mode.
    const isUnsent = this.#isShadow;
    const addToHistory = this.#historyEntryOf(message, state);
    if (message.type === "judged.zone") this.#metrics.zone(message.body, !state.zones.has(message.body.zone));
    if (message.type === "judged.limits") this.#metrics.limits(message.body);
    if (message.type === "judged.evictions") this.#metrics.evictions(message);
    if (isOurs) {
      this.#metrics.count(message, state, this.#io.profile.evictionMode);
      this.#keepLastState(message);
      this.#logActivity(message, state);
    }
    this.#timeline.take(message, state, this.#io.clock.wallMs());
    this.#comparison.take(message, message.cause === null ? undefined : state.request(message.cause)?.message);
    this.#follow(message);
    for (const event of events) {
      if (event.marks !== undefined) state.noteReported(event.involvedObject.name, event.marks);
      if (isOurs) this.#recorder.record(event, { isUnsent });
    }
    const decision = addToHistory();
    if (decision !== null && isOurs && isUnsent) this.#activityLog?.recordUnsent(decision);
    this.#decided(decision);
  }

  #decided(decision: Decision | null): void {
    if (decision !== null) for (const listener of this.#listeners) listener(decision);
  }

  /** Adds a message to the history when called, with its text as of now. Republishing a verdict adds nothing. */
  #historyEntryOf(message: AnyMessage, before: ClusterState): () => Decision | null {
    const { type } = message;
    const [subject, text, at] = [subjectOf(message), historyTextOf(message, before), instantOf(message, before)];
    const isSame = (kept: Decision) => kept.type === type && kept.text === text?.text && kept.at === at;
    const isKept = text !== null && type === "judged.node" && this.#history.of(subject).some(isSame);
    const dated = at === message.at ? message : { ...message, at };
    return () => this.#history.add(dated, subject, isKept ? null : text);
  }

  #logActivity(message: AnyMessage, before: ClusterState): void {
    const activity = this.#activityLog && activityOf(message, before, this.#io.profile.evictionMode);
    if (activity) this.#activityLog?.record(activity);
  }

  #follow(message: AnyMessage): void {
    if (message.type === "observed.node") {
      this.#unconfirmed.takeNode(message.body);
      this.#drainPods.takeNode(message.body);
      if (!this.#state.nodes.get(message.body.node)?.observed) this.#missingJudgements.takeNew(message.body);
      this.#state.apply({ ...message, body: this.#inventory.take(message.body) });
      const judged = this.#state.takeWhole(message.body);
      this.#missingJudgements.takeNode(message.body, judged, this.#io.clock.monotonicMs());
      return;
    }
    if (message.type === "observed.gone") {
      this.#inventory.takeGone(message.body);
      this.#ages.forget(message.body.node);
      this.#unconfirmed.drop(message.body.node);
      this.#drainPods.drop(message.body.node);
      this.#missingJudgements.forget(message.body.node);
    }
    if (message.type === "judged.node") {
      const observed = this.#state.nodes.get(message.body.node)?.observed ?? null;
      this.#missingJudgements.takeJudged(message.body, observed, this.#instants());
    }
    if (message.type === "judged.pod") {
      this.#unconfirmed.confirm(message.body);
      this.#missingJudgements.takePod(message.body, this.#instants());
    }
    this.#state.apply(message);
  }

  /** What is observed is compared by its digest, and zones and limits are repeated. These are published once. */
  #takeGap(type: MessageType, shard: number): void {
    if (type === "judged.node" || type === "judged.pod") this.#takeLoss(shard);
    if (type === "done.write") this.#doubtPods(shard);
  }

  /** Requests the judgements of a shard again with its next pulse. */
  #takeLoss(shard: number): void {
    this.#inventory.markSuspect(shard, "judgements may be missing");
    this.#doubtPods(shard);
  }

  #doubtPods(shard: number): void {
    this.#unconfirmed.takeLoss(shard);
    this.#followPods();
  }

  #instants(): Instants {
    const { clock } = this.#io;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }

  #policiesChanged(): void {
    const set = this.#io.policies.current();
    if (set !== null) this.#state.keepPolicies(set);
    this.#missingJudgements.policiesChanged(this.#state.nodes.values(), this.#io.clock.monotonicMs());
  }

  /** A ledger that started well before this one has registered the nodes that existed then. */
  #takeMember({ member, services, since }: BodyOf<"pulse.member">): void {
    if (services.includes("node")) this.#missingJudgements.expectJudgements();
    const isOlder = since < this.#startedAt - STARTED_TOGETHER_MS;
    if (member !== this.#io.fleet.member && isOlder && services.includes("ledger")) {
      this.#state.joinedAt = this.#startedAt;
    }
  }

  #takePulse(message: Message<"observed.pulse">): void {
    const now = this.#io.clock.monotonicMs();
    if (this.#watchHealth.isInterrupted(message.body.shard, now)) this.#takeLoss(message.body.shard);
    this.#watchHealth.take(message, now);
    const { departed, resync } = this.#inventory.takePulse(message, now);
    for (const { node, uid } of departed) {
      this.#receive({ ...message, type: "observed.gone", id: `${message.id}/${node}`, body: { node, uid } });
    }
    const reason =
      resync ?? this.#reviewUnconfirmed(message.body, now) ?? this.#missingJudgements.resyncReason(message.body, now);
    if (reason === null) return;
    const { shard } = message.body;
    this.#missingJudgements.resyncRequested(shard);
    this.#io.bus.publish("asked.resync", { shard, reason }, message.id);
  }

  /**
   * Forgets unconfirmed pods whose nodes do not exist. Returns why the shard needs a resync: only the next one confirms
   * pods that were restored after the last one.
   */
  #reviewUnconfirmed({ shard, watches }: BodyOf<"observed.pulse">, nowMs: number): string | null {
    this.#followPods();
    if (this.#unconfirmed.isEmpty || !this.#inventory.isShardKnown(shard, nowMs)) return null;
    this.#unconfirmed.dropAbsent(shard);
    if (!this.#unconfirmed.hasAnyOf(shard)) {
      this.#resyncs.forget(shard);
      return null;
    }
    return watches.pods.synced && this.#resyncs.isDue(shard, nowMs) ? "pending pods are not confirmed" : null;
  }

  /**
   * Subscribes to observed.pods while pending pods are unconfirmed, in direct mode for the upcoming drains, and where
   * other controllers are compared with Vigil.
   */
  #followPods(): void {
    const isDirect = this.#io.profile.evictionMode === "direct";
    if (this.#unconfirmed.isEmpty && !isDirect && !this.#comparesPods) {
      this.#podsStop?.();
      this.#podsStop = null;
    } else {
      this.#podsStop ??= this.#io.bus.subscribe("observed.pods", "all", (message) => {
        this.#unconfirmed.takePods(message.body);
        if (isDirect) this.#drainPods.takePods(message.body);
        if (this.#comparesPods) this.#comparison.take(message, undefined);
      });
    }
  }

  /** Restored messages add to the history and to the pending pods; they cause no Event and no count. */
  #restore(stored: AnyMessage): void {
    for (const message of this.#lostReplies.take(stored)) this.#restoreOne(message);
  }

  #restoreOne(message: AnyMessage): void {
    if (message.type === "judged.pod") {
      this.#unconfirmed.take(message);
      this.#followPods();
    }
    if (message.type === "done.write" && !this.#isOutdated(message)) this.#state.apply(message);
    this.#historyEntryOf(message, EMPTY_STATE)();
  }

  /** Whether a restored try never reached the API server and a later message about its pod supersedes it. */
  #isOutdated({ at, body }: Message<"done.write">): boolean {
    const pod = this.#state.pods.get(body.uid);
    return pod !== undefined && pod.publishedAt > at && !wasSent(body.outcome) && body.outcome !== "gone";
  }

  #keepLastState(message: AnyMessage): void {
    if (this.#store === null) return;
    const state = lastStateOf(message, this.#state);
    if (state?.action === "keep") this.#store.keep(state.key, message);
    if (state?.action === "forget") this.#store.forget(state.key);
  }

  #gain(shard: number): void {
    const { bus, clock } = this.#io;
    this.#leases.get(shard)?.();
    const stop = bus.subscribe("observed.lease", shard, ({ at, body }) => {
      const now = clock.monotonicMs();
      const fresh = body.heartbeats.filter(({ node, seenAt }) => this.#ages.beat(node, translated(seenAt, at, now)));
      this.#metrics.heartbeats(fresh.length);
    });
    this.#leases.set(shard, stop);
  }

  #lose(shard: number): void {
    this.#leases.get(shard)?.();
    this.#leases.delete(shard);
    this.#ages.keep((node) => shardOf(node) !== shard);
  }

  #refresh(): void {
    const { clock, policies } = this.#io;
    const now = clock.monotonicMs();
    const set = policies.current();
    if (set !== null) this.#metrics.policies(set, clock.wallMs());
    this.#foreign.review();
    const at = { historyEntries: this.#history.size, nowMs: now, wallMs: clock.wallMs() };
    this.#metrics.refresh(this.#state, this.#ages, this.#watchHealth.report(now), at);
  }

  #sweep(): void {
    const { clock, policies, profile } = this.#io;
    const [nowMs, wallMs] = [clock.monotonicMs(), clock.wallMs()];
    const freezes = presentFreezes(policies.current(), profile, wallMs);
    this.#state.pods.forgetSettled(wallMs, {
      isSilent: (node) => this.#state.nodes.get(node)?.judged?.readiness === "unknown",
      isFrozen: (judged, node) => {
        const record = this.#state.nodes.get(node);
        if (record === undefined) return false;
        if (isInOutage(judged)) return true;
        return isBeforeFreeze(judged, record, freezes) || frozenEviction(judged, record, freezes) !== null;
      },
    });
    const isKnown = (node: string): boolean => this.#inventory.unknownReason(node, nowMs) === null;
    this.#state.forgetUnobserved(isKnown);
    // Messages of several publishers cross: a judgement or a heartbeat may come after its node has left.
    const mayExist = (node: string): boolean => this.#state.nodes.has(node) || !isKnown(node);
    const isPending = (uid: string): boolean => this.#state.pods.get(uid)?.judged?.eviction === "pending";
    this.#missingJudgements.keep(mayExist, isPending);
    this.#ages.keep(mayExist);
    this.#comparison.sweep(wallMs, isKnown);
    if (!this.#inventory.isKnown(nowMs)) return;
    for (const judged of this.#state.takeVanished(wallMs - VANISHED_MS)) {
      this.#metrics.vanished(judged);
      this.#timeline.drop(judged.zone);
    }
  }

  #repeating(periodMs: number, run: () => void): Stop {
    const next = () => {
      run();
      timer = this.#io.clock.after(periodMs, next);
    };
    let timer = this.#io.clock.after(periodMs, next);
    return () => timer.cancel();
  }
}
