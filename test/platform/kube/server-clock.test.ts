/** The clock of a process corrected by its API server: which time counts, and how exactly. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Wire } from "../../../protocols/ports.ts";
import { ServerClock } from "../../../services/platform/kube/transport/server-clock.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

const S = 1000;
const START = Date.UTC(2026, 0, 1);

/** A machine whose clock is ahead of a server that answers after `latencyMs`. */
function setUp(aheadMs: number, latencyMs = 10, metrics = createMetrics()) {
  const machine = new VirtualClock({ wallMs: START + aheadMs });
  const server = { aheadMs: 0, date: (): string | undefined => new Date(serverMs()).toUTCString() };
  const serverMs = () => START + machine.monotonicMs() + server.aheadMs;
  const wire: Wire = {
    send: (_request, exchange) => {
      machine.after(latencyMs / 2, () => {
        const date = server.date();
        machine.after(latencyMs / 2, () => exchange.response(200, date === undefined ? {} : { date }));
      });
      return { abort: () => {} };
    },
  };
  const log = recordingLog();
  const clock = new ServerClock(machine, log, metrics);
  const ask = (): void => {
    const nothing = { response: () => {}, data: () => {}, end: () => {}, failed: () => {} };
    clock.over(wire).send({ method: "GET", path: "/", headers: {}, body: null }, nothing);
    machine.advance(latencyMs);
  };
  return { machine, server, clock, ask, log, errorMs: () => clock.wallMs() - serverMs() };
}

describe("the difference of the clocks", () => {
  test.each([600 * S, -600 * S])("of %i ms is known, and shown as a gauge", async (aheadMs) => {
    const metrics = createMetrics();
    const { clock, ask } = setUp(aheadMs, 10, metrics);
    expect(clock.machineAheadMs()).toBe(0);
    ask();
    expect(Math.abs(clock.machineAheadMs() - aheadMs)).toBeLessThanOrEqual(S + 10);
    expect(await metricValue(metrics, "vigil_clock_ahead_seconds")).toBe(clock.machineAheadMs() / S);
  });

  test("is none while they agree", () => {
    const { clock, ask } = setUp(0);
    ask();
    expect(clock.machineAheadMs()).toBe(0);
  });
});

describe("the wall clock", () => {
  test("is the machine's before any answer, and after one without a Date", () => {
    const { server, ask, errorMs } = setUp(300 * S);
    expect(errorMs()).toBe(300 * S);
    server.date = () => undefined;
    ask();
    server.date = () => "yesterday";
    ask();
    expect(errorMs()).toBe(300 * S);
  });

  test("stays the machine's while it agrees with the server's", () => {
    const { machine, ask, errorMs, log } = setUp(0);
    for (let run = 0; run < 20; run++) {
      ask();
      expect(errorMs()).toBe(0);
      machine.advance(777);
    }
    expect(log.lines).toEqual([]);
  });

  test.each([300 * S, -300 * S])("is the server's after one answer if off by %i ms", (aheadMs) => {
    const { ask, errorMs, log } = setUp(aheadMs);
    ask();
    expect(Math.abs(errorMs())).toBeLessThanOrEqual(S + 10);
    ask();
    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      "warn this machine's clock differs from the API server's, whose time counts: set it by NTP",
    ]);
  });

  test("approaches the server's with every answer", () => {
    const { machine, ask, errorMs } = setUp(300 * S);
    for (let run = 0; run < 20; run++) {
      ask();
      machine.advance(777);
    }
    expect(Math.abs(errorMs())).toBeLessThan(100);
  });

  test("follows the server's if set, and the machine's once right", () => {
    const { machine, server, ask, errorMs, log } = setUp(0);
    ask();
    server.aheadMs = 60 * S;
    ask();
    expect(Math.abs(errorMs())).toBeLessThanOrEqual(S + 10);
    machine.stepWall(60 * S);
    ask();
    expect(errorMs()).toBe(0);
    expect(log.lines).toHaveLength(1);
  });

  test("does not follow the machine's when that steps", () => {
    const { machine, ask, errorMs } = setUp(0);
    ask();
    machine.stepWall(3600 * S);
    expect(Math.abs(errorMs())).toBeLessThanOrEqual(S + 10);
  });

  test("is within a second and one latency of the server's", () => {
    const step = fc.record({ pauseMs: fc.integer({ min: 0, max: 100 * S }), asks: fc.boolean() });
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.integer({ min: 2, max: 5000 }),
        fc.array(step),
        (off, ms, steps) => {
          const { machine, ask, errorMs } = setUp(off, ms);
          ask();
          for (const { pauseMs, asks } of steps) {
            machine.advance(pauseMs);
            if (asks) ask();
            const driftMs = 0.001 * machine.monotonicMs();
            expect(Math.abs(errorMs())).toBeLessThanOrEqual(S + ms + driftMs);
          }
        },
      ),
    );
  });
});
