/**
 * A fleet is upgraded from the release before to this one and back, a process at a time, while 200 of its nodes are
 * silent.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeUnless } from "../support/describe-unless.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { FleetWorld } from "./fleet-world.ts";
import { installPreviousRelease, previousReleaseProblem, type Release } from "./previous-release.ts";

const GRACE_MS = 15_000;
const TAINTS_PER_SECOND = 4;
const TOLERATION_SECONDS = 30;
const LEASE_SECONDS = 20;
/** How far apart the last heartbeats of nodes that fall at once may be. */
const RENEW_MS = (LEASE_SECONDS * 1000) / 4;
/** How late a deadline may be that falls into a handover; a restarted countdown would be later. */
const HANDOVER_MS = 5_000;
const MEMBERS = ["a", "b", "c"];
const ZONES = ["one", "two", "three", "four"];
const SILENT_PER_ZONE = 50;
const LONG_TEST_MS = 240_000;

describeWithNats("a fleet", () => {
  describeUnless(previousReleaseProblem(), "of two versions during an outage of 200 nodes", () => {
    const world = new FleetWorld({
      zones: Object.fromEntries(ZONES.map((zone) => [zone, 2 * SILENT_PER_ZONE])),
      leaseSeconds: LEASE_SECONDS,
      tolerationSeconds: TOLERATION_SECONDS,
      flags: [`--node-monitor-grace-period=${GRACE_MS / 1000}s`, `--node-eviction-rate=${TAINTS_PER_SECOND}`],
    });
    let nats: NatsServer;
    let previous: Release;

    beforeAll(async () => {
      previous = installPreviousRelease();
      [nats] = await Promise.all([startNatsServer(), world.begin()]);
      for (const member of MEMBERS) world.install(member, previous.main);
      await Promise.all(MEMBERS.map((member) => world.start(member, nats.url)));
      await pause(RENEW_MS);
    }, LONG_TEST_MS);
    afterAll(async () => {
      await world.end();
      await nats?.stop();
      previous?.remove();
    });

    /** Replaces each process by one of another program when the one before is ready; null is that of this tree. */
    async function roll(main: string | null): Promise<void> {
      for (const member of MEMBERS) {
        expect(await world.stop(member, "SIGTERM")).toBe(0);
        world.install(member, main);
        await world.start(member, nats.url);
        await world.ready();
      }
    }

    test("is rolled forward and back: every verdict comes, none too early", { timeout: LONG_TEST_MS }, async () => {
      const fallen = ZONES.flatMap((zone) => world.alive(zone).slice(0, SILENT_PER_ZONE));
      world.fall(fallen);
      await roll(null);
      await roll(previous.main);
      // The last process that saw a lease renewed may be gone: then its node has its grace again, as after a restart.
      const dueAt = Date.now() + GRACE_MS + HANDOVER_MS;
      await world.untilUnknown(fallen, GRACE_MS + 2 * HANDOVER_MS);
      const { record } = world;
      expect(Math.min(...record.latenessMs(fallen, GRACE_MS))).toBeGreaterThanOrEqual(0);
      const verdictsAt = fallen.map((node) => record.unknownAt.get(node)?.[0] ?? Number.POSITIVE_INFINITY);
      expect(Math.max(...verdictsAt)).toBeLessThan(dueAt);
    });

    test("every pod of a silent node goes once, neither early nor late, and no other", {
      timeout: LONG_TEST_MS,
    }, async () => {
      const { record } = world;
      await roll(null);
      const evicted = () => world.fallen.every((node) => record.deletedAt.has(node));
      await until("every pod of a silent node is evicted", evicted, { withinMs: 90_000, everyMs: 100 });
      const late = record.evictionLatenessMs(world.fallen, TOLERATION_SECONDS);
      expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...late)).toBeLessThan(HANDOVER_MS);
      expect(record.deletedAgain()).toEqual([]);
      expect(world.wronglyJudged()).toEqual([]);
      expect(record.brokenWindows(TAINTS_PER_SECOND)).toEqual([]);
    });
  });
});
