/** Which stamps of a taint an owner may accept. */
import { expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { BelievedStamps } from "./believed-stamps.ts";

const NODE = "a";
const TAINT = "maintenance:NoExecute";
const LAG_MS = 5_000;

/** A node whose taint is stamped again every minute, and an owner that begins. */
function stage() {
  const clock = new VirtualClock();
  const stamps = new BelievedStamps(clock, LAG_MS);
  const stamp = (timeAdded: string): void => {
    const taints = [{ key: "maintenance", effect: "NoExecute", timeAdded }];
    stamps.note(NODE, { metadata: { name: NODE, uid: "uid" }, spec: { taints } });
  };
  return { clock, stamps, stamp, begin: () => stamps.gained(shardOf(NODE)) };
}

const [FIRST, SECOND] = ["2026-01-01T00:00:00Z", "2025-12-31T23:00:00Z"] as const;

test("an owner that begins accepts the stamp that it finds", () => {
  const { clock, stamps, stamp, begin } = stage();
  stamp(FIRST);
  clock.advance(60_000);
  begin();
  expect(stamps.earliestAt(NODE, TAINT)).toBe(Date.parse(FIRST));
});

test("an owner that observed a taint before a new stamp accepts no other stamp", () => {
  const { clock, stamps, stamp, begin } = stage();
  stamp(FIRST);
  begin();
  clock.advance(LAG_MS + 1);
  stamp(SECOND);
  expect(stamps.earliestAt(NODE, TAINT)).toBe(Date.parse(FIRST));
});

test("an owner that begins within the lag of its view may find either stamp", () => {
  const { clock, stamps, stamp, begin } = stage();
  stamp(FIRST);
  begin();
  clock.advance(LAG_MS);
  stamp(SECOND);
  expect(stamps.earliestAt(NODE, TAINT)).toBe(Date.parse(SECOND));
});

test("a taint that went and came back has no stamps from before", () => {
  const { clock, stamps, stamp, begin } = stage();
  stamp(SECOND);
  begin();
  clock.advance(60_000);
  stamps.note(NODE, { metadata: { name: NODE, uid: "uid" } });
  stamp(FIRST);
  expect(stamps.earliestAt(NODE, TAINT)).toBe(Number.POSITIVE_INFINITY);
});

test("an owner that begins counts from a later stamp that it finds", () => {
  const { clock, stamps, stamp, begin } = stage();
  stamp(SECOND);
  clock.advance(60_000);
  stamp(FIRST);
  begin();
  expect(stamps.latestAt(NODE, TAINT)).toBe(Date.parse(FIRST));
});

test("a stamp of the future counts from when the last owner has received its nodes", () => {
  const { clock, stamps, stamp, begin } = stage();
  stamp(FIRST);
  clock.advance(60_000);
  stamp("2030-01-01T00:00:00Z");
  begin();
  const wholeAt = clock.wallMs() + 30_000;
  stamps.calm(wholeAt);
  expect(stamps.latestAt(NODE, TAINT)).toBe(wholeAt);
});

test("a stamp that changes within a gap of the view may count", () => {
  const { clock, stamps, stamp } = stage();
  stamp(SECOND);
  const gap = { fromAt: clock.wallMs() + 50_000, untilAt: Number.POSITIVE_INFINITY };
  stamps.interrupted(shardOf(NODE), gap);
  clock.advance(60_000);
  stamp(FIRST);
  clock.advance(10_000);
  gap.untilAt = clock.wallMs();
  expect(stamps.latestAt(NODE, TAINT)).toBe(Date.parse(FIRST));
  expect(stamps.earliestAt(NODE, TAINT)).toBe(Number.POSITIVE_INFINITY);
});

test("a stamp that changes after a gap of the view does not count", () => {
  const { clock, stamps, stamp } = stage();
  stamp(SECOND);
  stamps.interrupted(shardOf(NODE), { fromAt: clock.wallMs() + 10_000, untilAt: clock.wallMs() + 20_000 });
  clock.advance(20_000 + LAG_MS + 1);
  stamp(FIRST);
  expect(stamps.latestAt(NODE, TAINT)).toBe(Date.parse(SECOND));
});
