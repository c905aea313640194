/** A process of `vigil run` from its first look at the API server to its last write. What it runs is controller.ts. */
import type { Clock, Kube, KubeReviews, Log, Metrics } from "../../../protocols/ports.ts";
import { DelegatedAccess } from "../../console/delegated-access.ts";
import type { Config } from "../../platform/config/config.ts";
import { ForeignMembers } from "../../platform/fleet/foreign-members.ts";
import { createKube, shadowKube } from "../../platform/kube/kube.ts";
import { ApiReachability, type ReachabilityIo } from "../../platform/kube/transport/reachability.ts";
import { ServerClock } from "../../platform/kube/transport/server-clock.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { type DrainableKube, drainable } from "../../platform/process/drain.ts";
import { trimHeap } from "../../platform/process/heap-flags.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { type Controller, type ControllerParts, startController } from "../controller.ts";
import { ExitCode } from "../exit-code.ts";
import { checkNatsFiles } from "../nats-files.ts";
import { Failure, type Host, untilStopped } from "../verb.ts";
import { clusterUid, watchClusterUid } from "./cluster-uid.ts";
import { joinFleet } from "./join-fleet.ts";
import { listenGuard } from "./listen-files.ts";
import { type OpenBus, openBus } from "./open-bus.ts";
import { openCluster } from "./open-cluster.ts";
import { openConsole, showOn } from "./open-console.ts";
import { logDecisions } from "./shadow-log.ts";

/** How long writes under way may take to finish once we were asked to end; all in all it stays under ten seconds. */
const DRAIN_MS = 6_000;
/** By then a cluster of a few thousand nodes has been listed and told, and its first writes are done. */
const STARTED_MS = 20_000;

/** Runs the controller until the process is asked to end; gives the exit code. Throws a Failure. */
export async function runProcess(config: Config, host: Host): Promise<number> {
  const { process: settings, profile } = config;
  checkNatsFiles(settings, host);
  const metrics = createMetrics({ process: true });
  const log = createLog({ level: settings.logLevel, format: settings.logFormat, dropped: droppedLines(metrics) });
  const clock = new ServerClock(realClock(), log);
  const running = runningGauge(metrics);
  const member = settings.member || host.name;
  const access = settings.listenAuthentication === "kubernetes" ? new DelegatedAccess({ clock, log }) : null;
  const guarded = { ...settings, guard: listenGuard(settings, host, clock), access };
  // Now, and not when the API server has answered, which may be long from now: a process that waits is alive.
  const served = await openConsole(guarded, { log, metrics });
  const waitsFor = (what: string) => served?.waitsFor(what);
  const cluster = await openCluster(settings, { clock, log, host, waitsFor });
  if (cluster === null) return ExitCode.ok;
  const { kube, reachability } = measuredKube({ wire: clock.over(cluster.wire), clock, log, metrics, profile });
  access?.askFrom(kube);
  const foreignMembers = foreignMembersTo(config, { kube, clock, log, metrics });
  const bus = await unlessStopped(host, openBus(settings, { clock, log, metrics, member, waitsFor }));
  if (bus === null) return ExitCode.ok;
  const writes = drainable(settings.shadow ? shadowKube(kube) : kube);
  const crash = Promise.withResolvers<string>();
  const parts: ControllerParts = {
    ...bus,
    clock,
    random: systemRandom,
    log,
    metrics,
    profile,
    kube: writes.kube,
    cluster: settings.cluster,
    member,
    services: settings.services,
    foreignMembers: await foreignMembers,
    reachability,
    fatal: crash.resolve,
  };
  const controller = await startJoined(parts, bus, waitsFor);
  running.set(1);
  showOn(served, settings.shadow, { parts, controller }, host);
  announce(config, cluster.describe, parts, controller);
  const problem = await untilOver(parts, crash, [untilStopped(host).then(() => null), bus.lost]);
  log.info(problem ?? "asked to end");
  await finish(controller, writes, { clock, log, reachability });
  await served?.close();
  await bus.close();
  cluster.wire.close();
  if (problem !== null) throw new Failure(problem);
  return ExitCode.ok;
}

