/** Ledgers with a store on a real nats-server, each with a publisher of judgements. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Bus, Clock } from "../../../protocols/ports.ts";
import { type Ledger, startLedger } from "../../../services/ledger/ledger.service.ts";
import type { StoreLimits } from "../../../services/ledger/record/ledger.store.streams.ts";
import { type LedgerStore, openLedgerStore } from "../../../services/ledger/record/ledger.store.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { connectNats, type NatsTransport } from "../../../services/platform/bus/nats.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { type NatsServer, startNatsServer } from "../../support/nats-server.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { judgedNode, ledgerWorld } from "../ledger-world.ts";

/** A member with a ledger, a store and a publisher of judgements. */
export interface Member {
  readonly transport: NatsTransport;
  readonly ledger: Ledger;
  readonly store: LedgerStore;
  readonly busOf: (service: string) => Bus;
  readonly judge: Bus;
  readonly log: ReturnType<typeof recordingLog>;
  readonly metrics: ReturnType<typeof createMetrics>;
  stop(): Promise<void>;
}

/** The uid of the ledgers' cluster. */
export const UID = "7c1f3a52-0d6e-4f0b-9a77-2f1d5b8e6c90";
const running: { stop(): Promise<void> }[] = [];
/** Stops everything that was started. */
export async function stopAll(): Promise<void> {
  for (const each of running.splice(0).reverse()) await each.stop();
}

/** Starts a nats-server. */
export async function serve(jetstream: boolean, port?: number): Promise<NatsServer> {
  const server = await startNatsServer(port === undefined ? { jetstream } : { jetstream, port });
  running.push(server);
  return server;
}

/** Starts a ledger with a store, whose first `failures` tries fail. */
export async function join(
  server: NatsServer,
  limits: Partial<StoreLimits> = {},
  {
    storeClock,
    clusterUid = UID,
    failures = 0,
  }: { storeClock?: Clock; clusterUid?: string | null; failures?: number } = {},
): Promise<Member> {
  const [clock, log, metrics] = [realClock(), recordingLog(), createMetrics()];
  const transport = await connectNats({ servers: [server.url], name: "ledger", clock, log, metrics });
  const cluster = "test";
  let failuresLeft = failures;
  const store = openLedgerStore({
    connect: async () => {
      if (failuresLeft-- > 0) throw new Error("no suitable peers for placement");
      return transport.connection;
    },
    cluster,
    clusterUid,
    clock: storeClock ?? clock,
    log,
    metrics,
    limits,
  });
  const busOf = (service: string) =>
    typedBus({ transport, clock, cluster, service, member: "m-0", log, metrics, mailboxMessagesMax: 1000 });
  const { io } = ledgerWorld();
  const ledger = startLedger({ ...io, clock, metrics, log, bus: busOf("ledger") }, { store });
  const member: Member = {
    transport,
    ledger,
    store,
    log,
    metrics,
    busOf,
    judge: busOf("node"),
    async stop() {
      ledger.stop();
      store.close();
      await transport.close();
    },
  };
  running.push(member);
  return member;
}

/** A node judged silent. */
export const unknown = (node: string, since = 0): BodyOf<"judged.node"> =>
  judgedNode(node, { readiness: "unknown", ready: "Unknown", since });
/** The timeline of a node. */
export const timeline = ({ ledger }: Member, node: string) => ledger.reader.explainNode(node)?.timeline ?? [];
/** The timeline of a pod, oldest first. */
export const timelineOfPod = ({ ledger }: Member, name: string) =>
  ledger.reader
    .decisions(100)
    .filter(({ object }) => object.kind === "Pod" && object.name === name)
    .toReversed();
/** Whether a store has logged that it stores nothing. */
export const saysNoHistory = ({ log }: Member) =>
  log.lines.some(({ message }) => message.startsWith("history is kept in memory only"));
