/**
 * The ledger subscribes to all four kinds of message and keeps the record: history, explanations, Kubernetes Events and
 * metrics. Its five parts see each message in one order; this file starts them. The ledger decides nothing.
 */
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type { AnyMessage, MessageType } from "../../protocols/messages.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { definitionOf } from "../../protocols/wire.ts";
import { CompareSubscriber } from "./compare/compare-subscriber.ts";
import { explanationsOf } from "./explain/explanations.ts";
import { type LedgerOptions, type LedgerSetup, setupOf } from "./ledger.setup.ts";
import { RecordSubscriber } from "./record/record-subscriber.ts";
import { ReportSubscriber } from "./report/report-subscriber.ts";
import { reportsOf } from "./report/reports.ts";
import { LostReplies } from "./state/lost-replies.ts";
import { StateSubscriber } from "./state/state-subscriber.ts";

/** How often the gauges that change with time alone are set. */
const REFRESH_MS = 2000;
/** How often the store records that this ledger still runs: its comparison has no gap until then. */
const RUNNING_MS = 10_000;
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

/** A running ledger. */
export interface Ledger {
  readonly reader: LedgerReader;
  readonly stop: Stop;
}

/** Starts a ledger. */
export function startLedger(io: Io, options: LedgerOptions = {}): Ledger {
  const ledger = new RunningLedger(io, options);
  return { reader: ledger.reader, stop: () => ledger.stop() };
}

class RunningLedger {
  readonly reader: LedgerReader;
  readonly #setup: LedgerSetup;
  readonly #state: StateSubscriber;
  readonly #record: RecordSubscriber;
  readonly #report: ReportSubscriber;
  readonly #compare: CompareSubscriber;
  readonly #lostReplies = new LostReplies();
  readonly #stops: readonly Stop[];

  constructor(io: Io, options: LedgerOptions) {
    const setup = setupOf(io, options);
    this.#setup = setup;
    const onHeartbeats = (count: number) => this.#report.onHeartbeats(count);
    this.#state = new StateSubscriber(setup, (message) => this.#receive(message), onHeartbeats);
    this.#record = new RecordSubscriber(setup, this.#state.cluster);
    this.#report = new ReportSubscriber(setup, this.#state);
    this.#compare = new CompareSubscriber(setup, this.#record);
    this.reader = this.#newReader();
    setup.store?.restore({
      message: (message) => this.#restore(message),
      compared: (records) => this.#compare.comparison.restore(records, io.clock.wallMs()),
    });
    this.#stops = this.#follow();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#compare.comparison.noteRunning(this.#setup.io.clock.wallMs());
    this.#report.stop();
    this.#record.stop();
  }

  #newReader(): LedgerReader {
    const { io, store } = this.#setup;
    const { clock } = io;
    const { history, onDecision } = this.#record;
    const { comparison } = this.#compare;
    return {
      ...reportsOf(this.#setup, this.#state),
      ...explanationsOf(this.#setup, this.#state, history),
      decisions: (limit) => history.latest(limit),
      timeline: () => {
        const report = this.#report.timeline.report(clock.wallMs());
        // A writer whose clock is ahead dates a verdict behind the end of the picture.
        const leads = comparison.leads(report.fromAt).map((lead) => ({ ...lead, at: Math.min(lead.at, report.at) }));
        return { ...report, leads };
      },
      compare: (sinceAt) => comparison.report(sinceAt, clock.wallMs(), store?.ready() === true),
      onDecision,
    };
  }

  #follow(): Stop[] {
    const { bus, clock } = this.#setup.io;
    const deliver = (message: unknown) => this.#receive(message as AnyMessage);
    return [
      ...RECORDED_TYPES.map((type) => bus.subscribe(type, "all", deliver)),
      this.#state.follow(),
      this.#repeating(REFRESH_MS, () => this.#refresh()),
      this.#repeating(SWEEP_MS, () => this.#sweep()),
      this.#repeating(RUNNING_MS, () => this.#compare.comparison.noteRunning(clock.wallMs())),
    ];
  }

  #receive(message: AnyMessage): void {
    if (this.#state.isOutdated(message)) return;
    for (const received of this.#lostReplies.onMessage(message)) this.#process(received);
  }

  /** Events, text and counts follow from the message and the state before it, so the state comes last. */
  #process(message: AnyMessage): void {
    const isOurs = this.#setup.io.fleet.owns("ledger", definitionOf(message.type).shard(message.body));
    this.#report.onMessage(message, isOurs);
    const decision = this.#record.onMessage(message, isOurs);
    if (decision !== null && isOurs) this.#report.onDecision(decision);
    this.#compare.onMessage(message);
    this.#state.onMessage(message);
  }

  /** Restored messages add to the history and to the pending pods; they cause no Event and no count. */
  #restore(stored: AnyMessage): void {
    for (const message of this.#lostReplies.onMessage(stored)) {
      this.#state.restore(message);
      this.#record.restore(message);
    }
  }

  #refresh(): void {
    this.#state.heartbeats.review();
    this.#report.refresh(this.#record.history.size);
  }

  #sweep(): void {
    const vanished = this.#state.sweep();
    this.#compare.comparison.sweep(this.#setup.io.clock.wallMs(), this.#state.isKnown);
    this.#report.onVanished(vanished);
  }

  #repeating(periodMs: number, run: () => void): Stop {
    const next = () => {
      run();
      timer = this.#setup.io.clock.after(periodMs, next);
    };
    let timer = this.#setup.io.clock.after(periodMs, next);
    return () => timer.cancel();
  }
}
