/**
 * Since when a reader can count on what it does not hear: pulses, watches, jitter, blindness and a change of observers.
 */
import { describe, expect, test } from "vitest";
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { WatchState } from "../../../protocols/objects.ts";
import { publisherOf, translated, WatchHealth } from "../../../services/platform/shard-view/watch-health.ts";

const PROFILE = { pulsePeriodMs: 1_000, pulseTimeoutMs: 4_000, watchBlindMs: 10_000 };
/** The observer's wall clock is far from the reader's monotonic one. */
const WALL = 1_000_000_000;

interface Pulse {
  readonly since?: number;
  /** Where the leases have not been seen for as long as the rest. */
  readonly leasesSince?: number;
  readonly publisher?: string;
  readonly lateMs?: number;
  readonly unsynced?: WatchName;
  /** A watch lost for a moment, which keeps the start of its sight. */
  readonly lost?: WatchName;
  /** How far the observer's clocks are behind, because they stood still. */
  readonly lostMs?: number;
}

/** Lets a reader hear a pulse at an instant of its own clock; `since` is on that clock too. */
function hear(
  sight: WatchHealth,
  nowMs: number,
  { since = 0, leasesSince = since, publisher = "observer@a", lateMs = 0, unsynced, lost, lostMs = 0 }: Pulse = {},
): void {
  const state = (name: WatchName): WatchState => {
    const sightSince = WALL + (name === "leases" ? leasesSince : since);
    return name === unsynced ? { synced: false, since: null } : { synced: name !== lost, since: sightSince };
  };
  const watches = { nodes: state("nodes"), leases: state("leases"), pods: state("pods") };
  const digest = { count: 0, sum: 0 };
  const body = { shard: 0, watches, nodes: digest, pods: digest, resyncs: 1 };
  sight.take(
    {
      id: `${publisher}:1:observed.pulse.0:1`,
      source: publisher,
      at: WALL + nowMs - lateMs - lostMs,
      cause: null,
      body,
    },
    nowMs,
  );
}

/** A reader that began at an instant; one without any hears its first pulse at once. */
function sight(beganMs = Number.POSITIVE_INFINITY): WatchHealth {
  return new WatchHealth(["nodes", "leases"], PROFILE, beganMs);
}

describe("eyes", () => {
  test("are closed before the first pulse and when the last is pulseTimeoutMs old", () => {
    const seen = sight();
    expect(seen.blindness(0)).toBe("no pulse from the observer");
    hear(seen, 1_000);
    expect(seen.blindness(4_999)).toBeNull();
    expect(seen.blindness(5_000)).toBe("no pulse from the observer");
  });

  test("are closed when a pulse is overdue by watchBlindMs, however long pulseTimeoutMs is", () => {
    const seen = new WatchHealth(["nodes", "leases"], { ...PROFILE, pulsePeriodMs: 8_000, pulseTimeoutMs: 26_000 }, 0);
    hear(seen, 1_000);
    expect(seen.blindness(18_999)).toBeNull();
    expect(seen.blindness(19_000)).toBe("no pulse from the observer");
  });

  test("are closed while a needed watch is not synced, whatever the others are", () => {
    const seen = sight();
    hear(seen, 0, { unsynced: "leases" });
    expect(seen.blindness(0)).toBe("the watch of leases is not synced");
    hear(seen, 0, { unsynced: "pods" });
    expect(seen.blindness(0)).toBeNull();
  });

  test("are closed while a needed watch is lost, though it may go on where it was", () => {
    const seen = sight();
    hear(seen, 0, { lost: "nodes" });
    expect(seen.blindness(0)).toBe("the watch of nodes is not synced");
    expect(seen.since).toBeNull();
  });
});

describe("sight began", () => {
  test("when the observer says so, on the reader's own clock", () => {
    const seen = sight();
    expect(seen.since).toBeNull();
    hear(seen, 5_000, { since: 2_000 });
    expect(seen.since).toBe(2_000);
  });

  test("when the last of the needed watches did", () => {
    const seen = sight();
    hear(seen, 5_000, { since: 1_000, leasesSince: 3_000 });
    expect(seen.since).toBe(3_000);
  });

  test("at the same instant still when pulses are late, or were missed for a while", () => {
    const seen = sight();
    hear(seen, 5_000, { since: 2_000 });
    hear(seen, 6_000, { since: 2_000, lateMs: 300 });
    hear(seen, 90_000, { since: 2_000 });
    expect(seen.since).toBe(2_000);
  });

  test("anew when the observer was blind for longer than watchBlindMs", () => {
    const seen = sight();
    hear(seen, 60_000, { since: 2_000 });
    hear(seen, 61_000, { unsynced: "leases" });
    hear(seen, 75_000, { since: 74_000 });
    hear(seen, 90_000, { since: 74_000, lateMs: 300 });
    expect(seen.since).toBe(74_000);
  });

  test("anew when the observer finds out only afterwards that it had been blind for so long", () => {
    const seen = sight();
    hear(seen, 60_000, { since: 2_000 });
    hear(seen, 72_000, { since: 2_000 });
    hear(seen, 75_000, { since: 74_000 });
    expect(seen.since).toBe(74_000);
  });

  test.each([
    ["within watchBlindMs continues the old sight", 70_000, 2_000],
    ["a moment too late begins a new one", 70_001, 70_001],
  ])("another observer that takes over %s", (_what, since, expected) => {
    const seen = sight();
    hear(seen, 60_000, { since: 2_000 });
    hear(seen, 71_000, { since, publisher: "observer@b" });
    expect(seen.since).toBe(expected);
    hear(seen, 120_000, { since, publisher: "observer@b" });
    expect(seen.since).toBe(expected);
  });

  test("anew when the observer that took over is blind later on", () => {
    const seen = sight();
    hear(seen, 60_000, { since: 2_000 });
    hear(seen, 65_000, { since: 65_000, publisher: "observer@b", unsynced: "nodes" });
    hear(seen, 66_000, { since: 66_000, publisher: "observer@b" });
    expect(seen.since).toBe(2_000);
    hear(seen, 99_000, { since: 90_000, publisher: "observer@b" });
    expect(seen.since).toBe(90_000);
  });
});

