/** Leader election of a process without NATS: its write gate, its fleet and its report. */
import type { Io, Random } from "../../../protocols/ports.ts";
import type { Check } from "../../console/readiness.policy.ts";
import { isElected } from "../../platform/config/election.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { LeaderFleet } from "../../platform/fleet/leader-fleet.ts";
import { type ElectionReport, identityOf, memberOf } from "../../platform/kube/election/election.policy.ts";
import { LeaderElection, WORK_ELECTION } from "../../platform/kube/election/leader-election.ts";
import { WriteGate } from "../../platform/kube/election/write-gate.ts";
import type { ApiReachability } from "../../platform/kube/transport/reachability.ts";
import { systemRandom } from "../../platform/process/random.ts";

/** The ports of an election. */
export interface ElectionIo extends Pick<Io, "clock" | "log" | "metrics"> {
  readonly member: string;
  readonly watchBlindMs: number;
  readonly random?: Random;
}

/** The process's place in an election. */
export interface ProcessElection {
  readonly gate: WriteGate;
  readonly fleet: LeaderFleet;
  report(): ElectionReport;
  /** Becomes a candidate, once the services run; `lost` gets the problem in one line. */
  start(reachability: ApiReachability, lost: (problem: string) => void): void;
  /** Releases the Lease. Resolves when it is released, or when that has failed. */
  release(): Promise<void>;
  stop(): void;
}

const NOT_STARTED: ElectionReport = { leads: false, holder: null };

/** The election that a process joins; null for none. */
export function electionOf(settings: ProcessSettings, io: ElectionIo): ProcessElection | null {
  if (!isElected(settings)) return null;
  const { clock, log, metrics, member, watchBlindMs, random = systemRandom } = io;
  const gate = new WriteGate(clock);
  const fleet = new LeaderFleet(member);
  let candidate: LeaderElection | null = null;
  return {
    gate,
    fleet,
    report: () => candidate?.report() ?? NOT_STARTED,
    start(reachability, lost) {
      candidate = new LeaderElection({
        clock,
        random,
        log,
        metrics,
        gate,
        watchBlindMs,
        reachability,
        wire: reachability.wire,
        lease: { namespace: settings.leaderElectResourceNamespace, name: settings.leaderElectResourceName },
        identity: identityOf(member, random),
        names: WORK_ELECTION,
        times: {
          leaseDurationMs: settings.leaderElectLeaseDurationMs,
          renewDeadlineMs: settings.leaderElectRenewDeadlineMs,
          retryPeriodMs: settings.leaderElectRetryPeriodMs,
        },
        taken: () => fleet.lead(),
        lost: (why) => {
          fleet.yield();
          lost(`no longer leads: ${why}`);
        },
      });
    },
    release: () => new Promise((resolve) => (candidate === null ? resolve() : candidate.release(resolve))),
    stop: () => candidate?.stop(),
  };
}

/** The line of a probe about the election. A standby is ready, because a rollout has to continue. */
export function electionCheck({ leads, holder }: ElectionReport): Check {
  const name = "leader-election";
  if (leads) return { name, problem: null, note: "this process leads" };
  const leader = holder === null ? "no process leads yet" : `${memberOf(holder)} leads`;
  return { name, problem: null, note: `standby: ${leader}` };
}

/** Why a standby does not speak for the cluster, and which process does; null for the leader. */
export function standbyProblem({ leads, holder }: ElectionReport): string | null {
  if (leads) return null;
  const leader = holder === null ? "no process leads yet" : `ask ${memberOf(holder)}, which leads`;
  return `this process stands by, and decides nothing: ${leader}`;
}
