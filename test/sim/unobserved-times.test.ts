/** In which times no observer showed the cluster. */
import { expect, test } from "vitest";
import { VirtualClock } from "../support/clock.virtual.ts";
import { UnobservedTimes } from "./unobserved-times.ts";

const S = 1000;

/** Pulses of each second but the silent ones and those in which a watch is not synced. */
function followed(seconds: number, silent: readonly number[], unsynced: readonly number[] = []) {
  const clock = new VirtualClock();
  const startAt = clock.wallMs();
  const times = new UnobservedTimes(clock, { pulsePeriodMs: S });
  for (let second = 1; second <= seconds; second += 1) {
    clock.advance(S);
    const watches = { nodes: { synced: true }, leases: { synced: !unsynced.includes(second) } };
    if (!silent.includes(second)) times.pulsed(Buffer.from(JSON.stringify({ body: { watches } })));
  }
  return { times, overlaps: (from: number, to: number) => times.overlaps([startAt + from * S, startAt + to * S]) };
}

test("pulses that come in time leave none", () => {
  const { times, overlaps } = followed(5, []);
  expect([overlaps(0, 5), times.ageMs(10 * S)]).toEqual([false, 0]);
});

test("one lasts from the last pulse of a synced observer to the next", () => {
  const { overlaps } = followed(9, [3, 4], [5]);
  expect([overlaps(0, 2), overlaps(0, 3), overlaps(5, 9), overlaps(6, 9)]).toEqual([false, true, true, false]);
});

test("what is known is of its beginning until the changes since have passed", () => {
  expect(followed(7, [3, 4, 5]).times.ageMs(2 * S)).toBe(5 * S);
  expect(followed(8, [3, 4, 5]).times.ageMs(2 * S)).toBe(0);
});
