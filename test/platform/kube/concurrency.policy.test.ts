/** The limit on requests in flight: growth, restraint, halving, recovery. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Concurrency,
  concurrencyAfter,
  concurrencyAtStart,
  type RequestResult,
} from "../../../services/platform/kube/transport/concurrency.policy.ts";

const LIMIT_MAX = 256;

/** A request of this duration that ended at this instant. */
function took(latencyMs: number, endedAtMs: number, more: Partial<RequestResult> = {}): RequestResult {
  return {
    likeness: "patch Pod",
    startedAtMs: endedAtMs - latencyMs,
    endedAtMs,
    overloaded: false,
    atLimit: true,
    ...more,
  };
}

function learned(known: Concurrency, experiences: readonly RequestResult[]): Concurrency {
  return experiences.reduce((state, experience) => concurrencyAfter(state, experience, LIMIT_MAX), known);
}

const times = (count: number, make: (index: number) => RequestResult): RequestResult[] =>
  Array.from({ length: count }, (_, i) => make(i));

describe("the limit", () => {
  test("doubles with every round of quick answers, up to the ceiling", () => {
    const start = concurrencyAtStart(LIMIT_MAX);
    expect(start.limit).toBe(16);
    const second = learned(
      start,
      times(16, () => took(2, 10)),
    );
    expect(second.limit).toBe(32);
    expect(
      learned(
        second,
        times(1000, () => took(2, 20)),
      ).limit,
    ).toBe(LIMIT_MAX);
    expect(concurrencyAtStart(4).limit).toBe(4);
  });

  test("stays while it is not used up", () => {
    const quick = times(100, () => took(2, 10, { atLimit: false }));
    expect(learned(concurrencyAtStart(LIMIT_MAX), quick).limit).toBe(16);
  });

  test("grows less near the target of twice the unloaded latency plus 10 ms", () => {
    const easy = learned(
      concurrencyAtStart(LIMIT_MAX),
      times(16, () => took(20, 100, { atLimit: false })),
    );
    const limitAt = (latencyMs: number): number =>
      learned(
        easy,
        times(100, () => took(latencyMs, 200)),
      ).limit;
    expect(limitAt(24)).toBeGreaterThan(110);
    expect(limitAt(40)).toBeGreaterThan(limitAt(45));
    expect(limitAt(45)).toBeGreaterThan(limitAt(49));
    expect(limitAt(60)).toBeLessThan(64);
  });

  test("shrinks while requests queue at the server, to its start", () => {
    const grown = learned(
      concurrencyAtStart(LIMIT_MAX),
      times(1000, () => took(2, 100)),
    );
    expect(grown.limit).toBe(LIMIT_MAX);
    const aimMs = 2 * 2 + 10;
    const eased = learned(
      grown,
      times(LIMIT_MAX, () => took(1.5 * aimMs, 200)),
    );
    expect(eased.limit).toBeLessThan(LIMIT_MAX * 0.8);
    expect(eased.limit).toBeGreaterThan(LIMIT_MAX * 0.6);
    const long = times(2000, () => took(100, 300));
    expect(learned(eased, long).limit).toBe(16);
    const halved = learned(eased, [took(5, 400, { overloaded: true })]);
    expect(learned({ ...halved, limit: 8 }, long).limit).toBe(8);
  });

  test("ignores one slow answer; a very slow one costs half a request", () => {
    const aimMs = 2 * 2 + 10;
    const quick = learned(
      concurrencyAtStart(LIMIT_MAX),
      times(16, () => took(2, 100)),
    );
    expect(learned(quick, [took(3 * aimMs, 200)]).limit).toBe(quick.limit + 1);
    expect(learned(quick, [took(50 * aimMs, 5000)]).limit).toBe(quick.limit - 0.5);
  });

  test("moves to what 40 requests a second need when answers are slow", () => {
    const quick = learned(
      concurrencyAtStart(LIMIT_MAX),
      times(16, () => took(2, 100)),
    );
    const slow = (known: Concurrency): Concurrency =>
      learned(
        known,
        times(1000, (i) => took(5000, 5000 + i)),
      );
    expect(learned(quick, [took(5000, 5000)]).limit).toBe(quick.limit + 1);
    expect(Math.round(slow(quick).limit)).toBe(200);
    expect(Math.round(slow({ ...quick, limit: LIMIT_MAX }).limit)).toBe(200);
  });

  test("rises by one a round towards that rate in the minute after a halving", () => {
    const halved = learned(concurrencyAtStart(LIMIT_MAX), [took(2, 10), took(5, 10, { overloaded: true })]);
    const limitAt = (endedAtMs: number): number =>
      learned(
        halved,
        times(8, () => took(5000, endedAtMs)),
      ).limit;
    expect(limitAt(60_009)).toBeGreaterThan(8.9);
    expect(limitAt(60_009)).toBeLessThanOrEqual(9);
    expect(limitAt(60_010)).toBe(16);
  });

  test("does not compare writes with quicker reads", () => {
    const mixed = times(1000, (i) => (i % 2 === 0 ? took(1, 100, { likeness: "get Pod" }) : took(30, 100)));
    expect(learned(concurrencyAtStart(LIMIT_MAX), mixed).limit).toBe(LIMIT_MAX);
  });

  test("does not compare writes of pods with those of leases", () => {
    const lease = took(2, 100, { likeness: "patch Lease" });
    const pods = times(1000, () => took(80, 100));
    expect(learned(concurrencyAtStart(LIMIT_MAX), [lease, ...pods]).limit).toBe(LIMIT_MAX);
  });

  test("stays while answers take the target latency", () => {
    const grown = learned(
      concurrencyAtStart(LIMIT_MAX),
      times(200, () => took(2, 100)),
    );
    // A server that works on one after the other: the time of each is that of all that are under way.
    const served = (known: Concurrency): Concurrency =>
      concurrencyAfter(known, took(2 * Math.floor(known.limit), 200), LIMIT_MAX);
    let known = grown;
    for (let answers = 0; answers < 1000; answers++) known = served(known);
    expect(known.limit).toBe(16);
    const wide = (state: Concurrency): Concurrency =>
      concurrencyAfter(state, took(Math.max(2, 0.2 * Math.floor(state.limit)), 300), LIMIT_MAX);
    for (let answers = 0; answers < 1000; answers++) known = wide(known);
    expect(known.limit).toBeGreaterThan(60);
    expect(known.limit).toBeLessThan(75);
  });

  test("is halved by an overload, once a round, and never below one", () => {
    const start = concurrencyAtStart(LIMIT_MAX);
    const hit = learned(
      start,
      times(16, (i) => took(5, 10 + i / 100, { overloaded: true })),
    );
    expect(hit.limit).toBe(8);
    const again = learned(hit, [took(5, 100, { overloaded: true })]);
    expect(again.limit).toBe(4);
    expect(
      learned(
        again,
        times(20, (i) => took(1, 200 + 10 * i, { overloaded: true })),
      ).limit,
    ).toBe(1);
  });

  test("grows by one a round after it has been halved", () => {
    const halved = learned(concurrencyAtStart(LIMIT_MAX), [took(5, 10, { overloaded: true })]);
    const round = learned(
      halved,
      times(8, () => took(2, 50)),
    );
    expect(round.limit).toBeGreaterThan(8.9);
    expect(round.limit).toBeLessThanOrEqual(9);
  });

  test("accepts a server that has become slower for good within minutes", () => {
    const easy = learned(concurrencyAtStart(LIMIT_MAX), [took(5, 10)]);
    const soon = learned(
      easy,
      times(60, (i) => took(40, 1000 + 1000 * i)),
    );
    const later = learned(
      soon,
      times(300, (i) => took(40, 61_000 + 1000 * i)),
    );
    expect(soon.limit).toBeLessThan(24);
    expect(later.limit).toBeGreaterThan(soon.limit);
  });

  test("always stays between one and its maximum", () => {
    const experience = fc.record({
      likeness: fc.constantFrom("get Pod", "patch Pod"),
      startedAtMs: fc.nat(1e6),
      endedAtMs: fc.nat(1e6).map((ms) => ms + 1e6),
      overloaded: fc.boolean(),
      atLimit: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.array(experience), (limitMax, experiences) => {
        let state = concurrencyAtStart(limitMax);
        for (const each of experiences) {
          state = concurrencyAfter(state, each, limitMax);
          expect(state.limit).toBeGreaterThanOrEqual(1);
          expect(state.limit).toBeLessThanOrEqual(limitMax);
        }
      }),
    );
  });
});
