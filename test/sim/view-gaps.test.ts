/** When a process cannot trust its view of a shard. */
import { expect, test } from "vitest";
import { VirtualClock } from "../support/clock.virtual.ts";
import { type ViewGap, ViewGaps } from "./view-gaps.ts";

const PERIOD_MS = 1_000;

/** One process that receives pulses of one shard. */
function stage() {
  const clock = new VirtualClock();
  const startAt = clock.wallMs();
  const found: ViewGap[] = [];
  const gaps = new ViewGaps(clock, { pulsePeriodMs: PERIOD_MS, watchBlindMs: 2_000 }, (_shard, gap) => found.push(gap));
  const pulse = (afterMs: number, { synced = true, source = "observer@p1" } = {}): void => {
    clock.advance(afterMs);
    const watches = { nodes: { synced }, leases: { synced: false }, pods: { synced: true } };
    gaps.pulsed(7, "p2", Buffer.from(JSON.stringify({ source, body: { watches } })));
  };
  const times = () => found.map(({ fromAt, untilAt }) => [fromAt - startAt, untilAt - startAt]);
  return { gaps, pulse, times };
}

test("pulses that come in time leave no gap", () => {
  const { pulse, times } = stage();
  for (let count = 0; count < 5; count += 1) pulse(PERIOD_MS);
  expect(times()).toEqual([]);
});

test("a gap lasts from the last complete pulse to the second complete one", () => {
  const { pulse, times } = stage();
  pulse(PERIOD_MS);
  pulse(PERIOD_MS, { synced: false });
  pulse(PERIOD_MS);
  pulse(PERIOD_MS);
  pulse(PERIOD_MS);
  expect(times()).toEqual([[1_000, 4_000]]);
});

test("missing pulses are a gap", () => {
  const { pulse, times } = stage();
  pulse(PERIOD_MS);
  pulse(5_000);
  pulse(100);
  pulse(PERIOD_MS);
  expect(times()).toEqual([[1_000, 7_100]]);
});

test("another observer's first pulse begins a gap", () => {
  const { pulse, times } = stage();
  pulse(PERIOD_MS);
  pulse(PERIOD_MS, { source: "observer@p3" });
  expect(times()).toEqual([[1_000, Number.POSITIVE_INFINITY]]);
});

test("a request for a resync begins a gap before the last pulse", () => {
  const { gaps, pulse, times } = stage();
  pulse(PERIOD_MS);
  pulse(PERIOD_MS);
  gaps.resynced(7, "p2");
  pulse(PERIOD_MS);
  expect(times()).toEqual([[-1_000, 3_000]]);
});
