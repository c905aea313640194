/** Who can be heard, and that a late event loop is not taken for the silence of others. */
import { expect, test } from "vitest";
import type { Clock } from "../../protocols/ports.ts";
import { HeardMembers } from "../../services/runtime/fleet.members.ts";
import { VirtualClock } from "../support/clock.virtual.ts";

const PROFILE = { memberPulseMs: 1000, memberTimeoutMs: 3000 };

/** Members on a clock whose timers come `lateMs` after their time. */
function membersOnClock(lateMs: () => number) {
  const clock = new VirtualClock();
  const lateClock: Clock = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    soon: (run) => clock.soon(run),
    after: (delayMs, fire) => clock.after(delayMs + lateMs(), fire),
  };
  const silent: string[] = [];
  const members = new HeardMembers({
    clock: lateClock,
    profile: PROFILE,
    silent: (member) => silent.push(`${member} at ${clock.monotonicMs()}`),
  });
  return { clock, members, silent };
}

const life = (since: number, ...services: string[]) => ({ since, services });

test("a pulse tells whether a member is new, has changed, or is as it was", () => {
  const { members } = membersOnClock(() => 0);
  expect(members.hear("a", life(1))).toBe("new");
  expect(members.hear("a", life(1))).toBe("same");
  expect(members.hear("a", life(1, "node"))).toBe("changed");
  expect(members.hear("a", life(2, "node"))).toBe("new");
  expect(members.running("node")).toEqual(["a"]);
  expect(members.running("zone")).toEqual([]);
});

test("a member whose pulses stop is silent at the time-out after the last", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.hear("a", life(1));
  clock.advance(2500);
  members.hear("a", life(1));
  clock.advance(10_000);
  expect(silent).toEqual(["a at 5500"]);
  expect(members.size).toBe(0);
});

test("when our own event loop stood still a member gets one more period, and lives if it is heard in it", () => {
  let lateMs = 0;
  const { clock, members, silent } = membersOnClock(() => lateMs);
  lateMs = 4000;
  members.hear("a", life(1));
  members.hear("b", life(1));
  lateMs = 0;
  clock.advance(7000);
  expect(silent).toEqual([]);
  members.hear("a", life(1));
  clock.advance(2000);
  expect(silent).toEqual([expect.stringMatching(/^b at /)]);
});

test("a forgotten member is not missed", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.hear("a", life(1));
  expect([members.forget("a"), members.forget("a")]).toEqual([true, false]);
  clock.advance(10_000);
  expect(silent).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});
