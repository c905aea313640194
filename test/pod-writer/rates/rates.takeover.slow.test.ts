/** The rates of evictions over processes: takeovers, cuts and two owners at once. */
import { expect, test } from "vitest";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { podWriterService } from "../../../services/pod-writer/pod-writer.service.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandFleet } from "../../support/hand-fleet.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { Standstill } from "../../support/standstill.ts";
import { mostInAMinute } from "./evictions-per-minute.ts";

const S = 1000;
const MINUTE = 60 * S;
const { "pod-writer": _writer, ...OTHERS } = EVICTING;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const NODES = ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2"];

/** Zones a and b under a policy of three evictions a minute, four pods on each node, and a pod-writer for each part. */
function worldOfWriters() {
  const world = new EvictionWorld();
  const policies = new HandPolicies({ evictions: { maxPerMinute: 3 } });
  world.addZone("a", 3);
  world.addZone("b", 3);
  for (const node of NODES) for (let index = 0; index < 4; index++) world.addTolerantPod(node, `${node}-${index}`);
  world.start(OTHERS, { member: "rest", policies });
  const writer = (member: string, owns: (shard: number) => boolean) => {
    const fleet = new HandFleet(member);
    const own = (isOwned: boolean) => {
      for (let shard = 0; shard < SHARD_COUNT; shard++) if (owns(shard)) fleet.set("pod-writer", shard, isOwned);
    };
    own(true);
    const standstill = new Standstill(world.clock);
    const process = world.start({ "pod-writer": podWriterService }, { member, fleet, policies, standstill });
    return { own, standstill, process };
  };
  const owner = writer("owner", (shard) => shard === 0);
  writer("odd", (shard) => shard % 2 === 1);
  writer("even", (shard) => shard % 2 === 0 && shard > 0);
  world.advance(100 * S);
  for (const node of NODES) world.taint(node, [MAINTENANCE]);
  return { world, owner, policies, nextOwner: (member: string) => writer(member, (shard) => shard === 0) };
}

test("a rate holds over all processes until everybody has gone", () => {
  const { world } = worldOfWriters();
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(24);
  expect(mostInAMinute(world.deleted)).toBe(3);
});

test("a rate holds while another owner takes over, which waits first", () => {
  for (const deadMs of [0, 2 * S, 70 * S]) {
    const { world, owner, nextOwner } = worldOfWriters();
    world.advance(1 * S);
    expect(world.deleted).toHaveLength(3);
    owner.process.kill();
    world.advance(deadMs);
    nextOwner("owner-2");
    world.advance(89 * S);
    expect(world.deleted).toHaveLength(3);
    world.advance(10 * MINUTE);
    expect(world.deleted).toHaveLength(24);
    expect(mostInAMinute(world.deleted)).toBe(3);
  }
});

test("an owner that leaves hands its count over, and the next goes on at once", () => {
  const { world, owner, nextOwner } = worldOfWriters();
  world.advance(30 * S);
  expect(world.deleted).toHaveLength(3);
  nextOwner("owner-2");
  world.advance(1 * S);
  owner.own(false);
  // Those that went at the beginning count for a minute more: none has an outcome that the next owner heard.
  world.advance(32 * S);
  expect(world.deleted).toHaveLength(6);
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(24);
  expect(mostInAMinute(world.deleted)).toBe(3);
});

test("an owner that leaves while it waits hands the rest of its wait over", () => {
  const { world, owner, nextOwner } = worldOfWriters();
  world.advance(1 * S);
  owner.process.kill();
  const second = nextOwner("owner-2");
  world.advance(15 * S + 60 * S);
  nextOwner("owner-3");
  second.own(false);
  world.advance(20 * S);
  expect(world.deleted).toHaveLength(3);
  world.advance(15 * S);
  expect(world.deleted).toHaveLength(6);
});

test("a rate holds with two owners at once", () => {
  const { world, owner, nextOwner } = worldOfWriters();
  world.advance(1 * S);
  nextOwner("owner-2");
  world.advance(5 * MINUTE);
  owner.own(false);
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(24);
  expect(mostInAMinute(world.deleted)).toBeLessThanOrEqual(3);
});

test("an owner that was stopped permits nobody when it continues", () => {
  const { world, owner, nextOwner } = worldOfWriters();
  world.advance(1 * S);
  owner.standstill.begin();
  nextOwner("owner-2");
  world.advance(170 * S);
  expect(world.deleted).toHaveLength(9);
  owner.standstill.end();
  world.advance(2 * S);
  owner.own(false);
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(24);
  expect(mostInAMinute(world.deleted)).toBe(3);
});

test("nobody is evicted while the owner is cut off", () => {
  const { world, owner } = worldOfWriters();
  world.advance(1 * S);
  const mend = owner.process.cutBus();
  world.advance(3 * MINUTE);
  expect(world.deleted).toHaveLength(3);
  mend();
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(24);
  expect(mostInAMinute(world.deleted)).toBeLessThanOrEqual(3);
});

test("a policy that gets its first rate is counted from then on", () => {
  const { world, policies } = worldOfWriters();
  world.advance(1 * S);
  policies.put({ evictions: { maxPerMinute: 5 } });
  world.advance(1 * S);
  expect(world.deleted).toHaveLength(5);
  policies.put(null);
  world.advance(1 * S);
  expect(world.deleted).toHaveLength(24);
});

/** Loses a part of all messages but those of observers, and repeats another part, as the seed decides. */
function spoilBus({ transport }: EvictionWorld, seed: number): void {
  const random = seededRandom(seed);
  const publish = transport.publish.bind(transport);
  transport.publish = (subject, payload) => {
    const isObserved = subject.split(".")[3] === "observed";
    const chance = isObserved ? 1 : random();
    if (chance < 0.3) return;
    publish(subject, payload);
    if (chance < 0.4) publish(subject, payload);
  };
}

test.each([1, 2, 3, 4])("a rate holds on a bus that loses and repeats messages, seed %d", (seed) => {
  const { world, owner, nextOwner } = worldOfWriters();
  spoilBus(world, seed);
  world.advance(5 * MINUTE);
  owner.process.kill();
  nextOwner("owner-2");
  world.advance(60 * MINUTE);
  expect(world.deleted).toHaveLength(24);
  expect(mostInAMinute(world.deleted)).toBeLessThanOrEqual(3);
});
