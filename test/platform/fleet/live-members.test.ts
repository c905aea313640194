/** The members that pulse; a late event loop must not count as the silence of others. */
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../protocols/ports.ts";
import { LiveMembers } from "../../../services/platform/fleet/live-members.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

const PROFILE = { memberPulseMs: 1000, memberTimeoutMs: 3000, fleetMembersMax: 4 };

/** Members on a clock whose timers fire `lateMs` late. */
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
/** The next pulse of a process that started at `since`. */
const pulse = (member: string, since: number, ...services: string[]) => {
  sequence += 1;
  return { member, since, services, leaving: false, sequence };
};
const goodbye = (member: string, since: number) => ({ ...pulse(member, since), leaving: true });

test("a pulse is new, changed or the same", () => {
  const { members } = membersOnClock(() => 0);
  expect(members.onPulse(pulse("a", 1))).toBe("new");
  expect(members.onPulse(pulse("a", 1))).toBe("same");
  expect(members.onPulse(pulse("a", 1, "node"))).toBe("changed");
  expect(members.running("node")).toEqual(["a"]);
  expect(members.running("zone")).toEqual([]);
});

test("a member times out after its last pulse", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.onPulse(pulse("a", 1));
  clock.advance(2500);
  members.onPulse(pulse("a", 1));
  clock.advance(10_000);
  expect(silent).toEqual(["a at 5500"]);
  expect(members.size).toBe(0);
});

test("a late event loop gives each member one more period", () => {
  let lateMs = 0;
  const { clock, members, silent } = membersOnClock(() => lateMs);
  lateMs = 4000;
  members.onPulse(pulse("a", 1));
  members.onPulse(pulse("b", 1));
  lateMs = 0;
  clock.advance(7000);
  expect(silent).toEqual([]);
  members.onPulse(pulse("a", 1));
  clock.advance(2000);
  expect(silent).toEqual([expect.stringMatching(/^b at /)]);
});

test("a forgotten member does not time out", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.onPulse(pulse("a", 1));
  expect([members.forget("a"), members.forget("a")]).toEqual([true, false]);
  clock.advance(10_000);
  expect(silent).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

describe("a name", () => {
  test("belongs to the first process under it until that one times out", () => {
    const { clock, members, silent } = membersOnClock(() => 0);
    members.onPulse(pulse("a", 1, "node"));
    clock.advance(1000);
    expect(members.onPulse(pulse("a", 2, "zone"))).toBe("same");
    expect(members.running("node")).toEqual(["a"]);
    clock.advance(1500);
    members.onPulse(pulse("a", 2, "zone"));
    clock.advance(500);
    expect([members.running("node"), members.running("zone")]).toEqual([[], ["a"]]);
    expect(silent).toEqual([]);
  });

  test("passes at once to another process when the first leaves", () => {
    const { members } = membersOnClock(() => 0);
    members.onPulse(pulse("a", 1, "node"));
    members.onPulse(pulse("a", 2, "zone"));
    expect(members.onPulse(goodbye("a", 1))).toBe("changed");
    expect(members.running("zone")).toEqual(["a"]);
  });

  test("stays with the first when both processes pulse", () => {
    const { members } = membersOnClock(() => 0);
    const results = Array.from({ length: 5 }, () => {
      members.onPulse(pulse("a", 1, "node"));
      return members.onPulse(pulse("a", 2));
    });
    expect(results).toEqual(["same", "same", "same", "duplicate-name", "duplicate-name"]);
    expect(members.onPulse(goodbye("a", 2))).toBe("duplicate-name");
    expect(members.running("node")).toEqual(["a"]);
  });
});

describe("a goodbye", () => {
  test("stands although a pulse that it overtook arrives, even twice", () => {
    const { members } = membersOnClock(() => 0);
    members.onPulse(pulse("a", 1, "node"));
    const late = pulse("a", 1, "node");
    expect(members.onPulse(goodbye("a", 1))).toBe("left");
    expect([members.onPulse(late), members.onPulse(late)]).toEqual(["same", "same"]);
    expect(members.has("a")).toBe(false);
  });

  test("of a process that pulses on was forged; further ones are ignored", () => {
    const { clock, members } = membersOnClock(() => 0);
    members.onPulse(pulse("a", 1, "node"));
    const forged = { ...goodbye("a", 1), sequence: Number.MAX_SAFE_INTEGER };
    members.onPulse(forged);
    expect(members.onPulse(pulse("a", 1, "node"))).toBe("same");
    clock.advance(1000);
    expect(members.onPulse(pulse("a", 1, "node"))).toBe("after-goodbye");
    expect(members.onPulse(forged)).toBe("same");
    expect(members.running("node")).toEqual(["a"]);
  });
});

test("an overtaken pulse counts as a heartbeat only, until the time-out", () => {
  const { clock, members, silent } = membersOnClock(() => 0);
  members.onPulse(pulse("a", 1, "node"));
  members.onPulse({ ...pulse("a", 1), sequence: Number.MAX_SAFE_INTEGER });
  for (let passedMs = 0; passedMs < 2000; passedMs += 1000) {
    clock.advance(1000);
    expect(members.onPulse(pulse("a", 1, "node"))).toBe("same");
  }
  clock.advance(1000);
  expect(members.onPulse(pulse("a", 1, "node"))).toBe("changed");
  expect(silent).toEqual([]);
});

test("no more than fleetMembersMax members count, and one that leaves makes room", () => {
  const { members } = membersOnClock(() => 0);
  expect(["a", "b", "c", "d", "e"].map((name) => members.onPulse(pulse(name, 1))).join()).toBe("new,new,new,new,full");
  members.onPulse(goodbye("a", 1));
  expect(members.onPulse(pulse("e", 1))).toBe("new");
});
