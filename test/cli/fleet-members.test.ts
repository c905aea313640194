/** The members of a fleet by their pulses on a memory bus, on virtual time. */
import { expect, test } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { fleetOf, fleetOn, LISTEN_MS, remarkOn } from "../../services/cli/fleet-members.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { fakeHost } from "./fake-host.ts";

test("of endless invented members a limited number is shown, with a remark", async () => {
  const clock = new VirtualClock();
  const transport = memoryTransport(clock);
  const io = { clock, log: silentLog, metrics: createMetrics(), cluster: "c" };
  const members = fleetOn(transport, { ...io, host: fakeHost(), where: "NATS" });
  clock.advance(LISTEN_MS);
  for (let index = 0; index < 1000; index++) {
    const member = `invented-${index}`;
    const bus = typedBus({ ...io, transport, service: "fleet", member, mailboxMessagesMax: 10 });
    const pulse = { member, services: ["node"], since: 0, leaving: false };
    bus.publish("pulse.member", { ...pulse, clusterUid: `uid-${index % 9}` }, null);
  }
  clock.advance(0);
  const shown = await members();
  expect(shown).toHaveLength(256);
  expect(remarkOn(shown)).toContain("publishes under invented names");
  expect(remarkOn(shown.slice(0, 1))).toBeNull();
});

test("a process that shares its bus with no other is its own fleet", async () => {
  const clock = new VirtualClock();
  const io = { clock, log: silentLog, metrics: createMetrics(), cluster: "c", transport: memoryTransport(clock) };
  const fleet = fleetOf({ ...io, isShared: false, member: "m-0", services: SERVICE_NAMES }, fakeHost());
  const shards = SHARD_COUNT * SERVICE_NAMES.length;
  expect(await fleet()).toMatchObject([{ member: "m-0", since: clock.wallMs(), shards, unableSince: null }]);
});
