/** Who can be heard, and that a late event loop is not taken for the silence of others. */
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../protocols/ports.ts";
import { LiveMembers } from "../../../services/platform/fleet/live-members.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

const PROFILE = { memberPulseMs: 1000, memberTimeoutMs: 3000, fleetMembersMax: 4 };

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
  const members = new LiveMembers({
    clock: lateClock,
    profile: PROFILE,
    timedOut: (member) => silent.push(`${member} at ${clock.monotonicMs()}`),
  });
  return { clock, members, silent };
}

let sequence = 0;
/** The next pulse of a process that started at an instant. */
const pulse = (member: string, since: number, ...services: string[]) => {
  sequence += 1;
  return { member, since, services, leaving: false, sequence };
};
const goodbye = (member: string, since: number) => ({ ...pulse(member, since), leaving: true });

test("a pulse tells whether a member is new, has changed, or is as it was", () => {
  const { members } = membersOnClock(() => 0);
  expect(members.take(pulse("a", 1))).toBe("new");
  expect(members.take(pulse("a", 1))).toBe("same");
  expect(members.take(pulse("a", 1, "node"))).toBe("changed");
  expect(members.running("node")).toEqual(["a"]);
  expect(members.running("zone")).toEqual([]);
});

test("a member whose pulses stop is silent at the time-out after the last", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.take(pulse("a", 1));
  clock.advance(2500);
  members.take(pulse("a", 1));
  clock.advance(10_000);
  expect(silent).toEqual(["a at 5500"]);
  expect(members.size).toBe(0);
});

test("when our own event loop stood still a member gets one more period, and lives if it is heard in it", () => {
  let lateMs = 0;
  const { clock, members, silent } = membersOnClock(() => lateMs);
  lateMs = 4000;
  members.take(pulse("a", 1));
  members.take(pulse("b", 1));
  lateMs = 0;
  clock.advance(7000);
  expect(silent).toEqual([]);
  members.take(pulse("a", 1));
  clock.advance(2000);
  expect(silent).toEqual([expect.stringMatching(/^b at /)]);
});

test("a forgotten member is not missed", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.take(pulse("a", 1));
  expect([members.forget("a"), members.forget("a")]).toEqual([true, false]);
  clock.advance(10_000);
  expect(silent).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

describe("a name", () => {
  test("belongs to the process that was heard under it first, until that one is silent; then the other follows", () => {
    const { clock, members, silent } = membersOnClock(() => 0);
    members.take(pulse("a", 1, "node"));
    clock.advance(1000);
    expect(members.take(pulse("a", 2, "zone"))).toBe("same");
    expect(members.running("node")).toEqual(["a"]);
    clock.advance(1500);
    members.take(pulse("a", 2, "zone"));
    clock.advance(500);
    expect([members.running("node"), members.running("zone")]).toEqual([[], ["a"]]);
    expect(silent).toEqual([]);
  });

  test("passes at once to another process under it when the first says goodbye", () => {
    const { members } = membersOnClock(() => 0);
    members.take(pulse("a", 1, "node"));
    members.take(pulse("a", 2, "zone"));
    expect(members.take(goodbye("a", 1))).toBe("changed");
    expect(members.running("zone")).toEqual(["a"]);
  });

  test("is contested when both go on speaking: what the second says is refused as an impostor's", () => {
    const { members } = membersOnClock(() => 0);
    const hearings = Array.from({ length: 5 }, () => {
      members.take(pulse("a", 1, "node"));
      return members.take(pulse("a", 2));
    });
    expect(hearings).toEqual(["same", "same", "same", "duplicate-name", "duplicate-name"]);
    expect(members.take(goodbye("a", 2))).toBe("duplicate-name");
    expect(members.running("node")).toEqual(["a"]);
  });
});

describe("a goodbye", () => {
  test("is not undone by a pulse that it overtook, nor by its double", () => {
    const { members } = membersOnClock(() => 0);
    members.take(pulse("a", 1, "node"));
    const late = pulse("a", 1, "node");
    expect(members.take(goodbye("a", 1))).toBe("left");
    expect([members.take(late), members.take(late)]).toEqual(["same", "same"]);
    expect(members.has("a")).toBe(false);
  });

  test("that its process does not keep was not its own, and no further one is believed", () => {
    const { clock, members } = membersOnClock(() => 0);
    members.take(pulse("a", 1, "node"));
    const forged = { ...goodbye("a", 1), sequence: Number.MAX_SAFE_INTEGER };
    members.take(forged);
    expect(members.take(pulse("a", 1, "node"))).toBe("same");
    clock.advance(1000);
    expect(members.take(pulse("a", 1, "node"))).toBe("after-goodbye");
    expect(members.take(forged)).toBe("same");
    expect(members.running("node")).toEqual(["a"]);
  });
});

test("a pulse that a later one overtook is a sign of life only, but not for longer than the time-out", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.take(pulse("a", 1, "node"));
  members.take({ ...pulse("a", 1), sequence: Number.MAX_SAFE_INTEGER });
  for (let passedMs = 0; passedMs < 2000; passedMs += 1000) {
    clock.advance(1000);
    expect(members.take(pulse("a", 1, "node"))).toBe("same");
  }
  clock.advance(1000);
  expect(members.take(pulse("a", 1, "node"))).toBe("changed");
  expect(silent).toEqual([]);
});

test("no more members are heard than may be, and one that leaves makes room", () => {
  const { members } = membersOnClock(() => 0);
  expect(["a", "b", "c", "d", "e"].map((name) => members.take(pulse(name, 1))).join()).toBe("new,new,new,new,full");
  members.take(goodbye("a", 1));
  expect(members.take(pulse("e", 1))).toBe("new");
});
