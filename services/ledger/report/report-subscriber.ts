/**
 * Reports what happens without a request: as Kubernetes Events, as metrics, in the log, and as the timeline of the last
 * hours. The owner of a shard writes Events and log, and adds to counters; every ledger sets the gauges.
 */
import type { Decision } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf } from "../../../protocols/messages.ts";
import { EventSource } from "../../../protocols/names.ts";
import { EventRecorder } from "../../platform/kube/events/event-recorder.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { StateSubscriber } from "../state/state-subscriber.ts";
import { activityOf } from "./activity.policy.ts";
import { ActivityLog } from "./activity-log.ts";
import { type EventToWrite, eventsOf, sourceAt } from "./events.policy.ts";
import { LedgerMetrics } from "./ledger.metrics.ts";
import { Timeline } from "./timeline.ts";

/** Events, metrics, log and timeline. */
export class ReportSubscriber {
  readonly timeline: Timeline;
  readonly #setup: LedgerSetup;
  readonly #state: StateSubscriber;
  readonly #metrics: LedgerMetrics;
  readonly #recorder: EventRecorder;
  readonly #activityLog: ActivityLog | null;

  constructor(setup: LedgerSetup, state: StateSubscriber) {
    const { io, activityLog, startedAt, zoneLabel } = setup;
    this.#setup = setup;
    this.#state = state;
    this.timeline = new Timeline(startedAt);
    this.#metrics = new LedgerMetrics(io.metrics, zoneLabel);
    this.#recorder = new EventRecorder(io);
    this.#activityLog = activityLog && new ActivityLog(activityLog, io.clock);
  }

  /** Reports a message, given the state before it. */
  onMessage(message: AnyMessage, isOurs: boolean): void {
    const { clock, profile } = this.#setup.io;
    const before = this.#state.cluster;
    this.#metrics.show(message, before);
    if (isOurs) {
      this.#metrics.count(message, before, profile.evictionMode);
      const activity = this.#activityLog && activityOf(message, before, profile.evictionMode);
      if (activity) this.#activityLog?.record(activity);
    }
    this.timeline.onMessage(message, before, clock.wallMs());
    for (const event of eventsOf(message, before, profile.upstream)) {
      if (event.marks !== undefined) before.noteReported(event.involvedObject.name, event.marks);
      if (isOurs) this.#record(event);
    }
  }

  /** Only Events about taints have a source that the version decides. */
  #record(event: EventToWrite): void {
    const { isShadow, io } = this.#setup;
    if (isShadow || event.component !== EventSource.taint) this.#recorder.record(event, { isUnsent: isShadow });
    else
      io.kube.minorVersion((minor) => this.#recorder.record({ ...event, component: sourceAt(minor, event.component) }));
  }

  /** Logs what a message has added to the history, if the message has no effect: nothing else would show it. */
  onDecision(decision: Decision): void {
    if (this.#setup.isShadow) this.#activityLog?.recordUnsent(decision);
  }

  onHeartbeats(count: number): void {
    this.#metrics.heartbeats(count);
  }

  /** Sets the gauges that change with time alone. */
  refresh(historyEntries: number): void {
    const { clock, policies } = this.#setup.io;
    const set = policies.current();
    if (set !== null) this.#metrics.policies(set, clock.wallMs());
    this.#metrics.refresh(this.#state, historyEntries, clock.monotonicMs(), clock.wallMs());
  }

  /** Shows zones that have lost their nodes and their owner as empty. */
  onVanished(zones: readonly BodyOf<"judged.zone">[]): void {
    for (const zone of zones) {
      this.#metrics.vanished(zone);
      this.timeline.drop(zone.zone);
    }
  }

  stop(): void {
    this.#recorder.stop();
    this.#activityLog?.stop();
  }
}
