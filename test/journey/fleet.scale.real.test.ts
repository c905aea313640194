/** A fleet grows from one process to four and shrinks to one of the new ones while a zone is down. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { FleetWorld } from "./fleet-world.ts";

const GRACE_MS = 6_000;
const TAINTS_PER_SECOND = 3;
const TOLERATION_SECONDS = 12;
/** How late a pod may be evicted while shards move; a restarted countdown would be later. */
const LATE_MS_MAX = 8_000;
const [FIRST, LAST] = ["a", "d"];
const LONG_TEST_MS = 180_000;

describeWithNats("a fleet of one process, then four, then one of those that came", () => {
  const world = new FleetWorld({
    zones: { dark: 60, lit: 140 },
    leaseSeconds: 4,
    tolerationSeconds: TOLERATION_SECONDS,
    flags: [`--node-monitor-grace-period=${GRACE_MS / 1000}s`, `--node-eviction-rate=${TAINTS_PER_SECOND}`],
  });
  const { record } = world;
  let nats: NatsServer;
  beforeAll(async () => {
    [nats] = await Promise.all([startNatsServer(), world.begin()]);
    await world.start(FIRST, nats.url);
  });
  afterAll(async () => {
    await world.end();
    await nats.stop();
  });

  test("keeps every countdown: each pod of the dark zone is evicted once and in time", {
    timeout: LONG_TEST_MS,
  }, async () => {
    world.fall(world.alive("dark"));
    await until("some nodes are tainted", () => record.taints.length >= 6, { withinMs: 45_000 });
    await Promise.all(["b", "c", LAST].map((member) => world.start(member, nats.url)));
    await until("the first pods are evicted", () => record.deletedAt.size > 0, { withinMs: 45_000 });
    const leave = [...world.members.keys()].filter((member) => member !== LAST);
    expect(await Promise.all(leave.map((member) => world.stop(member, "SIGTERM")))).toEqual(leave.map(() => 0));
    expect(record.deletedAt.size).toBeLessThan(world.fallen.length);
    const evicted = () => world.fallen.every((node) => record.deletedAt.has(node));
    await until("every pod of the dark zone is evicted", evicted, { withinMs: 60_000 });
    const late = record.evictionLatenessMs(world.fallen, TOLERATION_SECONDS);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...late)).toBeLessThan(LATE_MS_MAX);
    expect(record.deletedAgain()).toEqual([]);
    expect(world.wronglyJudged()).toEqual([]);
  });

  test("keeps the eviction rate of the zone in every window", () => {
    expect(record.taints.length).toBe(world.fallen.length);
    expect(record.brokenWindows(TAINTS_PER_SECOND)).toEqual([]);
  });
});
