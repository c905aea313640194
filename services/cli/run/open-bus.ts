/** Chooses the bus of a process: memory when it is alone, NATS when servers are named. */
import type { Clock, Log, Metrics, Transport } from "../../../protocols/ports.ts";
import { type LedgerStore, openLedgerStore } from "../../ledger/ledger.store.ts";
import { memoryTransport } from "../../platform/bus/memory.ts";
import { readNatsAddresses } from "../../platform/bus/nats.address.ts";
import { connectNats } from "../../platform/bus/nats.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { natsOptionsOf } from "../nats-options.ts";
import { Failure } from "../verb.ts";
import { historyLink } from "./history-link.ts";

/** The bus of a process. */
export interface OpenBus {
  readonly transport: Transport;
  /** Whether other processes may be on it. */
  readonly isShared: boolean;
  /**
   * Opens what the ledger keeps its history in beyond the process, for a process that has joined its fleet; null where
   * there is nothing. `clusterUid` tells the cluster from others of its name; null when it is not known.
   */
  openStore(clusterUid: string | null): LedgerStore | null;
  /** Resolves with the reason when the bus has ended for good without being asked to. */
  readonly lost: Promise<string>;
  /** Sends what waits and ends it. */
  close(): Promise<void>;
}

/** What the bus of a process needs. */
export interface BusIo {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly member: string;
  /** Told what is waited for. */
  readonly waitsFor: (what: string) => void;
}

/** Opens the bus; waits for a NATS that cannot be reached yet. Throws a Failure when NATS refuses us. */
export async function openBus(settings: ProcessSettings, io: BusIo): Promise<OpenBus> {
  if (settings.nats.length > 0) return natsBus(settings, io);
  const lost = new Promise<string>(() => {});
  return { transport: memoryTransport(io.clock), isShared: false, openStore: () => null, lost, close: async () => {} };
}

async function natsBus(settings: ProcessSettings, io: BusIo): Promise<OpenBus> {
  const { clock, log, metrics, member, waitsFor } = io;
  waitsFor(`NATS at ${readNatsAddresses(settings.nats).servers.join()}`);
  const transport = await connectNats({
    ...natsOptionsOf(settings),
    name: `vigil ${member}`,
    clock,
    log,
    metrics,
    waitOnFirstConnect: true,
  }).catch((error: unknown) => {
    throw failureOf(error);
  });
  const { cluster, services } = settings;
  const history = historyLink(settings, io, transport.connection);
  let store: LedgerStore | null = null;
  return {
    transport,
    isShared: true,
    openStore(clusterUid) {
      if (!services.includes("ledger")) return null;
      const connect = () => history.connect();
      store = openLedgerStore({ connect, cluster, clusterUid, clock, log, metrics });
      return store;
    },
    lost: transport.closed.then((error) => error?.message ?? "the connection to NATS has ended"),
    close: async () => {
      store?.close();
      await Promise.all([history.close(), transport.close()]);
    },
  };
}

function failureOf(error: unknown): Failure {
  return new Failure(error instanceof Error ? error.message : String(error));
}
