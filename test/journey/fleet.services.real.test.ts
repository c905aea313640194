/** A fleet in which each process runs one service: together they do all the work, and each process ends in order. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { FleetWorld } from "./fleet-world.ts";

const END_MS = 10_000;

describeWithNats("a process for each service", () => {
  const world = new FleetWorld({
    zones: { one: 30 },
    leaseSeconds: 4,
    tolerationSeconds: 0,
    flags: ["--node-monitor-grace-period=6s", "--node-eviction-rate=10"],
  });
  let nats: NatsServer;
  beforeAll(async () => {
    [nats] = await Promise.all([startNatsServer(), world.begin()]);
    await Promise.all(SERVICE_NAMES.map((name) => world.start(name, nats.url, `--services=${name}`)));
  });
  afterAll(async () => {
    await world.end();
    await nats.stop();
  });

  test("together they find silent nodes, taint them and evict from them", async () => {
    world.fall(world.alive("one").slice(0, 3));
    const evicted = () => world.fallen.every((node) => world.record.deletedAt.has(node));
    await until("the silent nodes' pods are evicted", evicted);
    expect(world.wronglyJudged()).toEqual([]);
  });

  test.for(SERVICE_NAMES)(
    "that of %s, on SIGTERM, exits with 0 within ten seconds and without a failure",
    async (name) => {
      const vigil = world.members.get(name);
      const askedAt = Date.now();
      expect(await world.stop(name, "SIGTERM")).toBe(0);
      expect(Date.now() - askedAt).toBeLessThan(END_MS);
      expect(vigil?.logged.filter(({ level }) => level === "error")).toEqual([]);
    },
  );
});
