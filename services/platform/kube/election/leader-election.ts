/**
 * One candidate of an election: takes the Lease when it may, renews it while it leads, and gives it up.
 * election.policy.ts decides.
 *
 *   standby ──the Lease is free, or has not changed for its duration──▶ leader ──release──▶ ended
 *                                                                         └──another holds the Lease, or
 *                                                                            no renewal within the deadline──▶ ended
 *
 * A candidate leads once. After another process has led, what this one knows about the cluster is outdated. So a
 * process that has lost the Lease of its work ends and starts again, as kube-controller-manager does.
 */
import type { Io, Metrics, Timer } from "../../../../protocols/ports.ts";
import { parsed } from "../../../structures/json.ts";
import { limitedWarn } from "../../process/log.limited.ts";
import type { MemoryHealth } from "../../process/memory-health.ts";
import { type Answer, call } from "../transport/call.ts";
import { refusalOf } from "../transport/outcome.policy.ts";
import { collectionPath, objectPath } from "../transport/paths.ts";
import { httpRequest, JSON_TYPE } from "../write/http-request.ts";
import {
  afterSeeing,
  attemptPauseMs,
  claimedMetadata,
  claimedSpec,
  type ElectionLease,
  type ElectionReport,
  type ElectionTimes,
  electionLeaseOf,
  holderOf,
  releasedMetadata,
  releasedSpec,
  type SeenLease,
  takeDueMs,
} from "./election.policy.ts";
import { type LeaseWatchIo, watchLease } from "./lease-watch.ts";
import type { WriteGate } from "./write-gate.ts";

/** How long the last write of a leader that leaves may take, in milliseconds. */
const RELEASE_MS = 2_000;
/** How often a problem with the Lease is logged, in milliseconds. */
const PROBLEM_PAUSE_MS = 30_000;
/** A leader's Lease that another writer changed is read and written again this often in one round. */
const REREADS_MAX = 1;

/** The names of an election in the log and the metrics. */
export interface ElectionNames {
  /** The gauge: 1 for the holder, 0 for a candidate. */
  readonly gauge: { readonly name: string; readonly help: string };
  /** The Lease, in a sentence about a problem with it. */
  readonly lease: string;
  /** The line of a candidate that takes the Lease. */
  readonly leads: string;
  /** The line of a candidate that sees another holder. */
  readonly waits: string;
}

/** The election of the process that does the work. */
export const WORK_ELECTION: ElectionNames = {
  gauge: {
    name: "vigil_leader",
    help: "1 while this process leads, 0 while it is on standby; only with --leader-elect and without NATS.",
  },
  lease: "the Lease of the leader election",
  leads: "leads from now on",
  waits: "on standby: another process leads",
};

/** The context of a candidate. Its wire is not behind the gate, because the Lease is written to open it. */
export interface LeaderElectionOptions extends LeaseWatchIo, Pick<Io, "metrics"> {
  readonly gate: WriteGate;
  /** Unique among all candidates that ever were. */
  readonly identity: string;
  readonly names: ElectionNames;
  readonly times: ElectionTimes;
  /** Receives the result of each write of the Lease. Absent for a Lease that keeps nothing. */
  readonly memory?: Pick<MemoryHealth, "report">;
  /** Called once, when this candidate begins to lead, with the Lease as it was before; null where there was none. */
  readonly taken: (before: ElectionLease | null) => void;
  /** Called once, when it may no longer lead, with the reason. Not called after `release`. */
  readonly lost: (why: string) => void;
}

