/**
 * A fleet of three processes on a real NATS, each with a connection of its own to the API server. One connection is cut
 * or stalls while its NATS works: the others observe and write in its place. Test files provide the API server, one
 * each, so that they run in parallel.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommandLine } from "../../services/cli/command-line.ts";
import type { MemberReport } from "../../services/cli/get/fleet-members.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { freePort, type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import type { FleetApi } from "./fleet-apis.ts";
import { FleetWorld } from "./fleet-world.ts";

const MEMBERS = ["a", "b", "c"];
const GRACE_MS = 20_000;
/** A member loses its services after watchBlindMs and five seconds. */
const TAKEOVER_MS = 15_000;
/** Slack for busy machines. */
const SLACK_MS = 5_000;
const LONG_TEST_MS = 240_000;
const LEAVES = "leaves services to members that reach the API";
const OFFERS = "offers every service again";

/**
 * The journey on one API server. One node of each shard falls silent for each fault, so a zone needs about as many
 * nodes as there are shards.
 */
export function apiCutJourney(api: FleetApi, nodesOfZone: number): void {
  const world = new FleetWorld(
    {
      zones: { one: nodesOfZone, two: nodesOfZone },
      leaseSeconds: 8,
      tolerationSeconds: 300,
      flags: [`--node-monitor-grace-period=${GRACE_MS / 1000}s`, "--unhealthy-zone-threshold=0.95"],
    },
    api,
  );
  const ways = new Map<string, TcpProxy>();
  const consoles = new Map<string, number>();
  let nats: NatsServer;
  beforeAll(async () => {
    [nats] = await Promise.all([startNatsServer(), world.begin()]);
    for (const member of MEMBERS) {
      const way = await startTcpProxy(world.apiPort);
      ways.set(member, way);
      world.lead(member, way.port);
      consoles.set(member, await freePort());
    }
    const start = (member: string) => world.start(member, nats.url, `--listen=127.0.0.1:${consoles.get(member)}`);
    await Promise.all(MEMBERS.map(start));
    await pause(8_000);
  });
  afterAll(async () => {
    await world.end();
    for (const way of ways.values()) await way.close();
    await nats.stop();
  });

  const said = (member: string, text: string) =>
    world.members.get(member)?.logged.filter(({ message }) => message === text).length ?? 0;
  const fleet = async (): Promise<MemberReport[]> => {
    const host = fakeHost();
    expect(await runCommandLine(["get", "fleet", `--nats=${nats.url}`, "--output=json"], host)).toBe(0);
    return JSON.parse(host.out()).items;
  };
  const ready = async (member: string): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${consoles.get(member)}/readyz?verbose`);
    return answer.text();
  };

  // Another member each time, because a member withdraws at most once in half a minute.
  const FAULTS: [string, number, (way: TcpProxy) => void, (way: TcpProxy) => void][] = [
    ["the observer's carries no answers any more", 0, (way) => way.stall("server"), (way) => way.flow()],
    ["a standby's carries no requests any more", 1, (way) => way.stall("client"), (way) => way.flow()],
    ["the other standby's is cut", 2, (way) => way.cut(), (way) => way.mend()],
  ];

  test.each(FAULTS)(
    "of which %s: others observe and write in time, and it gets its share back later",
    { timeout: LONG_TEST_MS },
    async (_how, place, begin, end) => {
      const observer = world.ownerOf("observer", 0, MEMBERS);
      const [member = ""] = [observer, ...MEMBERS.filter((name) => name !== observer)].slice(place);
      const way = ways.get(member);
      if (way === undefined) throw new Error(`${member} has no way`);
      const leavesAndOffers = () => [said(member, LEAVES), said(member, OFFERS)];
      expect(leavesAndOffers()).toEqual([0, 0]);
      begin(way);
      const fallen = world.fallInEachShard(place === 0 ? "one" : "two");
      await until("it leaves its place", () => said(member, LEAVES) > 0, { withinMs: TAKEOVER_MS + SLACK_MS });
      expect(await ready(member)).toMatch(/^\[-\]api failed: requests have failed for \d+ s: /m);
      const report = (await fleet()).find((each) => each.member === member);
      expect(report?.unableSince).not.toBeNull();
      expect(report?.withheld).toEqual(["observer", "node-writer", "pod-writer", "ledger", "policy"]);
      // The silence may count again from when the observer's successor synced.
      await world.untilUnknown(fallen, GRACE_MS + SLACK_MS);
      expect(Math.min(...world.record.latenessMs(fallen, GRACE_MS))).toBeGreaterThanOrEqual(0);
      end(way);
      await until("it offers again", () => said(member, OFFERS) > 0, { withinMs: 60_000 });
      await until("it is ready", async () => (await ready(member)).includes("readyz check passed"));
      expect((await fleet()).map(({ unableSince, withheld }) => [unableSince, withheld])).toEqual(
        MEMBERS.map(() => [null, []]),
      );
      expect(world.wronglyJudged()).toEqual([]);
    },
  );
}
