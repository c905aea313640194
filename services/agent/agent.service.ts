/** The agent: a kubelet without pods. It registers this machine as a node and keeps lease and status up to date. */
import { EventSource } from "../../protocols/names.ts";
import type { Io, Timer } from "../../protocols/ports.ts";
import type { Occurrence } from "../platform/kube/events/event-correlator.ts";
import { EventRecorder } from "../platform/kube/events/event-recorder.ts";
import { retryPauseMs } from "../structures/retry-schedule.ts";
import type { AgentSettings } from "./agent.settings.ts";
import { jittered, renewPeriodMs } from "./lease.policy.ts";
import { LeaseKeeper } from "./lease.ts";
import type { MachineStatsSource } from "./machine-stats.ts";
import type { NodeObject } from "./node-object.ts";
import { initialNode } from "./registration.policy.ts";
import { type Candidate, nodeRef, register } from "./registration.ts";
import {
  afterCheck,
  networkProblems,
  type RuntimeState,
  runtimeProblems,
  UNCHECKED_RUNTIME,
} from "./runtime-check.policy.ts";
import type { Health, NodeEvent } from "./setters/setter.ts";
import { computeStatus } from "./setters.ts";
import { StatusSync } from "./status.sync.ts";

/** The ports and settings of an agent. */
export interface AgentIo extends Pick<Io, "clock" | "kube" | "random" | "log" | "metrics"> {
  readonly stats: MachineStatsSource;
  readonly settings: AgentSettings;
  /** Called when heartbeats fail repeatedly, so that connections can be replaced. */
  readonly onRepeatedFailure?: () => void;
}

const STARTING: NodeEvent = { type: "Normal", reason: "Starting", message: "Starting kubelet." };

/** Computes the node that would be registered now, with the problems found; sends nothing. */
export function previewNode(io: AgentIo, done: (candidate: Candidate, problems: readonly string[]) => void): void {
  io.stats.checkRuntime((report) => {
    const runtime = afterCheck(UNCHECKED_RUNTIME, report, io.clock.monotonicMs());
    const preview = new StatusSync({
      ...io,
      health: () => healthOf(runtime, io, false),
      found: () => {},
      emit: () => {},
      onRepeatedFailure: () => {},
    });
    buildCandidate(preview, io.settings, ({ problems, ...candidate }) => done(candidate, problems));
  });
}

/** A node ready to be registered, with the Events of its first status. */
interface Built extends Candidate {
  readonly events: readonly NodeEvent[];
  readonly problems: readonly string[];
}

function buildCandidate(sync: StatusSync, settings: AgentSettings, done: (built: Built) => void): void {
  sync.measure((input) => {
    const { resetExtendedResources } = input.stats;
    done({ ...computeStatus(initialNode(settings, input.stats), input), resetExtendedResources });
  });
}

function healthOf(runtime: RuntimeState, { clock, settings }: AgentIo, shuttingDown: boolean): Health {
  return {
    runtime: runtimeProblems(runtime, clock.monotonicMs(), settings.runtimeDownMs),
    network: networkProblems(runtime),
    shuttingDown,
  };
}

/** Events name the node's real uid, so that they appear beside the controller's (better than D27). */
function occurrenceOf({ metadata: { name, uid = "" } }: NodeObject, event: NodeEvent): Occurrence {
  const involvedObject = { apiVersion: "v1", kind: "Node", namespace: "", name, uid } as const;
  return { involvedObject, ...event, component: EventSource.kubelet, host: name };
}

/** Runs the kubelet's loops for one node. */
export class Agent {
  readonly #io: AgentIo;
  readonly #status: StatusSync;
  readonly #lease: LeaseKeeper;
  readonly #events: EventRecorder;
  readonly #timers = new Map<string, Timer>();
  readonly #startedMs: number;
  #runtime: RuntimeState = UNCHECKED_RUNTIME;
  #registered = false;
  /** Whether the Event of the start is recorded. */
  #started = false;
  #shuttingDown = false;
  /** Whether the node was missing at the last read. */
  #absent = false;
  #stopRegistering: (() => void) | null = null;