/** Takes part in an election until it has lost its Lease, has released it, or is stopped. */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #gauge: ReturnType<Metrics["gauge"]>;
  readonly #warn: ReturnType<typeof limitedWarn>;
  readonly #stopWatch: () => void;
  #role: "standby" | "leader" | "ended" = "standby";
  #seen: SeenLease | null = null;
  /** The Lease that the last write replaced; null for none. */
  #replaced: ElectionLease | null = null;
  /** Whether the known Lease is what this leader wrote last, as far as it knows. */
  #isCurrent = false;
  #isBusy = false;
  #isRoundWanted = false;
  #roundMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  #deadline: Timer | null = null;
  #afterRound: (() => void) | null = null;

  constructor(options: LeaderElectionOptions) {
    const { clock, log, metrics, names } = options;
    this.#options = options;
    this.#warn = limitedWarn(log, clock, PROBLEM_PAUSE_MS);
    this.#gauge = metrics.gauge(names.gauge);
    this.#gauge.set(0);
    this.#stopWatch = watchLease(options, {
      changed: (lease) => this.#onChange(lease),
      gone: () => this.#onChange(null),
    });
    this.#round();
  }

  report(): ElectionReport {
    return { leads: this.#role === "leader", holder: this.#seen === null ? null : holderOf(this.#seen.lease) };
  }

  /**
   * Releases the Lease with `handover` for its next holder, who takes it at once, and calls `done`. No write that
   * passed the gate may be in flight; none passes from now on.
   */
  release(done: () => void, handover: string | null = null): void {
    const wasLeading = this.#role === "leader";
    this.stop();
    if (!wasLeading) done();
    else if (this.#isBusy) this.#afterRound = () => this.#release(done, handover);
    else this.#release(done, handover);
  }

  stop(): void {
    this.#role = "ended";
    this.#options.gate.close();
    this.#gauge.set(0);
    this.#timer?.cancel();
    this.#deadline?.cancel();
    this.#stopWatch();
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  /** Another record in the watch: a candidate waits for its end, and a leader checks whether it still leads. */
  #onChange(lease: ElectionLease | null): void {
    if (this.#role === "ended") return;
    if (this.#role === "leader") {
      if (lease === null || holderOf(lease) !== this.#options.identity) this.#round();
      return;
    }
    if (lease === null) this.#seen = null;
    else this.#see(lease);
    if (!this.#isBusy) this.#arm(false);
  }

  #see(lease: ElectionLease): void {
    const before = this.report().holder;
    this.#seen = afterSeeing(this.#seen, lease, this.#nowMs());
    const holder = holderOf(lease);
    if (holder === before || holder === null || holder === this.#options.identity) return;
    this.#options.log.info(this.#options.names.waits, { holder });
  }

  /** One attempt to take or renew the Lease; a second one follows when it is requested meanwhile. */
  #round(): void {
    this.#timer?.cancel();
    if (this.#isBusy) {
      this.#isRoundWanted = true;
      return;
    }
    this.#isBusy = true;
    this.#roundMs = this.#nowMs();
    if (this.#role === "leader" && this.#isCurrent && this.#seen !== null) this.#put(this.#seen.lease, REREADS_MAX);
    else this.#read(REREADS_MAX);
  }

  #read(rereads: number): void {
    this.#call("GET", null, (answer) => {
      if (statusOf(answer) === 404) {
        this.#seen = null;
        this.#create();
        return;
      }
      const lease = leaseIn(answer);
      if (lease === null) this.#failed("read", answer);
      else this.#onRead(lease, rereads);
    });
  }

  #onRead(lease: ElectionLease, rereads: number): void {
    this.#see(lease);
    const { identity, times } = this.#options;
    const dueMs = this.#seen === null ? 0 : takeDueMs(this.#seen, { identity, ...times });
    const holder = holderOf(lease);
    if (this.#role === "leader" && holder !== null && holder !== identity) this.#lose(`${holder} holds the Lease`);
    else if (this.#role !== "ended" && this.#nowMs() >= dueMs) this.#put(lease, rereads);
    else this.#finish(false);
  }

  #create(): void {
    if (this.#role === "ended") {
      this.#finish(false);
      return;
    }
    const { namespace, name } = this.#options.lease;
    this.#replaced = null;
    this.#write("POST", { metadata: { name, namespace }, spec: claimedSpec(null, this.#claim()) }, 0);
  }

  #put(lease: ElectionLease, rereads: number): void {
    this.#replaced = lease;
    this.#write("PUT", { metadata: claimedMetadata(lease), spec: claimedSpec(lease, this.#claim()) }, rereads);
  }

  #write(method: "POST" | "PUT", lease: ElectionLease, rereads: number): void {
    const requested = this.#options.gate.now();
    this.#isCurrent = false;
    this.#call(method, lease, (answer) => {
      const written = leaseIn(answer);
      if (written !== null) this.#won(written, requested);
      else if (statusOf(answer) === 409 && this.#role === "leader" && rereads > 0) this.#read(rereads - 1);
      else this.#failed("written", answer);
    });
  }

  #claim() {
    const { identity, times, clock } = this.#options;
    return { identity, leaseDurationMs: times.leaseDurationMs, wallMs: clock.wallMs() };
  }

  /** The Lease was written. It counts from `requested`: the API server may have written it at any time since. */
  #won(lease: ElectionLease, requested: ReturnType<WriteGate["now"]>): void {
    const { gate, times, clock, log, memory, names, taken } = this.#options;
    memory?.report("lease", { outcome: "ok" });
    this.#see(lease);
    this.#isCurrent = true;
    const leftMs = requested.monotonicMs + times.renewDeadlineMs - this.#nowMs();
    // A process that was stopped while it wrote must read the Lease again.
    if (leftMs <= 0) this.#isCurrent = false;
    else if (this.#role !== "ended") {
      gate.open(requested, times.renewDeadlineMs);
      this.#deadline?.cancel();
      const why = `the Lease was not renewed within ${times.renewDeadlineMs / 1000} s`;
      this.#deadline = clock.after(leftMs, () => this.#lose(why));
      if (this.#role === "standby") {
        this.#role = "leader";
        this.#gauge.set(1);
        log.info(names.leads, { lease: `${this.#options.lease.namespace}/${this.#options.lease.name}` });
        taken(this.#replaced);
      }
    }
    this.#finish(leftMs <= 0);
  }

  #failed(what: "read" | "written", answer: Answer): void {
    const { memory, names } = this.#options;
    // Another candidate that came first is no problem.
    if (statusOf(answer) !== 409) {
      const detail = detailOf(answer);
      this.#warn(`${names.lease} cannot be ${what}`, { detail });
      if (what === "written")
        memory?.report("lease", { outcome: statusOf(answer) === 403 ? "denied" : "failed", detail });
    }
    this.#finish(true);
  }

  #finish(hasFailed: boolean): void {
    this.#isBusy = false;
    const isWanted = this.#isRoundWanted;
    this.#isRoundWanted = false;
    if (this.#role === "ended") this.#afterRound?.();
    else if (isWanted && !hasFailed) this.#round();
    else this.#arm(hasFailed);
  }

  /** Arms the next round. A candidate also reads the Lease now and then, because its watch may be broken. */
  #arm(hasFailed: boolean): void {
    const { clock, random, times, identity } = this.#options;
    const nowMs = this.#nowMs();
    const { retryPeriodMs, renewPeriodMs = retryPeriodMs } = times;
    let dueMs = this.#roundMs + (hasFailed ? retryPeriodMs : renewPeriodMs);
    if (this.#role === "standby") {
      const takeMs = this.#seen === null ? nowMs : takeDueMs(this.#seen, { identity, ...times });
      const attemptMs = nowMs + attemptPauseMs(times, random);
      dueMs = hasFailed ? attemptMs : Math.min(attemptMs, takeMs);
    }
    this.#timer?.cancel();
    this.#timer = clock.after(Math.max(0, dueMs - nowMs), () => this.#round());
  }

  #lose(why: string): void {
    if (this.#role === "ended") return;
    this.stop();
    this.#isBusy = false;
    this.#options.lost(why);
  }

  #release(done: () => void, handover: string | null): void {
    this.#afterRound = null;
    const { identity, clock, names } = this.#options;
    if (this.#seen === null || holderOf(this.#seen.lease) !== identity) {
      done();
      return;
    }
    const { lease } = this.#seen;
    const released = { metadata: releasedMetadata(lease, handover), spec: releasedSpec(lease, clock.wallMs()) };
    this.#call("PUT", released, (answer) => {
      if (leaseIn(answer) === null) this.#warn(`${names.lease} was not released`, { detail: detailOf(answer) });
      done();
    });
  }

  #call(method: "GET" | "POST" | "PUT", lease: ElectionLease | null, done: (answer: Answer) => void): void {
    const { wire, clock, lease: name, times } = this.#options;
    const ref = { kind: "Lease", ...name } as const;
    const path = method === "POST" ? collectionPath("Lease", name.namespace) : objectPath(ref);
    const object = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...lease };
    const request =
      lease === null
        ? { method, path, headers: { accept: JSON_TYPE }, body: null }
        : httpRequest(method, path, JSON_TYPE, object);
    const timeoutMs = this.#role === "ended" ? RELEASE_MS : times.renewDeadlineMs / 2;
    call({ wire, clock }, request, timeoutMs, done);
  }
}

function statusOf(answer: Answer): number {
  return answer.kind === "answer" ? answer.status : 0;
}

function leaseIn(answer: Answer): ElectionLease | null {
  const isOk = answer.kind === "answer" && answer.status >= 200 && answer.status < 300;
  return isOk ? electionLeaseOf(parsed(answer.text)) : null;
}

function detailOf(answer: Answer): string {
  if (answer.kind === "lost") return answer.message;
  return leaseIn(answer) === null && answer.status < 300 ? "the answer is no Lease" : refusalOf(answer).message;
}
