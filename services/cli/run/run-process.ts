/** The process of `vigil run`, from its flags to its last write: connects, joins the fleet, runs the controller. */
import type { Clock, Kube, KubeReviews, Log, Metrics } from "../../../protocols/ports.ts";
import type { RunningConsole } from "../../console/console.http.ts";
import { DelegatedAccess } from "../../console/delegated-access.ts";
import type { Config } from "../../platform/config/config.ts";
import { PROCESS_SETTINGS } from "../../platform/config/settings.ts";
import { BusFleet } from "../../platform/fleet/fleet.ts";
import { ForeignMembers } from "../../platform/fleet/foreign-members.ts";
import type { KubeConnection } from "../../platform/kube/auth/kubeconfig.ts";
import { KubeLeases } from "../../platform/kube/election/kube-leases.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { ApiReachability, type ReachabilityIo } from "../../platform/kube/transport/reachability.ts";
import { ServerClock } from "../../platform/kube/transport/server-clock.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { type DrainableKube, drainable } from "../../platform/process/drain.ts";
import { trimHeap } from "../../platform/process/heap-flags.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { ReaderTurns } from "../../platform/process/reader-turns.ts";
import {
  busOf,
  type Controller,
  type ControllerParts,
  FOLLOWED_NODES_MAX,
  startController,
} from "../process/controller.ts";
import { ExitCode, Failure, type Host, untilStopped } from "../verb.ts";
import { answerQueries } from "./answer-queries.ts";
import { clusterUid, watchClusterUid } from "./cluster-uid.ts";
import { listenGuard } from "./listen-files.ts";
import { openBus } from "./open-bus.ts";
import { openCluster } from "./open-cluster.ts";
import { openConsole, showOn } from "./open-console.ts";
import { electionOf, type ProcessElection } from "./open-election.ts";
import type { OpenBus } from "./process-bus.ts";
import { UpstreamWatch, type UpstreamWatchIo } from "./upstream-watch.ts";

/** How long a stop waits for writes in progress; the whole stop stays under ten seconds. */
const DRAIN_MS = 6_000;
/**
 * How long it waits until its Leases are released. A Lease that is not released is acquired by another process when it
 * expires.
 */
const RELEASE_MS = 2_000;
/** By then a cluster of a few thousand nodes has been listed and published, and its first writes are done. */
const STARTED_MS = 20_000;

/** Runs the controller until the process is stopped; returns the exit code. Throws a Failure. */
export async function runProcess(config: Config, host: Host): Promise<number> {
  const { process: settings, profile } = config;
  await checkNats(settings, host);
  const { metrics, log } = recordersOf(settings);
  const clock = new ServerClock(realClock(), log, metrics);
  const io = { clock, log, metrics, turns: new ReaderTurns(clock) };
  const running = runningGauge(metrics);
  const member = settings.member || host.name;
  const access = settings.listenAuthentication === "kubernetes" ? new DelegatedAccess({ clock, log }) : null;
  const guarded = { ...settings, guard: listenGuard(settings, host, clock), access };
  // Before the API server answers, because a process that waits for it must pass its liveness probe.
  const served = await openConsole(guarded, io);
  const waitsFor = (what: string) => served?.waitsFor(what);
  const cluster = await openCluster(settings, { clock, serverClock: clock, log, host, waitsFor });
  if (cluster === null) return ExitCode.ok;
  const upstream = await watchUpstream(config, { ...io, wire: cluster.wire });
  const election = electionOf(settings, { ...io, member, watchBlindMs: profile.watchBlindMs });
  const measured = measuredKube({ ...io, member, wire: clock.over(cluster.wire), profile }, election);
  access?.reviewWith(measured.kube);
  const foreignMembers = foreignMembersTo(config, { ...io, kube: measured.kube });
  const bus = await unlessStopped(host, openBus(settings, { ...io, member, waitsFor }));
  if (bus === null) return ExitCode.ok;
  const writes = drainable(measured.kube);
  const crash = Promise.withResolvers<string>();
  const parts: RunningProcess["parts"] = {
    ...bus,
    ...io,
    ...measured,
    random: systemRandom,
    profile,
    kube: writes.kube,
    isShadow: settings.shadow,
    zoneLabel: settings.metricsZoneLabel,
    cluster: settings.cluster,
    member,
    services: settings.services,
    foreignMembers: await foreignMembers,
    fatal: crash.resolve,
  };
  const controller = await startJoined({ ...parts, policies: config.policies }, bus, { waitsFor, election });
  running.set(1);
  const started = { parts, upstream, election, grafanaUrl: settings.grafanaUrl };
  showOn(served, settings.shadow, { ...started, controller }, host);
  announce(config, cluster.describe, parts);
  const problem = await untilOver(started, crash, [untilStopped(host).then(() => null), bus.lost]);
  await finish(controller, writes, { clock, log, ...measured, election });
  await closeAll(served, bus, cluster);
  if (problem !== null) throw new Failure(problem);
  return ExitCode.ok;
}

