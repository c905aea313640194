/** A connection to the API server for a verb that reads or changes something once, on the API server's clock. */
import { LEASE_NAMESPACE } from "../../../protocols/names.ts";
import type { Clock, Kube, ObjectRef, ReadReply, Wire } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import type { KUBE_SETTINGS, LOG_SETTINGS, ProcessSettings } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { ServerClock } from "../../platform/kube/transport/server-clock.ts";
import { projectLease, UNREPORTED } from "../../platform/kube/watch/projection.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { openCluster } from "../run/open-cluster.ts";
import { ExitCode, Failure, type Host } from "../verb.ts";

/** The ports of such a verb. The clock is the API server's, because instants are compared with its timestamps. */
export interface ApiConnection {
  readonly wire: Wire;
  readonly kube: Kube;
  readonly clock: Clock;
}

/** The settings of a connection. With `services` that do not include the observer, it needs no right to list nodes. */
export type ConnectionSettings = Readonly<ValuesOf<typeof KUBE_SETTINGS> & Partial<ValuesOf<typeof LOG_SETTINGS>>> &
  Partial<Pick<ProcessSettings, "services">>;

/** Connects, and waits for the API server to answer. Rejects with a Failure where it denies access, and on a stop. */
export async function connectApi(
  settings: ConnectionSettings,
  host: Host,
): Promise<ApiConnection & { readonly close: () => void }> {
  const { logLevel: level = "warn", logFormat: format = "auto" } = settings;
  const log = createLog({ level, format });
  const clock = new ServerClock(realClock(), log);
  const cluster = await openCluster(settings, { clock, serverClock: clock, log, host });
  if (cluster === null) throw new Failure("interrupted before the API server answered");
  const wire = clock.over(cluster.wire);
  const parts = { wire, clock, random: systemRandom, log, metrics: createMetrics() };
  return { wire, clock, kube: createKube({ ...parts, profile: STANDARD_PROFILE }), close: () => cluster.wire.close() };
}

/** Acts once the API server has answered, and closes the connection. Throws a Failure where it denies access. */
export async function withApi(
  settings: ConnectionSettings,
  host: Host,
  act: (connection: ApiConnection) => Promise<void>,
): Promise<number> {
  const { close, ...connection } = await connectApi(settings, host);
  try {
    await act(connection);
    return ExitCode.ok;
  } finally {
    close();
  }
}

/** Reads an object past every cache. */
export function readLive(kube: Pick<Kube, "read">, ref: ObjectRef): Promise<ReadReply> {
  return new Promise((resolve) => kube.read(ref, resolve));
}

/** When the lease of a node was renewed last; null without one. Throws a Failure where it cannot be read. */
export async function leaseRenewal(kube: Pick<Kube, "read">, node: string): Promise<number | null> {
  const reply = await readLive(kube, { kind: "Lease", namespace: LEASE_NAMESPACE, name: node });
  if (reply.outcome === "gone") return null;
  if (reply.outcome !== "ok") throw new Failure(`cannot read the lease of node ${node}: ${reply.detail}`);
  return projectLease(reply.object, UNREPORTED)?.renewedAt ?? null;
}
