/**
 * The NATS connection for the ledger's history. Where the history has its own NATS account this is a second connection,
 * opened on first use. An edge: it may await; the services never wait for it.
 */
import type { Io, Log } from "../../../protocols/ports.ts";
import { connectNats, type NatsTransport } from "../../platform/bus/nats.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { historyOptionsOf } from "../connect/nats-files.ts";

type NatsConnection = NatsTransport["connection"];

/** The connection for the history. */
export interface HistoryLink {
  /** The connection; rejects with an Error of one line when it cannot be opened, and may be called again. */
  connect(): Promise<NatsConnection>;
  /** Closes the connection, unless it is the bus's. */
  close(): Promise<void>;
}

/** The ports of the connection for the history. */
interface HistoryIo extends Pick<Io, "clock" | "log"> {
  readonly member: string;
}

/** The history's own connection, or `bus` where the history has no credentials of its own. */
export function historyLink(settings: ProcessSettings, io: HistoryIo, bus: NatsConnection): HistoryLink {
  const options = historyOptionsOf(settings);
  if (options === null) return { connect: async () => bus, close: async () => {} };
  let link: NatsTransport | null = null;
  let closed = false;
  return {
    async connect() {
      // The NATS metrics are the bus's; `vigil_ledger_store_ready` covers this connection.
      const own = { clock: io.clock, log: aboutHistory(io.log), metrics: createMetrics() };
      link ??= await connectNats({ ...options, ...own, name: `vigil ${io.member} history` });
      if (closed) await link.close();
      return link.connection;
    },
    async close() {
      closed = true;
      await link?.close();
    },
  };
}

/** Marks the lines of this connection, which are otherwise like those of the bus. */
function aboutHistory(log: Log): Log {
  const prefixed =
    (level: keyof Log): Log[keyof Log] =>
    (message, fields) =>
      log[level](`history: ${message}`, fields);
  return { debug: prefixed("debug"), info: prefixed("info"), warn: prefixed("warn"), error: prefixed("error") };
}
