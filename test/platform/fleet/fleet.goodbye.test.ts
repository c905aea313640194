/** A member that leaves while it still listens: it must claim nothing after its goodbye. */
import { expect, test } from "vitest";
import type { ServiceName } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { BusFleet } from "../../../services/platform/fleet/fleet.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { recordingLog } from "../../support/recording-log.ts";

const LISTENING_MS = STANDARD_PROFILE.memberPulseMs * 1.25;

function world() {
  const clock = new VirtualClock();
  const network = memoryTransport(clock);
  const join = (member: string, services: readonly ServiceName[] = ["node"]) => {
    const metrics = createMetrics();
    const log = recordingLog();
    const identity = { cluster: "c", service: "fleet", member };
    const bus = typedBus({ transport: network, clock, ...identity, log, metrics, mailboxMessagesMax: 1000 });
    const fleet = new BusFleet({ bus, clock, member, services, profile: STANDARD_PROFILE, log, metrics });
    const gained: number[] = [];
    const shards = new Set<number>();
    fleet.follow("node", {
      gained: (shard) => {
        gained.push(shard);
        shards.add(shard);
      },
      lost: (shard) => shards.delete(shard),
    });
    return { fleet, gained, shards, log };
  };
  return { clock, join };
}

test("a member that leaves just before it would claim takes no shard", () => {
  const { clock, join } = world();
  const other = join("a");
  clock.advance(10_000);
  const brief = join("b");
  clock.advance(LISTENING_MS - 100);
  brief.fleet.goodbye();
  clock.advance(1_000);
  expect(brief.gained).toEqual([]);
  expect(other.shards.size).toBe(64);
  expect(other.log.lines.filter(({ level }) => level === "error")).toEqual([]);
});
