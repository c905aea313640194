/** What a fleet member owns when it resumes after a standstill, on a memory bus and virtual time. */
import { expect, test } from "vitest";
import type { Clock, ServiceName } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { BusFleet } from "../../../services/platform/fleet/fleet.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { Standstill } from "../../support/standstill.ts";

const { memberPulseMs, watchBlindMs } = STANDARD_PROFILE;
const LISTENING_MS = memberPulseMs * 1.25;

/** Member `a`, which runs the node service and has just stood still, and member `b`, which runs `otherRuns`. */
function afterStandstill({ ms, otherRuns }: { readonly ms: number; readonly otherRuns: ServiceName }) {
  const world = new VirtualClock();
  const transport = memoryTransport(world);
  const join = (member: string, service: ServiceName, clock: Clock) => {
    const around = { clock, member, log: recordingLog(), metrics: createMetrics() };
    const bus = typedBus({ ...around, transport, cluster: "c", service: "fleet", mailboxMessagesMax: 1000 });
    const fleet = new BusFleet({ ...around, bus, services: [service], profile: STANDARD_PROFILE });
    const [shards, lost] = [new Set<number>(), new Set<number>()];
    fleet.follow(service, {
      gained: (shard) => shards.add(shard),
      lost: (shard) => {
        shards.delete(shard);
        lost.add(shard);
      },
    });
    return { shards, lost };
  };
  const standstill = new Standstill(world);
  const [first, second] = [join("a", "node", standstill.clock), join("b", otherRuns, world)];
  world.advance(10_000);
  first.lost.clear();
  standstill.begin();
  world.advance(ms);
  standstill.end();
  return { world, first, second };
}

test("a member that stood still gives up its shards and listens before it claims", () => {
  const { world, first, second } = afterStandstill({ ms: watchBlindMs + memberPulseMs + 1, otherRuns: "node" });
  expect([first.shards.size, second.shards.size]).toEqual([0, SHARD_COUNT]);
  world.advance(LISTENING_MS - 1);
  expect([first.shards.size, second.shards.size]).toEqual([0, SHARD_COUNT]);
  world.advance(memberPulseMs);
  expect(first.shards.size).toBeGreaterThan(0);
  expect(first.shards.size + second.shards.size).toBe(SHARD_COUNT);
});

test("a member that stood still keeps what no other member can have taken over", () => {
  const { first } = afterStandstill({ ms: watchBlindMs + memberPulseMs + 1, otherRuns: "zone" });
  expect([first.shards.size, first.lost.size]).toEqual([SHARD_COUNT, 0]);
});

test("a member that stood still for a moment keeps its shards", () => {
  const { first } = afterStandstill({ ms: memberPulseMs, otherRuns: "node" });
  expect(first.lost.size).toBe(0);
  expect(first.shards.size).toBeGreaterThan(0);
});