/** What a promise gives; null when the process is asked to end before. */
function unlessStopped<V>(host: Host, promise: Promise<V>): Promise<V | null> {
  return Promise.race([promise, untilStopped(host).then(() => null)]);
}

/** Says in the log that the process runs, and in shadow mode what it would have done. */
function announce(
  { process: { shadow, services } }: Config,
  server: string,
  { log, member }: ControllerParts,
  { ledger }: Controller,
): void {
  log.info(shadow ? "running in shadow: nothing is written" : "running", { server, member, services: services.join() });
  if (shadow && ledger !== null) logDecisions(ledger, log);
}

/** Waits until the process is asked to end (null), or until something ends it: the problem, in one line. */
async function untilOver(
  { kube, clock, foreignMembers }: ControllerParts,
  crash: PromiseWithResolvers<string>,
  ends: readonly Promise<string | null>[],
): Promise<string | null> {
  const trimming = clock.after(STARTED_MS, trimHeap);
  const stopWatching = watchClusterUid({ kube, clock }, foreignMembers?.clusterUid ?? null, crash.resolve);
  const problem = await Promise.race([...ends, crash.promise]);
  trimming.cancel();
  stopWatching();
  return problem;
}

/** Starts the services of a process that has joined its fleet: one that may not join leaves JetStream untouched. */
async function startJoined(
  parts: ControllerParts,
  bus: OpenBus,
  waitsFor: (what: string) => void,
): Promise<Controller> {
  const fleet = await joinFleet(parts, waitsFor);
  return startController({ ...parts, fleet, store: bus.openStore(parts.foreignMembers?.clusterUid ?? null) });
}

/** The Kubernetes port on a wire, and how this process stands to the API server at its other end. */
function measuredKube(io: ReachabilityIo & { readonly clock: ServerClock }): {
  readonly kube: Kube & KubeReviews;
  readonly reachability: ApiReachability;
} {
  const reachability = new ApiReachability(io);
  const machineWallMs = (): number => io.clock.machineWallMs();
  const kube = createKube({ ...io, machineWallMs, wire: reachability.wire, random: systemRandom, reachability });
  return { kube, reachability };
}

/**
 * What tells strangers from ours, found out while NATS is being reached; null for who is alone on its bus, or cannot
 * know which cluster it minds.
 */
async function foreignMembersTo(
  { process: { nats, cluster }, profile }: Config,
  io: { readonly kube: Kube; readonly clock: Clock; readonly log: Log; readonly metrics: Metrics },
): Promise<ForeignMembers | null> {
  if (nats.length === 0) return null;
  const uid = await clusterUid(io);
  return uid === null ? null : new ForeignMembers({ ...io, profile, cluster, clusterUid: uid });
}

/** Who waits tells nothing else, and would be missed by no alert beside others that run. */
function runningGauge(metrics: Metrics): ReturnType<Metrics["gauge"]> {
  const help = "1 while the process runs its services, 0 while it still waits for the API server or NATS.";
  const running = metrics.gauge({ name: "vigil_running", help });
  running.set(0);
  return running;
}

/** Counts a line of a log that cannot be written, and so says nothing of itself. */
function droppedLines(metrics: Metrics): () => void {
  const help = "Log lines that standard error did not take, because its disk was full or nobody read it.";
  const counter = metrics.counter({ name: "vigil_log_lines_dropped_total", help });
  counter.add(0);
  return () => counter.add(1);
}

/** Hands over to the others first, then lets writes under way finish: nobody is to wait for them. */
async function finish(
  controller: Controller,
  writes: DrainableKube,
  { clock, log, reachability }: Pick<ReachabilityIo, "clock" | "log"> & { readonly reachability: ApiReachability },
): Promise<void> {
  await new Promise<void>((resolve) => controller.leave(resolve));
  const drained = await new Promise<boolean>((resolve) => {
    const late = clock.after(DRAIN_MS, () => resolve(false));
    writes.whenIdle(() => {
      late.cancel();
      resolve(true);
    });
  });
  if (!drained) log.warn("some writes are still under way and are given up; others will repeat them");
  controller.stop();
  reachability.stop();
}
