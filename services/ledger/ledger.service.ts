/**
 * The ledger: hears all four kinds of message and keeps account of them. It wires policies to ports and decides
 * nothing.
 */
import type { AnyMessage, BodyOf, Message, MessageType } from "../../protocols/messages.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import type { Decision, LedgerReader } from "../../protocols/status.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { definitionOf } from "../../protocols/wire.ts";
import { EventRecorder } from "../platform/kube/events/event-recorder.ts";
import { ClusterSight } from "../platform/shard-view/cluster-sight.ts";
import { translated } from "../platform/shard-view/shard-sight.ts";
import { RetrySchedule, requestRetries } from "../platform/structures/retry-schedule.ts";
import { Census } from "./census.ts";
import { DrainPods } from "./drain-pods.ts";
import { eventsOf } from "./events.policy.ts";
import { Facts, wasOrdered } from "./facts.ts";
import { HeartbeatAges } from "./heartbeat-ages.ts";
import { History } from "./history.ts";
import { lastStateOf } from "./last-state.policy.ts";
import { LedgerMetrics } from "./ledger.metrics.ts";
import { ledgerReader, VANISHED_MS } from "./ledger.reader.ts";
import type { LedgerStore } from "./ledger.store.ts";
import { LivePods } from "./live-pods.ts";
import { LostReplies } from "./lost-replies.ts";
import { RecalledPods } from "./recalled-pods.ts";
import { instantOf, sentenceOf, subjectOf } from "./sentences.policy.ts";
import { Unjudged } from "./unjudged.ts";

/** How often metrics that change with time alone are set. */
const REFRESH_MS = 2000;
/** Processes that started within this time of each other may all be the first to see a node. */
const STARTED_TOGETHER_MS = 30_000;
/** How often pods that became moot, and nodes and zones that left without a word, are looked for. */
const SWEEP_MS = 60_000;

/**
 * What every ledger of a fleet hears in full, so that each can explain every object; only the owner of a shard acts on
 * it.
 */
const HEARD: readonly MessageType[] = [
  "observed.node",
  "observed.gone",
  "judged.node",
  "judged.zone",
  "judged.pod",
  "asked.condition",
  "asked.taint",
  "asked.label",
  "asked.eviction",
  "asked.unready",
  "asked.drain",
  "done.write",
];

/** The facts before anything was told. */
const NOTHING_KNOWN = new Facts();

/** A running ledger. */
export interface Ledger {
  readonly reader: LedgerReader;
  readonly stop: Stop;
}

/** Starts a ledger; with a store its history outlives the process. */
export function startLedger(io: Io, store: LedgerStore | null = null): Ledger {
  const ledger = new RunningLedger(io, store);
  return { reader: ledger.reader, stop: () => ledger.stop() };
}

class RunningLedger {
  readonly reader: LedgerReader;
  readonly #io: Io;
  readonly #store: LedgerStore | null;
  /** Epoch milliseconds. */
  readonly #startedAt: number;
  readonly #facts = new Facts();
  readonly #census: Census;
  readonly #history = new History();
  readonly #recalled = new RecalledPods(this.#facts);
  readonly #drainPods = new DrainPods();
  readonly #lostReplies = new LostReplies();
  readonly #unjudged: Unjudged;
  readonly #ages = new HeartbeatAges();
  readonly #sight: ClusterSight;
  readonly #metrics: LedgerMetrics;
  readonly #recorder: EventRecorder;
  readonly #listeners = new Set<(decision: Decision) => void>();
  readonly #leases = new Map<number, Stop>();
  readonly #resyncs: RetrySchedule<number>;
  /** Ends the subscription to observed.pods; null while there is none. */
  #podsStop: Stop | null = null;
  readonly #stops: Stop[];

