/** Opens the bus of a process: NATS when servers are given, else memory. */
import type { Io, Transport } from "../../../protocols/ports.ts";
import { type LedgerStore, openLedgerStore } from "../../ledger/record/ledger.store.ts";
import { memoryTransport } from "../../platform/bus/memory.ts";
import { readNatsAddresses } from "../../platform/bus/nats.address.ts";
import type { MicroService } from "../../platform/bus/nats.micro.ts";
import { connectNats } from "../../platform/bus/nats.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import type { ReaderTurns } from "../../platform/process/reader-turns.ts";
import { natsOptionsOf } from "../connect/nats-files.ts";
import { Failure } from "../verb.ts";
import { historyLink } from "./history-link.ts";
import { QueryLink } from "./query-link.ts";

/** The bus of a process. */
export interface OpenBus {
  readonly transport: Transport;
  /** Whether other processes may be on it. */
  readonly isShared: boolean;
  /**
   * Opens the store of the ledger's history, after the process has joined its fleet; null without NATS or without a
   * ledger. `clusterUid` separates clusters of one name; null when it is not known.
   */
  openStore(clusterUid: string | null): LedgerStore | null;
  /** Resolves with the reason when the connection has ended for good without `close`. */
  readonly lost: Promise<string>;
  /** Answers requests of other clients until the bus is closed; does nothing without NATS. */
  serve(service: MicroService): void;
  /** Flushes and closes the bus. */
  close(): Promise<void>;
}

/** The ports of a bus. */
export interface BusIo extends Pick<Io, "clock" | "log" | "metrics"> {
  readonly member: string;
  /** The turns of all readers of the process. */
  readonly turns: ReaderTurns;
  /** Called with what the process waits for. */
  readonly waitsFor: (what: string) => void;
}

/** Opens the bus; waits while NATS is unreachable. Throws a Failure when NATS rejects the connection. */
export async function openBus(settings: ProcessSettings, io: BusIo): Promise<OpenBus> {
  if (settings.nats.length > 0) return natsBus(settings, io);
  const lost = new Promise<string>(() => {});
  const transport = memoryTransport(io.clock);
  return { transport, isShared: false, openStore: () => null, lost, serve: () => {}, close: async () => {} };
}

async function natsBus(settings: ProcessSettings, io: BusIo): Promise<OpenBus> {
  const { clock, log, metrics, member, turns, waitsFor } = io;
  waitsFor(`NATS at ${readNatsAddresses(settings.nats).servers.join()}`);
  const transport = await connectNats({
    ...natsOptionsOf(settings),
    name: `vigil ${member}`,
    clock,
    log,
    metrics,
    waitOnFirstConnect: true,
  }).catch((error: unknown) => {
    throw new Failure(error instanceof Error ? error.message : String(error));
  });
  const { cluster, services } = settings;
  const history = historyLink(settings, io, transport.connection);
  let store: LedgerStore | null = null;
  let queries: QueryLink | null = null;
  return {
    transport,
    isShared: true,
    openStore(clusterUid) {
      if (!services.includes("ledger")) return null;
      const connect = () => history.connect();
      store = openLedgerStore({ connect, cluster, clusterUid, clock, log, metrics });
      return store;
    },
    serve(service) {
      const nats = { ...natsOptionsOf(settings), name: `vigil ${member} queries` };
      queries = new QueryLink(service, { nats, clock, log, metrics, turns });
    },
    lost: transport.closed.then((error) => error?.message ?? "the connection to NATS has ended"),
    close: async () => {
      store?.close();
      await Promise.all([queries?.close(), history.close(), transport.close()]);
    },
  };
}
