/** Since when a reader may count silence: pulses, watches, jitter, blindness and a change of observers. */
import { describe, expect, test } from "vitest";
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { WatchState } from "../../../protocols/objects.ts";
import { publisherOf, translated, WatchHealth } from "../../../services/platform/shard-view/watch-health.ts";

const PROFILE = { pulsePeriodMs: 1_000, pulseTimeoutMs: 4_000, watchBlindMs: 10_000 };
/** The observer's wall clock is far from the reader's monotonic clock. */
const WALL = 1_000_000_000;

interface Pulse {
  readonly since?: number;
  /** When the watch of leases was synced later than the others. */
  readonly leasesSince?: number;
  readonly publisher?: string;
  readonly lateMs?: number;
  readonly unsynced?: WatchName;
  /** A watch lost for a moment, which keeps the start of its synced period. */
  readonly lost?: WatchName;
  /** How far the observer's clocks are behind, because they stood still; below 0 when the reader's did. */
  readonly lostMs?: number;
}

/** Delivers a pulse at an instant of the reader's clock; `since` is on that clock too. */
function deliver(
  health: WatchHealth,
  nowMs: number,
  { since = 0, leasesSince = since, publisher = "observer@a", lateMs = 0, unsynced, lost, lostMs = 0 }: Pulse = {},
): void {
  const state = (name: WatchName): WatchState => {
    const syncedSince = WALL + (name === "leases" ? leasesSince : since);
    return name === unsynced ? { synced: false, since: null } : { synced: name !== lost, since: syncedSince };
  };
  const watches = { nodes: state("nodes"), leases: state("leases"), pods: state("pods") };
  const digest = { count: 0, sum: 0 };
  const body = { shard: 0, watches, nodes: digest, pods: digest, resyncs: 1 };
  health.onPulse(
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

/** A reader that subscribed at an instant; without one it receives its first pulse at once. */
function reader(beganMs = Number.POSITIVE_INFINITY): WatchHealth {
  return new WatchHealth(["nodes", "leases"], PROFILE, beganMs);
}

describe("the view", () => {
  test("is blind before the first pulse and when the last is pulseTimeoutMs old", () => {
    const health = reader();
    expect(health.blindness(0)).toBe("no pulse from the observer");
    deliver(health, 1_000);
    expect(health.blindness(4_999)).toBeNull();
    expect(health.blindness(5_000)).toBe("no pulse from the observer");
  });

  test("is blind when a pulse is overdue by watchBlindMs", () => {
    const health = new WatchHealth(
      ["nodes", "leases"],
      { ...PROFILE, pulsePeriodMs: 8_000, pulseTimeoutMs: 26_000 },
      0,
    );
    deliver(health, 1_000);
    expect(health.blindness(18_999)).toBeNull();
    expect(health.blindness(19_000)).toBe("no pulse from the observer");
  });

  test("is blind while a needed watch is not synced", () => {
    const health = reader();
    deliver(health, 0, { unsynced: "leases" });
    expect(health.blindness(0)).toBe("the watch of leases is not synced");
    deliver(health, 0, { unsynced: "pods" });
    expect(health.blindness(0)).toBeNull();
  });

  test("is blind while a needed watch is lost, even if it may resume", () => {
    const health = reader();
    deliver(health, 0, { lost: "nodes" });
    expect(health.blindness(0)).toBe("the watch of nodes is not synced");
    expect(health.since).toBeNull();
  });
});

describe("a synced period begins", () => {
  test("when the observer publishes, on the reader's own clock", () => {
    const health = reader();
    expect(health.since).toBeNull();
    deliver(health, 5_000, { since: 2_000 });
    expect(health.since).toBe(2_000);
  });

  test("when the last needed watch is synced", () => {
    const health = reader();
    deliver(health, 5_000, { since: 1_000, leasesSince: 3_000 });
    expect(health.since).toBe(3_000);
  });

  test("at the same instant although pulses are late or missing", () => {
    const health = reader();
    deliver(health, 5_000, { since: 2_000 });
    deliver(health, 6_000, { since: 2_000, lateMs: 300 });
    deliver(health, 90_000, { since: 2_000 });
    expect(health.since).toBe(2_000);
  });

  test("again after the observer was blind beyond watchBlindMs", () => {
    const health = reader();
    deliver(health, 60_000, { since: 2_000 });
    deliver(health, 61_000, { unsynced: "leases" });
    deliver(health, 75_000, { since: 74_000 });
    deliver(health, 90_000, { since: 74_000, lateMs: 300 });
    expect(health.since).toBe(74_000);
  });

  test("again when the observer was blind, reported afterwards", () => {
    const health = reader();
    deliver(health, 60_000, { since: 2_000 });
    deliver(health, 72_000, { since: 2_000 });
    deliver(health, 75_000, { since: 74_000 });
    expect(health.since).toBe(74_000);
  });

  test.each([
    ["within watchBlindMs continues the old period", 70_000, 2_000],
    ["a moment too late begins a new one", 70_001, 70_001],
  ])("another observer that takes over %s", (_what, since, expected) => {
    const health = reader();
    deliver(health, 60_000, { since: 2_000 });
    deliver(health, 71_000, { since, publisher: "observer@b" });
    expect(health.since).toBe(expected);
    deliver(health, 120_000, { since, publisher: "observer@b" });
    expect(health.since).toBe(expected);
  });

  test("again when reader and observer stood still", () => {
    const health = reader();
    deliver(health, 1_000);
    // The reader's clock stood still for 40 s: its observer has been synced for 0.1 s.
    deliver(health, 2_000, { since: 41_900, lostMs: -40_000 });
    expect(health.since).toBe(1_900);
  });

  test("again when the observer that took over is blind later", () => {
    const health = reader();
    deliver(health, 60_000, { since: 2_000 });
    deliver(health, 65_000, { since: 65_000, publisher: "observer@b", unsynced: "nodes" });
    deliver(health, 66_000, { since: 66_000, publisher: "observer@b" });
    expect(health.since).toBe(2_000);
    deliver(health, 99_000, { since: 90_000, publisher: "observer@b" });
    expect(health.since).toBe(90_000);
  });
});

describe("late pulses", () => {
  /** A reader that stood still from 60 s to 125 s reads the pulses sent meanwhile; returns those that end blindness. */
  function afterStandstill(health: WatchHealth, readAt = 125_000): number[] {
    const seeing: number[] = [];
    for (let sentAt = 61_000; sentAt <= readAt; sentAt += 1_000) {
      deliver(health, readAt + sentAt / 1e6, { lateMs: readAt + sentAt / 1e6 - sentAt });
      if (health.blindness(readAt + sentAt / 1e6) === null) seeing.push(sentAt);
    }
    return seeing;
  }

  test("prove nothing until they have caught up", () => {
    const health = reader();
    deliver(health, 60_000);
    expect(afterStandstill(health)).toEqual([125_000]);
    expect(health.since).toBeGreaterThanOrEqual(125_000);
    expect(health.since).toBeLessThan(125_001);
  });

  test("are those that waited for longer than watchBlindMs", () => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 71_000, { lateMs: 10_000 });
    expect(health.blindness(71_000)).toBeNull();
    expect(health.since).toBe(0);
    const other = reader();
    deliver(other, 60_000);
    deliver(other, 71_001, { lateMs: 10_001 });
    expect(other.blindness(71_001)).toBe("the observer's pulses come late");
  });

  test("include the first if the reader subscribed long before", () => {
    const health = reader(60_000);
    expect(afterStandstill(health)).toEqual([]);
    deliver(health, 126_000);
    expect(health.blindness(126_000)).toBeNull();
    expect(health.since).toBeGreaterThanOrEqual(125_000);
    const prompt = reader(60_000);
    deliver(prompt, 70_000);
    expect(prompt.blindness(70_000)).toBeNull();
    expect(prompt.since).toBe(0);
  });

  test("stay late when the reader stands still once more", () => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 125_000, { lateMs: 64_000 });
    deliver(health, 190_000, { lateMs: 128_000 });
    expect(health.blindness(190_000)).not.toBeNull();
    deliver(health, 190_000, { lateMs: 500 });
    expect(health.blindness(190_000)).toBeNull();
    expect(health.since).toBe(190_000);
  });

  test("stay late when another observer starts", () => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 125_000, { lateMs: 64_000 });
    deliver(health, 125_000, { lateMs: 59_000, publisher: "observer@b", since: 66_000 });
    expect(health.blindness(125_000)).not.toBeNull();
  });

  test("include those of an observer that started meanwhile", () => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 125_000, { lateMs: 61_000, publisher: "observer@b" });
    expect(health.blindness(125_000)).not.toBeNull();
    deliver(health, 126_000, { lateMs: 0, publisher: "observer@b" });
    expect(health.blindness(126_000)).toBeNull();
    expect(health.since).toBe(125_000);
  });

  test("include those that another observer sent before it was suspended", () => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 120_000, { unsynced: "leases" });
    deliver(health, 120_000, { lostMs: 90_000, since: 30_000, publisher: "observer@b" });
    expect(health.blindness(120_000)).toBe("the observer's pulses come late");
    deliver(health, 121_000, { lostMs: 90_000, since: 30_000, publisher: "observer@b" });
    expect(health.blindness(121_000)).toBeNull();
    expect(health.since).toBe(120_000);
  });

  test.each([
    [20_000, null],
    [20_001, "the observer's pulses come late"],
  ])("of another observer are those sent %d ms before the last", (lateMs, expected) => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 60_000, { lateMs, publisher: "observer@b" });
    expect(health.blindness(60_000)).toBe(expected);
  });

  test("do not include those of an observer whose wall clock is set back", () => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 61_000, { lateMs: 600_000, since: -600_000 });
    expect(health.blindness(61_000)).toBeNull();
    expect(health.since).toBe(0);
  });

  test("end with the second pulse when the observer's clocks stood still", () => {
    const health = reader();
    deliver(health, 60_000);
    deliver(health, 125_000, { lostMs: 64_000 });
    expect(health.blindness(125_000)).not.toBeNull();
    deliver(health, 126_000, { lostMs: 64_000 });
    expect(health.blindness(126_000)).toBeNull();
    expect(health.since).toBe(125_000);
  });
});

test("an observer that stood still starts a new period even if its wall clock was set", () => {
  const health = reader();
  deliver(health, 60_000);
  deliver(health, 125_000, { since: 64_000 - 10_000 });
  expect(health.since).toBe(125_000);
});

test("a translated instant keeps its distance from the sending and never lies ahead", () => {
  expect(translated(900, 1_000, 50)).toBe(-50);
  expect(translated(1_100, 1_000, 50)).toBe(50);
});

test("a restarted process is another publisher", () => {
  const pulse = (epoch: number) => ({ source: "observer@a", id: `observer@a:${epoch}:observed.pulse.0:7` });
  expect(publisherOf(pulse(1))).not.toBe(publisherOf(pulse(2)));
  expect(publisherOf(pulse(1))).toBe(publisherOf(pulse(1)));
});
