/** The fleet over a real nats-server: shared, cut off together, one member lost, and whole again. */
import { test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { busFleet } from "../../services/platform/fleet/fleet.ts";
import { atEnd, clock, link, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { until } from "../support/until.ts";

const MEMBER_PULSE_MS = 100;
/** Soon enough to wait for. */
const SOON_MS = 400;
/** So long that taking over at once can be told from noticing a silence, however busy the machine is. */
const LATE_MS = 5000;

/** Joins the fleet; tells how many shards of the node service are minded. */
async function join(url: string, member: string, memberTimeoutMs: number) {
  const { transport, log, metrics } = await link(url);
  const profile = { ...STANDARD_PROFILE, memberPulseMs: MEMBER_PULSE_MS, memberTimeoutMs };
  const identity = { cluster: "c", service: "fleet", member };
  const bus = typedBus({ transport, clock, ...identity, log, metrics, mailboxMessagesMax: 1000 });
  const fleet = busFleet({ bus, clock, member, services: ["node"], profile, log, metrics });
  atEnd(() => fleet.goodbye());
  const owned = () => Array.from({ length: SHARD_COUNT }, (_, shard) => fleet.owns("node", shard));
  return { fleet, transport, owned, count: () => owned().filter(Boolean).length };
}

type Member = Awaited<ReturnType<typeof join>>;

/** Whether each shard has exactly one owner, and nobody is idle. */
function shared(members: readonly Member[]): boolean {
  const owners = members.map(({ owned }) => owned());
  const perShard = Array.from({ length: SHARD_COUNT }, (_, shard) => owners.filter((own) => own[shard]).length);
  return perShard.every((count) => count === 1) && members.every(({ count }) => count() > 0);
}

describeWithEachNats("a fleet", () => {
  test("shares the shards, minds nothing while the server is gone, and is whole again after it is back", async () => {
    const server = await serve();
    const members = await Promise.all(["a", "b", "c"].map((member) => join(server.url, member, SOON_MS)));
    await until("three share the shards", () => shared(members));
    await server.kill();
    await until("nobody minds anything", () => members.every(({ count }) => count() === 0));
    await server.start();
    await until("three share the shards again", () => shared(members));
  });

  test("takes over from a member whose connection ends, and at once from one that says goodbye", async () => {
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
    await until("one minds everything", isAlone, { withinMs: LATE_MS - 1000 });
  });
});
