/** The fleet over a real nats-server: shared shards, a cut of all members, one lost member, and recovery. */
import { test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { BusFleet } from "../../services/platform/fleet/fleet.ts";
import { atEnd, clock, link, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { until } from "../support/until.ts";

const MEMBER_PULSE_MS = 100;
/** Short enough to wait for. */
const SOON_MS = 400;
/** Long enough to distinguish a takeover at once from one after a silence, however busy the machine is. */
const LATE_MS = 5000;

/** Joins the fleet; `count` is the number of shards of the node service that the member owns. */
async function join(url: string, member: string, memberTimeoutMs: number) {
  const { transport, log, metrics } = await link(url);
  const profile = { ...STANDARD_PROFILE, memberPulseMs: MEMBER_PULSE_MS, memberTimeoutMs };
  const identity = { cluster: "c", service: "fleet", member };
  const bus = typedBus({ transport, clock, ...identity, log, metrics, mailboxMessagesMax: 1000 });
  const fleet = new BusFleet({ bus, clock, member, services: ["node"], profile, log, metrics });
  atEnd(() => fleet.goodbye());
  const owned = () => Array.from({ length: SHARD_COUNT }, (_, shard) => fleet.owns("node", shard));
  return { fleet, transport, owned, count: () => owned().filter(Boolean).length };
}

type Member = Awaited<ReturnType<typeof join>>;

/** Whether each shard has exactly one owner and each member has a shard. */
function shared(members: readonly Member[]): boolean {
  const owners = members.map(({ owned }) => owned());
  const perShard = Array.from({ length: SHARD_COUNT }, (_, shard) => owners.filter((own) => own[shard]).length);
  return perShard.every((count) => count === 1) && members.every(({ count }) => count() > 0);
}

describeWithEachNats("a fleet", () => {
  test("shares the shards, owns none without the server, and shares them again after", async () => {
    const server = await serve();
    const members = await Promise.all(["a", "b", "c"].map((member) => join(server.url, member, SOON_MS)));
    await until("three share the shards", () => shared(members));
    await server.kill();
    await until("no member owns a shard", () => members.every(({ count }) => count() === 0));
    await server.start();
    await until("three share the shards again", () => shared(members));
  });

  test("takes over from a member that disconnects, at once from one that leaves", async () => {
    const server = await serve();
    const [first, second, third] = [
      await join(server.url, "a", LATE_MS),
      await join(server.url, "b", LATE_MS),
      await join(server.url, "c", LATE_MS),
    ];
    await until("three share the shards", () => shared([first, second, third]));
    await first.transport.close();
    await until("two share the shards", () => shared([second, third]) && first.count() === 0);
    second.fleet.goodbye();
    const isAlone = () => third.count() === SHARD_COUNT && second.count() === 0;
    await until("one owns everything", isAlone, { withinMs: LATE_MS - 1000 });
  });
});