/** A process without NATS does not load its client. */
async function checkNats(settings: Config["process"], host: Host): Promise<void> {
  if (settings.nats.length > 0) (await import("../connect/nats-files.ts")).checkNatsFiles(settings, host);
}

async function closeAll(served: RunningConsole | null, bus: OpenBus, cluster: KubeConnection): Promise<void> {
  await served?.close();
  await bus.close();
  cluster.wire.close();
}

function recordersOf({ logLevel, logFormat }: Config["process"]): { metrics: ReadableMetrics; log: Log } {
  const metrics = createMetrics({ process: true });
  return { metrics, log: createLog({ level: logLevel, format: logFormat, dropped: droppedLines(metrics) }) };
}

/**
 * What watches for upstream, in a process that may list; null in any other. Throws a Failure where the grace period
 * would make Vigil mark healthy nodes beside upstream.
 */
async function watchUpstream(
  { process: { services, shadow, allowShortGrace }, profile }: Config,
  io: Pick<UpstreamWatchIo, "wire" | "clock" | "log" | "metrics">,
): Promise<UpstreamWatch | null> {
  if (!services.includes("observer")) return null;
  const watch = new UpstreamWatch({ ...io, profile, services, shadow });
  const problem = await watch.graceProblem();
  const isRefused = problem !== null && profile.upstream === "beside" && !shadow && !allowShortGrace;
  if (isRefused) throw new Failure(`${problem}, or add --${PROCESS_SETTINGS.allowShortGrace.flag}`);
  return watch;
}

/** The value of a promise; null when the process is stopped before. */
function unlessStopped<V>(host: Host, promise: Promise<V>): Promise<V | null> {
  return Promise.race([promise, untilStopped(host).then(() => null)]);
}

function announce({ process: { shadow, services } }: Config, server: string, { log, member }: ControllerParts): void {
  log.info(shadow ? "running in shadow: nothing is written" : "running", { server, member, services: services.join() });
}

/** The parts of a process that runs its services. */
interface RunningProcess {
  readonly parts: ControllerParts & { readonly reachability: ApiReachability };
  readonly upstream: UpstreamWatch | null;
  readonly election: ProcessElection | null;
}

/**
 * Joins the election, watches cluster and upstream, and logs the end: null when the process is stopped, else the
 * problem in one line.
 */
async function untilOver(
  { parts, upstream, election }: RunningProcess,
  crash: PromiseWithResolvers<string>,
  ends: readonly Promise<string | null>[],
): Promise<string | null> {
  const { kube, clock, log, foreignMembers, reachability } = parts;
  election?.start(reachability, crash.resolve);
  upstream?.start(busOf(parts, "upstream"));
  const trimming = clock.after(STARTED_MS, trimHeap);
  const stopWatching = watchClusterUid({ kube, clock }, foreignMembers?.clusterUid ?? null, crash.resolve);
  const problem = await Promise.race([...ends, crash.promise]);
  trimming.cancel();
  stopWatching();
  upstream?.stop();
  log.info(problem ?? "stopping");
  return problem;
}

/** Starts the services after the process has joined its fleet: one that may not join must not touch JetStream. */
async function startJoined(
  parts: ControllerParts,
  bus: OpenBus,
  { waitsFor, election }: { readonly waitsFor: (what: string) => void; readonly election: ProcessElection | null },
): Promise<Controller> {
  const fleet = (await joinFleet(parts, waitsFor)) ?? election?.fleet ?? null;
  const store = bus.openStore(parts.foreignMembers?.clusterUid ?? null);
  const ledgerParts = { activityLog: parts.log, followedNodesMax: FOLLOWED_NODES_MAX, store };
  const controller = startController({ ...parts, ...ledgerParts, fleet });
  answerQueries(bus, parts, controller);
  return controller;
}

