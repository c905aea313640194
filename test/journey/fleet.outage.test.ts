/** A fleet of two processes when NATS dies, when the observer dies, and when a cut keeps the two from each other. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithNats } from "../support/nats-programs.ts";
import { freePort, type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { FleetWorld } from "./fleet-world.ts";

const GRACE_MS = 6_000;
const LEASE_SECONDS = 4;
/** How soon after an outage everything is whole again. */
const RECOVERY_MS = 10_000;
/** Long enough for each side to take over what the other minded. */
const OUTAGE_MS = 8_000;
const LONG_TEST_MS = 90_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What goes wrong for a while, and what each process says of it. */
interface Outage {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
  readonly told: string;
}

/** Two servers of one cluster; what one says to the other goes through the proxy. */
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

  /** While the outage lasts and when it ends a node of each shard falls; each is found so once, and in time. */
  async function expectRecovery(outage: Outage): Promise<void> {
    await outage.begin();
    const within = world.fallInEachShard("one");
    await pause(OUTAGE_MS);
    for (const vigil of world.members.values()) await vigil.says(outage.told);
    await outage.end();
    const after = world.fallInEachShard("two");
    const endedAt = Date.now();
    await world.condemned([...within, ...after], RECOVERY_MS + GRACE_MS);
    const instants = [...within, ...after].map((node) => world.record.unknownAt.get(node) ?? []);
    expect(Math.min(...world.record.latenessMs([...within, ...after], GRACE_MS))).toBeGreaterThanOrEqual(0);
    expect(instants.every(({ length }) => length === 1)).toBe(true);
    expect(Math.max(...instants.flat())).toBeLessThan(endedAt + RECOVERY_MS);
    expect(world.wronged()).toEqual([]);
  }

  test(
    "that a cut keeps from each other writes nothing false, and is whole soon after it",
    { timeout: LONG_TEST_MS },
    () =>
      expectRecovery({
        told: "a member of the fleet fell silent",
        begin: () => Promise.resolve(route.cut()),
        end: () => Promise.resolve(route.mend()),
      }),
  );

  test(
    "whose servers are killed and come back writes nothing false, and is whole soon after",
    { timeout: LONG_TEST_MS },
    () =>
      expectRecovery({
        told: "cut off from the fleet",
        begin: () => Promise.all(servers.map((server) => server.kill())),
        end: () => Promise.all(servers.map((server) => server.start())),
      }),
  );
});
