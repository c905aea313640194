/** The assignment of shards: a pure function of the members, with bounded load and few moves. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ServiceName } from "../../../protocols/ports.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { LOAD_BOUND, ownersOf, roomFor } from "../../../services/platform/fleet/ownership.policy.ts";

const members = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 20 });
const service = fc.constantFrom<ServiceName>("node", "zone", "pod-writer");

/** How many shards change owners when a member joins: to the joiner, and between the others. */
function movesOnJoin(present: readonly string[], joiner: string) {
  const before = ownersOf("node", new Set(present));
  const after = ownersOf("node", new Set([...present, joiner]));
  const moved = [...after.keys()].filter((shard) => before[shard] !== after[shard]);
  const toJoiner = moved.filter((shard) => after[shard] === joiner).length;
  return { toJoiner, between: moved.length - toJoiner };
}

test("every shard has an owner among the members, in whatever order they come", () => {
  fc.assert(
    fc.property(service, members, (name, present) => {
      const owners = ownersOf(name, new Set(present));
      expect(owners.length).toBe(SHARD_COUNT);
      expect(owners.every((owner) => present.includes(owner))).toBe(true);
      expect(ownersOf(name, new Set(present.toReversed()))).toEqual(owners);
    }),
  );
});

test("no member owns more than 1.25 times the mean, rounded up", () => {
  fc.assert(
    fc.property(service, members, (name, present) => {
      const owners = ownersOf(name, new Set(present));
      const loads = present.map((member) => owners.filter((owner) => owner === member).length);
      expect(Math.max(...loads)).toBeLessThanOrEqual(Math.ceil((LOAD_BOUND * SHARD_COUNT) / present.length));
    }),
  );
});

test("the room of all members together holds every shard", () => {
  for (let count = 1; count <= 200; count++) expect(roomFor(count) * count).toBeGreaterThanOrEqual(SHARD_COUNT);
});

test("a joiner gets its share, and few shards move between the others", () => {
  for (const present of [1, 2, 3, 4, 6]) {
    const names = Array.from({ length: 200 }, (_, round) =>
      Array.from({ length: present }, (_unused, index) => `vigil-${round}-${index}`),
    );
    const moves = names.map((there, round) => movesOnJoin(there, `vigil-${round}-new`));
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(mean(moves.map(({ toJoiner }) => toJoiner))).toBeCloseTo(SHARD_COUNT / (present + 1), -1);
    expect(mean(moves.map(({ between }) => between))).toBeLessThan(1);
  }
});

test("a second member takes shards from the first only", () => {
  expect(movesOnJoin(["a"], "b").between).toBe(0);
});

test("the services of the same members are spread differently", () => {
  const both = new Set(["a", "b"]);
  expect(ownersOf("node", both)).not.toEqual(ownersOf("taint-manager", both));
});

test("earlier versions compute the same owners, so a rolling upgrade is safe", () => {
  const three = "ccbaccccbcacccbaabacaacabcbccbcbacbbaabbbcabcacccacaaaaacccaacaa";
  expect(ownersOf("node", new Set(["a", "b", "c"])).join("")).toBe(three);
  const two = "0101100010110110101110111001111010011101011111010110000111111000";
  const owners = ownersOf("zone", new Set(["vigil-0", "vigil-1"]));
  expect(owners.map((owner) => owner.replace("vigil-", "")).join("")).toBe(two);
});

test.each([1, 3, 64, 3000])("each of %d members is weighed at most once per shard", (count) => {
  const names = new Set(Array.from({ length: count }, (_, index) => `vigil-${index}`));
  let weighings = 0;
  ownersOf("node", names, (_service, shard, member) => {
    weighings += 1;
    return (shard * 31 + member.length) % 7;
  });
  expect(weighings).toBeLessThanOrEqual(count * SHARD_COUNT);
});

test("without members no shard has an owner", () => {
  expect(ownersOf("node", new Set())).toEqual([]);
});