  constructor(io: Io, store: LedgerStore | null) {
    this.#io = io;
    this.#store = store;
    this.#startedAt = io.clock.wallMs();
    this.#census = new Census(io.profile, io.clock.monotonicMs());
    this.#sight = new ClusterSight(io.profile, io.clock.monotonicMs());
    this.#metrics = new LedgerMetrics(io.metrics);
    this.#recorder = new EventRecorder(io);
    this.#resyncs = new RetrySchedule(requestRetries(io.profile));
    this.#unjudged = new Unjudged(io.profile);
    this.reader = ledgerReader({
      facts: this.#facts,
      history: this.#history,
      sight: this.#sight,
      census: this.#census,
      livePods: new LivePods(io),
      drainPods: this.#drainPods,
      clock: io.clock,
      profile: io.profile,
      onDecision: (tell) => {
        this.#listeners.add(tell);
        return () => this.#listeners.delete(tell);
      },
    });
    this.#followPods();
    store?.restore((message) => this.#recall(message));
    this.#stops = [
      ...HEARD.map((type) => io.bus.subscribe(type, "all", (message) => this.#hear(message as AnyMessage))),
      io.bus.subscribe("observed.pulse", "all", (message) => this.#feelPulse(message)),
      io.bus.subscribe("pulse.member", "all", ({ body }) => this.#hearMember(body)),
      io.fleet.follow("ledger", { gained: (shard) => this.#gain(shard), lost: (shard) => this.#lose(shard) }),
      this.#repeating(REFRESH_MS, () => this.#refresh()),
      this.#repeating(SWEEP_MS, () => this.#sweep()),
    ];
  }

  stop(): void {
    for (const stop of [...this.#stops, ...this.#leases.values()]) stop();
    this.#podsStop?.();
    this.#recorder.stop();
    this.#listeners.clear();
  }

  #hear(message: AnyMessage): void {
    for (const heard of this.#lostReplies.take(message)) this.#account(heard);
  }

  /** Everything is derived from the message and the facts before it; the facts follow last. */
  #account(message: AnyMessage): void {
    const facts = this.#facts;
    const isOurs = this.#io.fleet.owns("ledger", definitionOf(message.type).shard(message.body));
    const events = eventsOf(message, facts);
    const note = this.#noteOf(message, facts);
    if (message.type === "judged.zone") this.#metrics.zone(message.body, !facts.zones.has(message.body.zone));
    if (isOurs) {
      this.#metrics.count(message, facts, this.#io.profile.evictionMode);
      this.#keepLastState(message);
    }
    this.#follow(message);
    for (const event of events) {
      if (event.noted !== undefined) facts.told(event.involvedObject.name, event.noted);
      if (isOurs) this.#recorder.record(event);
    }
    this.#tell(note());
  }

  /** Keeps a message in the words it has now, once the facts have followed it. A verdict told again is no other one. */
  #noteOf(message: AnyMessage, before: Facts): () => Decision | null {
    const { type } = message;
    const [subject, text, at] = [subjectOf(message), sentenceOf(message, before), instantOf(message, before)];
    const isSame = (kept: Decision) => kept.type === type && kept.text === text && kept.at === at;
    const isKept = text !== null && type === "judged.node" && this.#history.of(subject).some(isSame);
    const dated = at === message.at ? message : { ...message, at };
    return () => this.#history.add(dated, subject, isKept ? null : text);
  }

  #follow(message: AnyMessage): void {
    if (message.type === "observed.node") {
      this.#recalled.see(message.body);
      this.#drainPods.see(message.body);
      this.#facts.apply({ ...message, body: this.#census.take(message.body) });
      const isJudged = this.#facts.show(message.body);
      this.#unjudged.see(message.body.node, isJudged, this.#io.clock.monotonicMs());
      return;
    }
    if (message.type === "observed.gone") {
      this.#census.takeGone(message.body);
      this.#ages.forget(message.body.node);
      this.#recalled.lose(message.body.node);
      this.#drainPods.lose(message.body.node);
      this.#unjudged.lose(message.body.node);
    }
    if (message.type === "judged.node") this.#unjudged.judged(message.body.node);
    if (message.type === "judged.pod") this.#recalled.confirm(message.body);
    this.#facts.apply(message);
  }

  /** Learns whether another ledger has long been running, and so has reported the nodes that are there. */
  #hearMember({ member, services, since }: BodyOf<"pulse.member">): void {
    const isElder = since < this.#startedAt - STARTED_TOGETHER_MS;
    if (member !== this.#io.fleet.member && isElder && services.includes("ledger")) {
      this.#facts.joinedAt = this.#startedAt;
    }
  }

  #feelPulse(message: Message<"observed.pulse">): void {
    const now = this.#io.clock.monotonicMs();
    this.#sight.hear(message, now);
    const { departed, resync } = this.#census.takePulse(message, now);
    for (const { node, uid } of departed) {
      this.#hear({ ...message, type: "observed.gone", id: `${message.id}/${node}`, body: { node, uid } });
    }
    const reason = resync ?? this.#reviewRecalled(message.body, now) ?? this.#unjudged.resyncReason(message.body, now);
    if (reason !== null) this.#io.bus.publish("asked.resync", { shard: message.body.shard, reason }, message.id);
  }

  /**
   * Forgets recalled pods whose nodes are not there. Returns why the shard has to be resynced: pods recalled after its
   * last resync are confirmed by the next one only.
   */
  #reviewRecalled({ shard, watches }: BodyOf<"observed.pulse">, nowMs: number): string | null {
    if (this.#recalled.isEmpty || !this.#census.isTold(shard, nowMs)) return null;
    this.#recalled.loseAbsent(shard);
    this.#followPods();
    if (!this.#recalled.hasAnyOf(shard)) {
      this.#resyncs.forget(shard);
      return null;
    }
    return watches.pods.synced && this.#resyncs.isDue(shard, nowMs) ? "recalled pods are not confirmed" : null;
  }

  /**
   * Hears observed.pods for as long as a recalled pod is not confirmed, and always in direct mode, where drains are
   * foretold: otherwise the ledger has no use for them.
   */
  #followPods(): void {
    const isDirect = this.#io.profile.evictionMode === "direct";
    if (this.#recalled.isEmpty && !isDirect) {
      this.#podsStop?.();
      this.#podsStop = null;
    } else {
      this.#podsStop ??= this.#io.bus.subscribe("observed.pods", "all", ({ body }) => {
        this.#recalled.seePods(body);
        if (isDirect) this.#drainPods.seePods(body);
      });
    }
  }