  constructor(io: AgentIo) {
    const { clock, kube, log, settings, onRepeatedFailure = () => {} } = io;
    this.#io = io;
    this.#events = new EventRecorder(io);
    this.#startedMs = clock.monotonicMs();
    this.#status = new StatusSync({
      ...io,
      onRepeatedFailure,
      health: () => healthOf(this.#runtime, io, this.#shuttingDown),
      found: (node) => this.#recordEvents(node, [STARTING]),
      emit: (node, events) => this.#recordEvents(node, events),
    });
    this.#lease = new LeaseKeeper({
      clock,
      kube,
      log,
      onRepeatedFailure,
      nodeName: settings.nodeName,
      leaseSeconds: settings.leaseSeconds,
      owner: (done) =>
        kube.read(nodeRef(settings.nodeName), (reply) =>
          done(reply.outcome === "ok" ? (reply.object.metadata.uid ?? null) : null),
        ),
    });
    this.#checkRuntime(() => this.#begin());
  }

  registered(): boolean {
    return this.#registered;
  }

  /** Posts that the node is shutting down, deletes the lease if set so, and ends; calls `done` once. */
  stop(done: () => void): void {
    this.#shuttingDown = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#stopRegistering?.();
    this.#lease.stop();
    this.#status.hurry();
    // In parallel, so that throttling of one does not delay the other.
    const steps = [
      ...(this.#registered ? [(over: () => void) => this.#status.sync(over)] : []),
      ...(this.#io.settings.deleteLeaseOnStop ? [(over: () => void) => this.#lease.remove(over)] : []),
    ];
    let open = steps.length;
    const over = () => {
      open -= 1;
      if (open === 0) done();
    };
    if (open === 0) done();
    for (const begin of steps) begin(over);
  }

  #recordEvents(node: NodeObject, events: readonly NodeEvent[]): void {
    for (const event of events) this.#events.record(occurrenceOf(node, event));
  }

  /** Starts the loops after the first check of the runtime. */
  #begin(): void {
    if (this.#shuttingDown) return;
    const { settings } = this.#io;
    this.#later("runtime", settings.runtimeCheckMs, () => this.#watchRuntime());
    this.#renew();
    if (settings.registerNode) this.#register();
    else {
      this.#registered = true;
      this.#sync();
    }
    this.#later("fast", settings.fastStatusMs, () => this.#fast());
  }

  #later(loop: string, delayMs: number, run: () => void): void {
    this.#timers.get(loop)?.cancel();
    if (!this.#shuttingDown) this.#timers.set(loop, this.#io.clock.after(delayMs, run));
  }

  #checkRuntime(next: () => void): void {
    this.#io.stats.checkRuntime((report) => {
      this.#runtime = afterCheck(this.#runtime, report, this.#io.clock.monotonicMs());
      next();
    });
  }

  #watchRuntime(): void {
    this.#checkRuntime(() => this.#later("runtime", this.#io.settings.runtimeCheckMs, () => this.#watchRuntime()));
  }

  /** Registers, then posts the status; renews the lease at once, because its owner exists only now. */
  #register(): void {
    const { clock, kube, log, settings } = this.#io;
    let built: Built | null = null;
    const retries = { baseMs: settings.registerFirstMs, maxMs: settings.registerMaxMs };
    this.#stopRegistering = register(
      {
        clock,
        kube,
        log,
        pauseMs: (attempt) => retryPauseMs(attempt + 1, retries),
        candidate: (use) =>
          buildCandidate(this.#status, settings, (fresh) => {
            built = fresh;
            use(fresh);
          }),
      },
      (node, created) => {
        this.#stopRegistering = null;
        log.info("node registered", { node: settings.nodeName, created });
        this.#registrationDone(node, created ? (built?.events ?? []) : []);
      },
    );
  }

  #registrationDone(node: NodeObject, events: readonly NodeEvent[]): void {
    this.#registered = true;
    this.#status.registered(node, this.#started ? events : [STARTING, ...events]);
    this.#started = true;
    this.#renew();
    this.#sync();
  }

  #renew(): void {
    const { random, settings } = this.#io;
    this.#lease.renew(() =>
      this.#later("lease", jittered(renewPeriodMs(settings.leaseSeconds), random), () => this.#renew()),
    );
  }

  #sync(): void {
    const { random, settings } = this.#io;
    this.#status.sync((outcome) => {
      if (outcome !== "failed") this.#noteAbsence(outcome === "gone");
      if (outcome === "gone" && settings.registerNode) this.#registerAgain();
      else this.#later("status", jittered(settings.statusComputeMs, random), () => this.#sync());
    });
  }

  #noteAbsence(absent: boolean): void {
    const { log, settings } = this.#io;
    if (absent && !this.#absent && !settings.registerNode) {
      log.warn("node is missing and --register-node=false: create the node or set --register-node", {
        node: settings.nodeName,
      });
    }
    this.#absent = absent;
  }

  /** Better than R9.4: a deleted node is registered again without a restart (L47). */
  #registerAgain(): void {
    if (this.#shuttingDown) return;
    this.#io.log.warn("node was deleted, registering it again", { node: this.#io.settings.nodeName });
    this.#registered = false;
    this.#lease.forget();
    this.#register();
  }

  #fast(): void {
    const { clock, log, settings } = this.#io;
    if (clock.monotonicMs() - this.#startedMs >= settings.fastStatusLimitMs) {
      log.error("node was not ready in time after the start", { node: settings.nodeName });
      return;
    }
    this.#checkRuntime(() =>
      this.#status.fast((completed) => {
        if (!completed) this.#later("fast", settings.fastStatusMs, () => this.#fast());
      }),
    );
  }
}
