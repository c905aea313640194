/**
 * The connection on which the ledger keeps its history. Where NATS has an account of its own for it, it is a second
 * one, made when it is first asked for. An edge: it may wait; the services never wait for it.
 */
import type { Log } from "../../../protocols/ports.ts";
import { connectNats, type NatsTransport } from "../../platform/bus/nats.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { historyOptionsOf } from "../nats-options.ts";
import type { BusIo } from "./open-bus.ts";

type NatsConnection = NatsTransport["connection"];

/** Where the history is kept. */
export interface HistoryLink {
  /** The connection; rejects with an Error of one line when there is none, and may be called again. */
  connect(): Promise<NatsConnection>;
  /** Ends the connection, unless it is the bus's. */
  close(): Promise<void>;
}

/** The history's own connection, or `bus` where no credentials are given for one. */
export function historyLink(settings: ProcessSettings, io: BusIo, bus: NatsConnection): HistoryLink {
  const options = historyOptionsOf(settings);
  if (options === null) return { connect: async () => bus, close: async () => {} };
  let link: NatsTransport | null = null;
  let closed = false;
  return {
    async connect() {
      // The metrics about NATS are the bus's: `vigil_ledger_store_ready` says how this connection is.
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

/** Says of each line that it is about the history's connection and not the bus's. */
function aboutHistory(log: Log): Log {
  const prefixed =
    (level: keyof Log): Log[keyof Log] =>
    (message, fields) =>
      log[level](`history: ${message}`, fields);
  return { debug: prefixed("debug"), info: prefixed("info"), warn: prefixed("warn"), error: prefixed("error") };
}