describe("pulses that are late", () => {
  /** A reader that stood still from 60 s to 125 s, and reads what came meanwhile; returns when it can see again. */
  function afterStandstill(seen: WatchHealth, readAt = 125_000): number[] {
    const seeing: number[] = [];
    for (let sentAt = 61_000; sentAt <= readAt; sentAt += 1_000) {
      hear(seen, readAt + sentAt / 1e6, { lateMs: readAt + sentAt / 1e6 - sentAt });
      if (seen.blindness(readAt + sentAt / 1e6) === null) seeing.push(sentAt);
    }
    return seeing;
  }

  test("show nothing until they have caught up, and sight begins only then", () => {
    const seen = sight();
    hear(seen, 60_000);
    expect(afterStandstill(seen)).toEqual([125_000]);
    expect(seen.since).toBeGreaterThanOrEqual(125_000);
    expect(seen.since).toBeLessThan(125_001);
  });

  test("are only those that waited for longer than watchBlindMs", () => {
    const seen = sight();
    hear(seen, 60_000);
    hear(seen, 71_000, { lateMs: 10_000 });
    expect(seen.blindness(71_000)).toBeNull();
    expect(seen.since).toBe(0);
    const other = sight();
    hear(other, 60_000);
    hear(other, 71_001, { lateMs: 10_001 });
    expect(other.blindness(71_001)).toBe("the observer's pulses come late");
  });

  test("may be the first ones that a reader hears, as long as it has listened", () => {
    const seen = sight(60_000);
    expect(afterStandstill(seen)).toEqual([]);
    hear(seen, 126_000);
    expect(seen.blindness(126_000)).toBeNull();
    expect(seen.since).toBeGreaterThanOrEqual(125_000);
    const prompt = sight(60_000);
    hear(prompt, 70_000);
    expect(prompt.blindness(70_000)).toBeNull();
    expect(prompt.since).toBe(0);
  });

  test("stay late when the reader stands still once more among them", () => {
    const seen = sight();
    hear(seen, 60_000);
    hear(seen, 125_000, { lateMs: 64_000 });
    hear(seen, 190_000, { lateMs: 128_000 });
    expect(seen.blindness(190_000)).not.toBeNull();
    hear(seen, 190_000, { lateMs: 500 });
    expect(seen.blindness(190_000)).toBeNull();
    expect(seen.since).toBe(190_000);
  });

  test("stay late when another observer begins among them", () => {
    const seen = sight();
    hear(seen, 60_000);
    hear(seen, 125_000, { lateMs: 64_000 });
    hear(seen, 125_000, { lateMs: 59_000, publisher: "observer@b", since: 66_000 });
    expect(seen.blindness(125_000)).not.toBeNull();
  });

  test("of an observer that began meanwhile are not believed either", () => {
    const seen = sight();
    hear(seen, 60_000);
    hear(seen, 125_000, { lateMs: 61_000, publisher: "observer@b" });
    expect(seen.blindness(125_000)).not.toBeNull();
    hear(seen, 126_000, { lateMs: 0, publisher: "observer@b" });
    expect(seen.blindness(126_000)).toBeNull();
    expect(seen.since).toBe(125_000);
  });

  test("are not those of an observer whose wall clock is set back", () => {
    const seen = sight();
    hear(seen, 60_000);
    hear(seen, 61_000, { lateMs: 600_000, since: -600_000 });
    expect(seen.blindness(61_000)).toBeNull();
    expect(seen.since).toBe(0);
  });

  test("come at their observer's pace when it was its clocks that stood still: the second is believed", () => {
    const seen = sight();
    hear(seen, 60_000);
    hear(seen, 125_000, { lostMs: 64_000 });
    expect(seen.blindness(125_000)).not.toBeNull();
    hear(seen, 126_000, { lostMs: 64_000 });
    expect(seen.blindness(126_000)).toBeNull();
    expect(seen.since).toBe(125_000);
  });
});

test("an observer whose clock stood still, though its wall clock was set since, has seen nothing meanwhile", () => {
  const seen = sight();
  hear(seen, 60_000);
  hear(seen, 125_000, { since: 64_000 - 10_000 });
  expect(seen.since).toBe(125_000);
});

test("an instant of another process counts by its distance from the sending, and never lies ahead", () => {
  expect(translated(900, 1_000, 50)).toBe(-50);
  expect(translated(1_100, 1_000, 50)).toBe(50);
});

test("a restarted publisher is another one", () => {
  const pulse = (epoch: number) => ({ source: "observer@a", id: `observer@a:${epoch}:observed.pulse.0:7` });
  expect(publisherOf(pulse(1))).not.toBe(publisherOf(pulse(2)));
  expect(publisherOf(pulse(1))).toBe(publisherOf(pulse(1)));
});
