/** The members of a fleet by their pulses on a memory bus, on virtual time. */
import { expect, test } from "vitest";
import { SERVICE_NAMES } from "../../../protocols/ports.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { fleetOf, fleetOn, LISTEN_MS, MEMBERS, remarkOn } from "../../../services/cli/get/fleet-members.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { fakeHost } from "../fake-host.ts";

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

test.each([
  [{ leads: true, holder: "m-0_1a" }, SERVICE_NAMES.length, "all (leads)"],
  [{ leads: false, holder: "m-1_2b" }, 1, "all (standby; m-1 leads)"],
  [{ leads: false, holder: null }, 1, "all (standby; no process leads)"],
])("a process in an election says who leads: %j", async (election, services, text) => {
  const clock = new VirtualClock();
  const io = { clock, log: silentLog, metrics: createMetrics(), cluster: "c", transport: memoryTransport(clock) };
  const process = { ...io, isShared: false, member: "m-0", services: SERVICE_NAMES };
  const members = await fleetOf({ ...process, election: { report: () => election } }, fakeHost())();
  expect(members.map(({ shards }) => shards)).toEqual([services * SHARD_COUNT]);
  expect(members.map((member) => MEMBERS.cells(member, 0).at(-1))).toEqual([text]);
});
