/** The transport contract on each installed nats-server. */
import { connectNats, type NatsTransport } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { type TransportWorld, transportContract } from "./bus.contract.ts";

describeWithEachNats("as a bus", () => transportContract("the NATS transport", natsWorld, true));

async function natsWorld(): Promise<TransportWorld> {
  const server = await startNatsServer();
  const clock = realClock();
  const links: NatsTransport[] = [];
  const all = (connected: boolean) => () => links.every((link) => link.connected() === connected);
  return {
    clock,
    async connect() {
      const identity = { servers: [server.url], name: "contract", clock };
      const link = await connectNats({ ...identity, log: silentLog, metrics: createMetrics() });
      links.push(link);
      return link;
    },
    // The first flush brings everything to the server, the second back from it. Then the mailboxes are emptied in
    // batches.
    async settle() {
      for (const link of [...links, ...links]) await link.flush();
      for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    },
    async cut() {
      await server.kill();
      await until("every connection is lost", all(false));
    },
    async mend() {
      await server.start();
      await until("every connection is back", all(true));
      // A link is back before the server has read its subscriptions.
      for (const link of links) await link.flush();
    },
    async close() {
      for (const link of links) await link.close();
      await server.stop();
    },
  };
}
