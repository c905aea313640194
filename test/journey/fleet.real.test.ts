/**
 * Processes of one fleet are killed one after the other while a zone is down: what moves, how late, and what never
 * happens.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import type { VigilProcess } from "../support/vigil-process.ts";
import { EmbeddedFleetApi } from "./fleet-apis.ts";
import { FleetWorld } from "./fleet-world.ts";

const GRACE_MS = 15_000;
const TAINTS_PER_SECOND = 4;
const TOLERATION_SECONDS = 16;
/**
 * How late a takeover may make a deadline of that time: five seconds, and six more on a machine that runs other suites
 * too. A restarted grace period would make it 13 s late, because a process is killed 10 s after nodes fell.
 */
const TAKEOVER_MS = 11_000;
const LEASE_SECONDS = 20;
/** How far apart the last heartbeats of nodes that fall at once may be. */
const RENEW_MS = (LEASE_SECONDS * 1000) / 4;
/**
 * How late a pod may be evicted. The process that takes over its countdown may request the eviction a moment before
 * another takes over the writes, and requests it again after two seconds.
 */
const EVICTION_LATE_MS = TAKEOVER_MS + 2_000;
/** How long a stop may last. */
const END_MS = 10_000;
/** The latency of writes during a stop: each process has some in flight, and none has to queue. */
const ANSWER_MS = 200;
const MEMBERS = ["a", "b", "c"];
const LONG_TEST_MS = 120_000;

describeWithNats("a fleet of three processes with 500 nodes, one zone of which goes down", () => {
  const api = new EmbeddedFleetApi();
  const world = new FleetWorld(
    {
      zones: { dark: 100, lit: 400 },
      leaseSeconds: LEASE_SECONDS,
      tolerationSeconds: TOLERATION_SECONDS,
      flags: [
        `--node-monitor-grace-period=${GRACE_MS / 1000}s`,
        `--node-eviction-rate=${TAINTS_PER_SECOND}`,
        // More than half of the lit zone falls silent, a few nodes at a time.
        "--unhealthy-zone-threshold=0.9",
      ],
    },
    api,
  );
  let nats: NatsServer;
  beforeAll(async () => {
    [nats] = await Promise.all([startNatsServer(), world.begin()]);
    await Promise.all(MEMBERS.map((member) => world.start(member, nats.url)));
    await world.ready();
    await pause(RENEW_MS);
    world.fall(world.alive("dark"));
  });
  afterAll(async () => {
    await world.end();
    await nats.stop();
  });

  /** Ends a member when verdicts on nodes of every shard are about to be due. Resolves with the lateness of each. */
  async function latenessWithout(member: string, end: (member: string) => Promise<void>): Promise<number[]> {
    const fallen = world.fallInEachShard("lit");
    await pause(GRACE_MS - RENEW_MS);
    await end(member);
    await world.untilUnknown(fallen, 2 * GRACE_MS);
    return world.record.latenessMs(fallen, GRACE_MS);
  }

  /** The last log line of each other member about this one, from now on; a busy one may miss some pulses before. */
  function lastWordsOf(member: string): () => (string | undefined)[] {
    const others = [...world.members].filter(([name]) => name !== member);
    const before = new Map(others.map(([name, { logged }]) => [name, logged.length]));
    const lastOf = ([name, { logged }]: [string, VigilProcess]) =>
      logged.slice(before.get(name)).findLast((line) => line.member === member)?.message;
    return () => others.map(lastOf);
  }

  test.for(MEMBERS)(
    "%s is killed: verdicts of every shard come without a new grace, none too early",
    { timeout: LONG_TEST_MS },
    async (member) => {
      const lastWords = lastWordsOf(member);
      const lateness = await latenessWithout(member, async () => {
        expect(await world.stop(member, "SIGKILL")).toBeNull();
      });
      await world.start(member, nats.url);
      const knows = (word: string | undefined) => word === "a member joined the fleet";
      await until("both others know it again", () => lastWords().every(knows));
      // The newcomer counts a node's silence from its last heartbeat once it has received one.
      await world.ready();
      await pause(RENEW_MS);
      expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...lateness)).toBeLessThan(TAKEOVER_MS);
    },
  );

  /** Stops a member while the API answers slowly and writes are in flight. */
  async function endInOrder(member: string): Promise<void> {
    const vigil = world.members.get(member);
    const isPatch = ({ verb, resource }: Call) => verb === "patch" && resource.plural === "nodes";
    const hurry = api.server.faults.add({ fault: { kind: "latency", answerMs: ANSWER_MS }, when: isPatch });
    await pause(ANSWER_MS);
    const askedAt = Date.now();
    expect(await world.stop(member, "SIGTERM")).toBe(0);
    hurry();
    expect(Date.now() - askedAt).toBeLessThan(END_MS);
    expect(vigil?.logged.filter(({ level }) => level === "error")).toEqual([]);
    expect(vigil?.err).not.toContain("some writes did not finish in time");
  }

  test("one that is stopped finishes its writes, exits with 0, and hands over its shards", {
    timeout: LONG_TEST_MS,
  }, async () => {
    const member = world.ownerOf("observer", 0);
    const lastWords = lastWordsOf(member);
    const lateness = await latenessWithout(member, endInOrder);
    expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lateness)).toBeLessThan(TAKEOVER_MS);
    // Each other member received its goodbye and did not have to notice its silence.
    expect(lastWords()).toEqual(["a member left the fleet", "a member left the fleet"]);
  });

  test("every pod of a silent node is evicted once, neither early nor late, and no other", {
    timeout: LONG_TEST_MS,
  }, async () => {
    const { record } = world;
    const evicted = () => world.fallen.every((node) => record.deletedAt.has(node));
    await until("every pod of a silent node is evicted", evicted, { withinMs: 60_000, everyMs: 100 });
    const late = record.evictionLatenessMs(world.fallen, TOLERATION_SECONDS);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...late)).toBeLessThan(EVICTION_LATE_MS);
    expect(record.deletedAgain()).toEqual([]);
    expect(world.wronglyJudged()).toEqual([]);
  });

  test("each zone's nodes are tainted within its rate in every window", () => {
    expect(world.record.taints.length).toBeGreaterThanOrEqual(world.fallen.length);
    expect(world.record.brokenWindows(TAINTS_PER_SECOND)).toEqual([]);
  });
});
