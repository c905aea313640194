/** Opens the console of a process, if it has an address. */

import packageJson from "../../../package.json" with { type: "json" };
import { type FrontOptions, type RunningConsole, startConsole } from "../../console/console.http.ts";
import type { DelegatedAccess } from "../../console/delegated-access.ts";
import { type Check, policiesCheck, reachabilityCheck, shardsCheck } from "../../console/readiness.policy.ts";
import { listenProblem, parseAddress } from "../../platform/config/address.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { POLICIES_KNOWN_GAUGE } from "../../platform/node-policies/policy-receiver.ts";
import { SUSPECT_SHARDS_GAUGE } from "../../zone/zone.coverage.ts";
import { fleetOf } from "../get/fleet-members.ts";
import { busOf, type Controller, type ControllerParts } from "../process/controller.ts";
import { Failure, type Host } from "../verb.ts";
import type { ListenGuard } from "./listen-files.ts";
import { electionCheck, type ProcessElection, standbyProblem } from "./open-election.ts";
import { runSettingsOf } from "./run-tunables.ts";
import type { UpstreamWatch } from "./upstream-watch.ts";

/** The address of a console, its flag, and its access control. */
interface Address extends Pick<ProcessSettings, "listen">, Partial<Pick<ProcessSettings, "listenHosts">> {
  readonly flag?: string;
  readonly guard?: ListenGuard;
  readonly access?: DelegatedAccess | null;
}

/** The parts of a running process that its console shows. */
interface ShownProcess {
  readonly parts: ControllerParts;
  readonly controller: Controller;
  /** Absent or null in a process that does not watch for upstream. */
  readonly upstream?: UpstreamWatch | null;
  /** Absent or null in a process without an election. */
  readonly election?: ProcessElection | null;
  /** Where Grafana is; absent or empty for no link to it. */
  readonly grafanaUrl?: string;
}

/** Serves liveness and metrics, and the rest after `showOn`; null without an address. Throws a Failure. */
export async function openConsole(
  { listen, flag = "listen", listenHosts: hosts = [], guard, access = null }: Address,
  io: Pick<FrontOptions, "clock" | "log" | "metrics" | "turns">,
): Promise<RunningConsole | null> {
  if (listen === "") return null;
  const { log } = io;
  const running = await startConsole({
    ...parseAddress(listen, flag),
    ...io,
    hosts,
    ...guard,
    access,
  }).catch(({ cause, message }: Error) => {
    throw new Failure(`--${flag}=${listen}: ${cause instanceof Error ? listenProblem(cause) : message}`);
  });
  log.info("console is listening", { url: running.url });
  if (guard?.token && !guard.tls) {
    log.warn("the console takes its token over plain HTTP, where it can be read on the way: add --listen-tls-cert");
  }
  return running;
}

/** Serves the readiness, the ledger and the dashboard of a started controller. */
export function showOn(
  running: RunningConsole | null,
  shadow: boolean,
  { parts, controller, upstream, election = null, grafanaUrl = "" }: ShownProcess,
  { stopped }: Host,
): void {
  const { cluster, member, services, profile, clock, metrics, reachability = null } = parts;
  running?.show({
    clock,
    bus: busOf(parts, "console"),
    profile,
    about: {
      cluster,
      member,
      services,
      shadow,
      beside: profile.upstream === "beside",
      version: packageJson.version,
      settings: runSettingsOf(profile),
      ...(grafanaUrl === "" ? {} : { grafanaUrl }),
    },
    ledger: controller.ledger,
    fleet: fleetOf({ ...parts, election }, { stopped }),
    standby: () => (election === null ? null : standbyProblem(election.report())),
    ownChecks: () => [
      ...(reachability === null ? [] : [reachabilityCheck(reachability.report())]),
      shardsCheck(metrics.gaugeValue(SUSPECT_SHARDS_GAUGE)),
      ...electedChecks(election),
      // A standby decides nothing, and reads the policies when it becomes the leader.
      policiesCheck(election?.report().leads === false ? null : metrics.gaugeValue(POLICIES_KNOWN_GAUGE)),
      ...(upstream?.checks() ?? []),
      { name: "running", problem: stopped.aborted ? "the process is ending" : null },
    ],
  });
}

function electedChecks(election: ProcessElection | null): readonly Check[] {
  return election === null ? [] : [electionCheck(election.report())];
}