  /** What an earlier ledger kept is explained, never counted or acted on; only the pods that waited wait on. */
  #recall(kept: AnyMessage): void {
    for (const message of this.#lostReplies.take(kept)) this.#recallOne(message);
  }

  #recallOne(message: AnyMessage): void {
    if (message.type === "judged.pod") {
      this.#recalled.take(message);
      this.#followPods();
    }
    if (message.type === "done.write" && !this.#isOutdated(message)) this.#facts.apply(message);
    this.#noteOf(message, NOTHING_KNOWN)();
  }

  /** Whether a recalled try gave no order, and its pod was spoken of since: it says nothing about the next try. */
  #isOutdated({ at, body }: Message<"done.write">): boolean {
    const pod = this.#facts.pods.get(body.uid);
    return pod !== undefined && pod.toldAt > at && !wasOrdered(body.outcome) && body.outcome !== "gone";
  }

  #keepLastState(message: AnyMessage): void {
    if (this.#store === null) return;
    const state = lastStateOf(message, this.#facts);
    if (state?.action === "keep") this.#store.keep(state.key, message);
    if (state?.action === "forget") this.#store.forget(state.key);
  }

  #tell(decision: Decision | null): void {
    if (decision !== null) for (const listener of this.#listeners) listener(decision);
  }

  #gain(shard: number): void {
    const { bus, clock } = this.#io;
    this.#leases.get(shard)?.();
    const stop = bus.subscribe("observed.lease", shard, ({ at, body }) => {
      const now = clock.monotonicMs();
      const news = body.heartbeats.filter(({ node, seenAt }) => this.#ages.beat(node, translated(seenAt, at, now)));
      this.#metrics.heartbeats(news.length);
    });
    this.#leases.set(shard, stop);
  }

  #lose(shard: number): void {
    this.#leases.get(shard)?.();
    this.#leases.delete(shard);
    this.#ages.keep((node) => shardOf(node) !== shard);
  }

  #refresh(): void {
    const now = this.#io.clock.monotonicMs();
    this.#metrics.refresh(this.#facts, this.#ages, this.#sight.report(now), this.#history.size, now);
  }

  #sweep(): void {
    const { clock } = this.#io;
    const [nowMs, wallMs] = [clock.monotonicMs(), clock.wallMs()];
    this.#facts.pods.forgetMoot(wallMs, (node) => this.#facts.nodes.get(node)?.judged?.readiness === "unknown");
    this.#facts.forgetStrangers((node) => this.#census.ignorance(node, nowMs) === null);
    if (!this.#census.isWhole(nowMs)) return;
    for (const zone of this.#facts.takeVanished(wallMs - VANISHED_MS)) this.#metrics.vanished(zone);
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
