/** Reads the node, computes its status and posts it if it is due. The agent decides when. */
import { ConditionType } from "../../protocols/names.ts";
import { type Io, type ReadReply, Urgency, type WriteReply } from "../../protocols/ports.ts";
import type { AgentSettings } from "./agent.settings.ts";
import type { MachineStats, MachineStatsSource } from "./machine-stats.ts";
import { asNode, conditionOf, type NodeObject } from "./node-object.ts";
import { afterMeasurement, type PressureState, pressuresAt } from "./pressure.policy.ts";
import { nodeRef } from "./registration.ts";
import type { Health, NodeEvent, ReportedState, SetterInput } from "./setters/setter.ts";
import { statusPatch } from "./status.patch.ts";
import {
  extraDelayMs,
  isReportDue,
  type LastReport,
  NOTHING_REPORTED,
  podCidrsOf,
  type UpdatedNode,
  updateNode,
} from "./status.policy.ts";

/** kubelet's nodeStatusUpdateRetry. */
const TRIES = 5;
/** The longest pause after throttling once the agent ends. */
const LAST_PAUSE_MS_MAX = 2_000;

/** The ports and settings of a status sync. */
export interface StatusSyncOptions extends Pick<Io, "clock" | "kube" | "random" | "log"> {
  readonly settings: AgentSettings;
  readonly stats: MachineStatsSource;
  readonly health: () => Health;
  /** Called once, with the first node read if the agent did not register it. */
  readonly found: (node: NodeObject) => void;
  /** Emits Events about the node, after the status they report is posted (better than L46). */
  readonly emit: (node: NodeObject, events: readonly NodeEvent[]) => void;
  /** Called when posts fail repeatedly, because the connection may be dead. */
  readonly onRepeatedFailure: () => void;
}

/** The outcome of a sync: `gone` means that the node is missing, `failed` that the status could not be posted. */
export type SyncOutcome = "posted" | "unchanged" | "gone" | "failed";

type Refusal = Exclude<ReadReply | WriteReply, { outcome: "ok" }>;

/** Computes and posts a node's status; calls run one after the other. */
export class StatusSync {
  readonly #options: StatusSyncOptions;
  #last: LastReport = NOTHING_REPORTED;
  #reported: ReportedState = { unschedulable: false, reboot: false };
  #podCidrs = "";
  #pressure: PressureState = {};
  /** The node as last read or posted. */
  #known: NodeObject | null = null;
  #busy = false;
  #hurried = false;
  /** Ends the sync that waits after throttling. */
  #giveUp: (() => void) | null = null;
  readonly #waiting: (() => void)[] = [];

  constructor(options: StatusSyncOptions) {
    this.#options = options;
  }

  /** Shortens all waits from now on; a sync that waits after throttling ends at once. */
  hurry(): void {
    this.#hurried = true;
    this.#giveUp?.();
  }

  /** Measures the machine and builds the setters' input. */
  measure(use: (input: SetterInput) => void): void {
    this.#options.stats.read((stats) => use(this.#inputOf(stats)));
  }

  /** Records the node that was just registered and emits the Events of its first status. */
  registered(node: NodeObject, events: readonly NodeEvent[]): void {
    this.#known = node;
    this.#reportEvents(node, events);
  }

