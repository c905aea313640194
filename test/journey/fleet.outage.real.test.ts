/** A fleet of two processes when NATS dies, and when a cut between two NATS servers partitions it. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";
import { describeWithNats } from "../support/nats-programs.ts";
import { freePort, type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { FleetWorld } from "./fleet-world.ts";
import { expectRecovery } from "./outage.ts";

const GRACE_MS = 6_000;
const LEASE_SECONDS = 4;
const LONG_TEST_MS = 180_000;

const [SILENT, CUT_OFF] = ["a member of the fleet stopped sending pulses", "cut off from the fleet"];

/** Two servers of one cluster; their route goes through the proxy. */
async function startCluster(): Promise<{ servers: [NatsServer, NatsServer]; route: TcpProxy }> {
  const port = await freePort();
  const cluster = (listen: number, routes: string) =>
    `cluster { name: c, listen: "127.0.0.1:${listen}", no_advertise: true, routes: [${routes}] }`;
  const first = await startNatsServer({ config: cluster(port, "") });
  const route = await startTcpProxy(port);
  const config = cluster(await freePort(), `nats-route://127.0.0.1:${route.port}`);
  return { servers: [first, await startNatsServer({ config })], route };
}

describeWithNats("a fleet of two processes, each at a NATS server of its own", () => {
  const world = new FleetWorld({
    zones: { one: 150, two: 150 },
    leaseSeconds: LEASE_SECONDS,
    tolerationSeconds: 300,
    flags: [`--node-monitor-grace-period=${GRACE_MS / 1000}s`, "--unhealthy-zone-threshold=0.9"],
  });
  let servers: [NatsServer, NatsServer];
  let route: TcpProxy;
  beforeAll(async () => {
    [{ servers, route }] = await Promise.all([startCluster(), world.begin()]);
    await Promise.all([world.start("a", servers[0].url), world.start("b", servers[1].url)]);
    await pause(GRACE_MS);
  });
  afterAll(async () => {
    await world.end();
    await route.close();
    for (const server of servers) await server.stop();
  });

  test("that is partitioned writes nothing wrong and recovers soon after", { timeout: LONG_TEST_MS }, () =>
    expectRecovery(world, GRACE_MS, {
      logged: { a: SILENT, b: SILENT },
      leavesMember: true,
      begin: () => Promise.resolve(route.cut()),
      end: () => Promise.resolve(route.mend()),
    }),
  );

  test("whose servers are killed and restarted writes nothing wrong and recovers soon", { timeout: LONG_TEST_MS }, () =>
    expectRecovery(world, GRACE_MS, {
      logged: { a: CUT_OFF, b: CUT_OFF },
      leavesMember: false,
      begin: () => Promise.all(servers.map((server) => server.kill())),
      end: () => Promise.all(servers.map((server) => server.start())),
    }),
  );
});
