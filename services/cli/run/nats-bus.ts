/** The bus of a process on NATS, with the connections beside it: for the ledger's history, and for questions. */
import { type LedgerStore, openLedgerStore } from "../../ledger/record/ledger.store.ts";
import { readNatsAddresses } from "../../platform/bus/nats.address.ts";
import { connectNats } from "../../platform/bus/nats.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { natsOptionsOf } from "../connect/nats-files.ts";
import { Failure } from "../verb.ts";
import { historyLink } from "./history-link.ts";
import type { BusIo, OpenBus } from "./process-bus.ts";
import { QueryLink } from "./query-link.ts";

/** Connects; waits while NATS is unreachable. Throws a Failure when NATS rejects the connection. */
export async function openNatsBus(settings: ProcessSettings, io: BusIo): Promise<OpenBus> {
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