  /** Reads the node, computes its status and posts it if it changed or is due, with up to five attempts (R9.9). */
  sync(done: (outcome: SyncOutcome) => void): void {
    this.#exclusively((release) =>
      this.#try(0, (outcome) => {
        release();
        done(outcome);
      }),
    );
  }

  /** Posts the status as soon as a new node becomes ready; calls `done` with whether that is completed. */
  fast(done: (completed: boolean) => void): void {
    const known = this.#known;
    const ready = known === null ? undefined : conditionOf(known, ConditionType.ready);
    if (known === null || ready === undefined || this.#busy) done(false);
    else if (ready.status === "True") done(true);
    else this.#exclusively((release) => this.#fastUpdate(known, release, done));
  }

  #fastUpdate(known: NodeObject, release: () => void, done: (completed: boolean) => void): void {
    const finish = (completed: boolean) => {
      release();
      done(completed);
    };
    this.measure((input) => {
      const updated = updateNode(known, input, this.#podCidrs);
      const ready = conditionOf(updated.node, ConditionType.ready);
      if (!updated.changed || ready === undefined || ready.status === "False") {
        finish(false);
        return;
      }
      this.#options.log.info("node just became ready, posting its status", { node: known.metadata.name });
      this.#post(known, updated, (refusal) => {
        if (refusal === null) finish(true);
        else {
          release();
          this.sync(() => done(true));
        }
      });
    });
  }

  #try(tried: number, done: (outcome: SyncOutcome) => void): void {
    const { kube, log, settings, onRepeatedFailure } = this.#options;
    const failed = (refusal: Refusal) => {
      if (refusal.outcome === "gone") {
        done("gone");
        return;
      }
      if (tried > 0) onRepeatedFailure();
      log.warn("node status not posted", { node: settings.nodeName, attempt: tried + 1, detail: refusal.detail });
      if (tried + 1 === TRIES) {
        log.error("node status not posted, waiting for the next period", { node: settings.nodeName, tries: TRIES });
        done("failed");
      } else if (refusal.outcome === "throttled") this.#tryLater(refusal.retryAfterMs, tried, done);
      else this.#try(tried + 1, done);
    };
    kube.read(nodeRef(settings.nodeName), (reply) => {
      if (reply.outcome === "ok") this.#update(asNode(reply.object), failed, done);
      else failed(reply);
    });
  }

  #tryLater(delayMs: number, tried: number, done: (outcome: SyncOutcome) => void): void {
    const { clock, settings } = this.#options;
    if (this.#hurried && this.#waiting.length > 0) {
      done("failed");
      return;
    }
    const pauseMsMax = this.#hurried ? LAST_PAUSE_MS_MAX : settings.statusComputeMs;
    const pause = clock.after(Math.min(delayMs, pauseMsMax), () => {
      this.#giveUp = null;
      this.#try(tried + 1, done);
    });
    this.#giveUp = () => {
      this.#giveUp = null;
      pause.cancel();
      done("failed");
    };
  }

  #update(node: NodeObject, failed: (refusal: Refusal) => void, done: (outcome: SyncOutcome) => void): void {
    if (this.#known === null) this.#options.found(node);
    this.#known = node;
    this.measure((input) => {
      const { clock, log, settings } = this.#options;
      const updated = updateNode(node, input, this.#podCidrs);
      for (const problem of updated.problems) log.warn("part of the node status could not be set", { problem });
      if (!isReportDue(this.#last, updated.changed, clock.monotonicMs(), settings.statusReportMs)) {
        this.#reportEvents(node, updated.events);
        done("unchanged");
        return;
      }
      this.#post(node, updated, (refusal) => {
        if (refusal === null) done("posted");
        else failed(refusal);
      });
    });
  }

  #post(node: NodeObject, updated: UpdatedNode, done: (refusal: Refusal | null) => void): void {
    const { clock, kube, random, settings } = this.#options;
    const { statusReportMs } = settings;
    const delayMs = extraDelayMs(this.#last, updated.changed, statusReportMs, random);
    const body = statusPatch(node, updated.node) ?? {};
    const request = { ref: nodeRef(settings.nodeName), urgency: Urgency.status, subresource: "status" } as const;
    kube.write({ ...request, verb: "patch", patch: "strategic", body }, (reply) => {
      if (reply.outcome !== "ok") {
        done(reply);
        return;
      }
      this.#last = { atMs: clock.monotonicMs(), extraDelayMs: delayMs };
      this.#known = asNode(reply.object);
      this.#podCidrs = podCidrsOf(node);
      this.#reportEvents(this.#known, updated.events);
      done(null);
    });
  }

  #inputOf(stats: MachineStats): SetterInput {
    const { clock, settings, health } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#pressure = afterMeasurement(this.#pressure, stats.headroom, settings.thresholds, nowMs);
    return {
      stats,
      settings,
      nowMs: clock.wallMs(),
      pressures: pressuresAt(this.#pressure, nowMs, settings.pressureTransitionMs),
      health: health(),
      reported: this.#reported,
    };
  }

  #reportEvents(node: NodeObject, events: readonly NodeEvent[]): void {
    const hasEvent = (...reasons: string[]) => events.some(({ reason }) => reasons.includes(reason));
    this.#reported = {
      unschedulable: this.#reported.unschedulable !== hasEvent("NodeSchedulable", "NodeNotSchedulable"),
      reboot: this.#reported.reboot || hasEvent("Rebooted"),
    };
    if (events.length > 0) this.#options.emit(node, events);
  }

  #exclusively(run: (release: () => void) => void): void {
    if (this.#busy) {
      this.#waiting.push(() => this.#exclusively(run));
      return;
    }
    this.#busy = true;
    run(() => {
      this.#busy = false;
      this.#waiting.shift()?.();
    });
  }
}
