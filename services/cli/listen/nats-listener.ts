/** A NATS connection of a verb that only listens, as the inspector's key allows it. */
import type { Clock, Log } from "../../../protocols/ports.ts";
import { readNatsAddresses } from "../../platform/bus/nats.address.ts";
import { connectNats, type NatsTransport } from "../../platform/bus/nats.ts";
import type { NATS_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { silentLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { checkNatsFiles, natsOptionsOf } from "../connect/nats-files.ts";
import { Failure, type Host, untilStopped } from "../verb.ts";

/** What a listening verb uses of its host. */
export type ListenerHost = Pick<Host, "stopped" | "readFile" | "readableByAll" | "warn">;

/** What a listener is opened with. */
export interface ListenerIo {
  readonly clock: Clock;
  readonly host: ListenerHost;
  /** The verb with its topic, such as `get fleet`. */
  readonly verb: string;
  /** The message of the Failure on a stop before the connection is there. */
  readonly interrupted: string;
}

/** A connection that listens. */
export interface NatsListener {
  readonly transport: NatsTransport;
  /** The server that was connected to, for people. */
  readonly where: string;
  /** Log that keeps what NATS refuses. */
  readonly log: Log;
  readonly metrics: ReturnType<typeof createMetrics>;
  /** Throws a Failure if NATS has refused a subscription on this connection. */
  readonly checkRefusals: () => void;
}

/** Connects. Throws a ConfigProblem for wrong flags, a Failure when NATS is unreachable or on a stop. */
export async function openListener(
  values: Readonly<ValuesOf<typeof NATS_SETTINGS>>,
  { clock, host, verb, interrupted }: ListenerIo,
): Promise<NatsListener> {
  checkNatsFiles(values, host);
  const refusals: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (refusal, { operation } = {}) => {
      if (operation === "subscription") refusals.push(refusal);
    },
  };
  const metrics = createMetrics();
  const connecting = connectNats({ ...natsOptionsOf(values), clock, log, metrics, name: `vigil ${verb}` });
  const stopped = untilStopped(host).then(() => {
    throw new Failure(interrupted);
  });
  const transport = await Promise.race([connecting, stopped]).catch((error: Error) => {
    throw error instanceof Failure ? error : new Failure(error.message);
  });
  // NATS may allow on a new connection what it denied on the last.
  transport.onConnection(() => refusals.splice(0));
  return {
    transport,
    where: `NATS at ${readNatsAddresses(values.nats).servers.join()}`,
    log,
    metrics,
    checkRefusals: () => {
      if (refusals[0] !== undefined) throw new Failure(`${refusals[0]}: use the inspector's key with --nats-nkey`);
    },
  };
}
