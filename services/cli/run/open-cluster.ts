/** Connects to the API server before any service starts: waits while it is unreachable, fails when it denies access. */
import type { Io, Log } from "../../../protocols/ports.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { checkServer, type FirstRead } from "../../platform/kube/auth/access-check.ts";
import { KubeConfigProblem, type KubeConnection, loadKubeConfig } from "../../platform/kube/auth/kubeconfig.ts";
import type { ServerClock } from "../../platform/kube/transport/server-clock.ts";
import { type RetrySettings, retryPauseMs } from "../../structures/retry-schedule.ts";
import { Failure, type Host, pause, untilStopped } from "../verb.ts";

type KubeSettings = Pick<ProcessSettings, "kubeconfig" | "context" | "allowTokenOverHttp">;
/** `services` decides which first read proves the access: a process without an observer need not list nodes. */
type ClusterSettings = KubeSettings & Partial<Pick<ProcessSettings, "services">>;

/** The ports for waiting. */
export interface ClusterIo extends Pick<Io, "clock" | "log"> {
  /**
   * The clock that the first answer of the API server sets. No service starts before that on the machine's clock.
   * Absent where the machine's clock counts.
   */
  readonly serverClock?: ServerClock;
  readonly host: Host;
  /** Called with what the process waits for. */
  readonly waitsFor?: (what: string) => void;
}

const RETRIES: RetrySettings = { baseMs: 500, maxMs: 10_000 };

/** A connection to an API server that has answered; null when the process was stopped before. Throws a Failure. */
export async function openCluster(
  settings: ClusterSettings,
  { clock, serverClock, log, host, waitsFor }: ClusterIo,
): Promise<KubeConnection | null> {
  const connection = await findCluster(settings, log);
  waitsFor?.(`the API server at ${new URL(connection.server).host}`);
  const wire = serverClock?.over(connection.wire) ?? connection.wire;
  const read: FirstRead = settings.services?.includes("observer") === false ? "ask for its version" : "list nodes";
  for (let tries = 1; !host.stopped.aborted; tries++) {
    const problem = await Promise.race([
      checkServer({ wire, clock }, connection.server, read),
      untilStopped(host).then(() => "stopped" as const),
    ]);
    if (problem === "stopped") break;
    if (problem === null) return connection;
    const message = `${problem.message} (${connection.origin})`;
    if (problem.final) throw new Failure(message);
    const pauseMs = retryPauseMs(tries, RETRIES);
    log.warn(`${message}; trying again`, { pauseMs });
    await pause(pauseMs, clock, host);
  }
  return null;
}

/** A connection to an API server that need not answer yet; logs a warning when it is unsafe. Throws a Failure. */
export async function findCluster(
  { kubeconfig, context, allowTokenOverHttp }: KubeSettings,
  log: Log,
): Promise<KubeConnection> {
  const connection = await loadKubeConfig({
    kubeconfig: kubeconfig || undefined,
    context: context || undefined,
    allowTokenOverHttp,
  }).catch((problem: unknown) => {
    throw problem instanceof KubeConfigProblem ? new Failure(problem.message) : problem;
  });
  if (connection.warning !== null) log.warn(connection.warning);
  return connection;
}