/**
 * Joins the fleet, before anything is published, if the process knows its Kubernetes cluster; else null at once. Throws
 * a Failure where there are foreign members.
 */
async function joinFleet(parts: ControllerParts, waitsFor: (what: string) => void): Promise<BusFleet | null> {
  if (!parts.foreignMembers) return null;
  waitsFor("the pulses of the fleet's members");
  const listened = Promise.withResolvers<string | null>();
  const fleet = new BusFleet({ ...parts, bus: busOf(parts, "fleet"), listened: listened.resolve });
  const problem = await listened.promise;
  if (problem !== null) throw new Failure(problem);
  return fleet;
}

/**
 * The Kubernetes port on a wire, behind the gate of an election, the measured reachability of its API server, and the
 * candidates for Leases, which no gate may stop.
 */
function measuredKube(
  io: ReachabilityIo & { readonly clock: ServerClock; readonly member: string },
  election: ProcessElection | null,
): { readonly kube: Kube & KubeReviews; readonly reachability: ApiReachability; readonly leases: KubeLeases } {
  const reachability = new ApiReachability(io);
  const machineWallMs = (): number => io.clock.machineWallMs();
  const wire = election?.gate.over(reachability.wire) ?? reachability.wire;
  const kube = createKube({ ...io, machineWallMs, wire, random: systemRandom, reachability });
  const { watchBlindMs } = io.profile;
  const direct = { ...io, wire: reachability.wire, random: systemRandom, reachability, watchBlindMs };
  return { kube, reachability, leases: new KubeLeases(direct) };
}

/** Recognizes foreign members; null for a process without NATS, or one that cannot read its cluster's uid. */
async function foreignMembersTo(
  { process: { nats, cluster }, profile }: Config,
  io: { readonly kube: Kube; readonly clock: Clock; readonly log: Log; readonly metrics: Metrics },
): Promise<ForeignMembers | null> {
  if (nats.length === 0) return null;
  const uid = await clusterUid(io);
  return uid === null ? null : new ForeignMembers({ ...io, profile, cluster, clusterUid: uid });
}

/** A waiting process exports no other metric of its state, so an alert needs this one. */
function runningGauge(metrics: Metrics): ReturnType<Metrics["gauge"]> {
  const help = "1 while the process runs its services, 0 while it still waits for the API server or NATS.";
  const running = metrics.gauge({ name: "vigil_running", help });
  running.set(0);
  return running;
}

/** Counts log lines that cannot be written. */
function droppedLines(metrics: Metrics): () => void {
  const help = "Log lines that standard error did not take, because its disk was full or no process read it.";
  const counter = metrics.counter({ name: "vigil_log_lines_dropped_total", help });
  counter.add(0);
  return () => counter.add(1);
}

/** What the end of a process needs besides its services. */
interface EndingProcess extends Pick<ReachabilityIo, "clock" | "log"> {
  readonly reachability: ApiReachability;
  readonly election: ProcessElection | null;
  readonly leases: KubeLeases;
}

/**
 * Leaves the fleet first, so that no member waits for it, then finishes writes in progress. A Lease is released after
 * the last write, because the next leader begins at once; with a write under way it is left to expire.
 */
async function finish(
  controller: Controller,
  writes: DrainableKube,
  { clock, log, reachability, election, leases }: EndingProcess,
): Promise<void> {
  await new Promise<void>((resolve) => controller.leave(resolve));
  const drained = await new Promise<boolean>((resolve) => {
    const late = clock.after(DRAIN_MS, () => resolve(false));
    writes.whenIdle(() => {
      late.cancel();
      election?.gate.close();
      resolve(true);
    });
  });
  if (!drained) log.warn("some writes did not finish in time; other members retry them");
  controller.stop();
  await released(leases, clock);
  if (drained) await election?.release();
  else election?.stop();
  reachability.stop();
}

/** Waits until the Leases of a stopped controller are released, or too much time has passed. */
function released(leases: KubeLeases, clock: Pick<Clock, "after">): Promise<void> {
  return new Promise((resolve) => {
    const late = clock.after(RELEASE_MS, resolve);
    leases.whenReleased(() => {
      late.cancel();
      resolve();
    });
  });
}
