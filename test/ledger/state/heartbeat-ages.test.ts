/** Ages of heartbeats as counts per second, compared with sorting them all. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AGE_MAX_SECONDS, HeartbeatAges } from "../../../services/ledger/state/heartbeat-ages.ts";

describe("ages of heartbeats", () => {
  test("are 0 without nodes", () => {
    expect(new HeartbeatAges().quantiles([0.5, 1], 5000)).toEqual([0, 0]);
  });

  test("are quantiles over the nodes", () => {
    const ages = new HeartbeatAges();
    for (let node = 1; node <= 10; node++) ages.beat(`n-${node}`, 100_000 - node * 1000);
    expect(ages.quantiles([0.5, 0.9, 1], 100_000)).toEqual([5, 9, 10]);
  });

  test("grow with time and fall with a heartbeat", () => {
    const ages = new HeartbeatAges();
    ages.beat("n-1", 0);
    expect(ages.quantiles([1], 40_000)).toEqual([40]);
    ages.beat("n-1", 40_000);
    expect(ages.quantiles([1], 42_000)).toEqual([2]);
  });

  test("end at ten minutes, however long a node has been silent", () => {
    const ages = new HeartbeatAges();
    ages.beat("dead", 0);
    ages.beat("alive", 0);
    for (let minute = 1; minute <= 60; minute++) ages.beat("alive", minute * 60_000);
    expect(ages.quantiles([0.5, 1], 3_600_000)).toEqual([0, AGE_MAX_SECONDS]);
    ages.beat("dead", 3_600_000);
    expect(ages.quantiles([1], 3_600_000)).toEqual([0]);
  });

  test("are not increased by a late heartbeat", () => {
    const ages = new HeartbeatAges();
    ages.beat("n-1", 10_000);
    ages.beat("n-1", 5000);
    expect(ages.quantiles([1], 10_000)).toEqual([0]);
  });

  test("leave out forgotten nodes", () => {
    const ages = new HeartbeatAges();
    for (const node of ["a", "b", "c"]) ages.beat(node, 0);
    ages.forget("a");
    ages.keep((node) => node === "c");
    expect(ages.size).toBe(1);
    ages.beat("c", 7000);
    expect(ages.quantiles([0.5, 1], 7000)).toEqual([0, 0]);
  });

  test("are what sorting gives, for any heartbeats and departures", () => {
    const step = fc.record({ node: fc.integer({ min: 0, max: 8 }), waitMs: fc.nat(90_000), leaves: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (steps, fraction) => {
          const ages = new HeartbeatAges();
          const seconds = new Map<string, number>();
          let now = 0;
          for (const { node, waitMs, leaves } of steps) {
            now += waitMs;
            if (leaves) {
              ages.forget(String(node));
              seconds.delete(String(node));
            } else {
              ages.beat(String(node), now);
              seconds.set(String(node), Math.floor(now / 1000));
            }
          }
          const sorted = [...seconds.values()].map((second) => Math.floor(now / 1000) - second).sort((a, b) => a - b);
          const expected = Math.min(AGE_MAX_SECONDS, sorted[Math.ceil(fraction * sorted.length) - 1] ?? 0);
          expect(ages.quantiles([fraction], now)).toEqual([expected]);
        },
      ),
    );
  });
});
