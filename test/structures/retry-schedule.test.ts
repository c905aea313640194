/** The pauses between attempts: their growth, their limit, and when an attempt of many is due. */
import { describe, expect, test } from "vitest";
import { RetrySchedule, type RetrySettings, retryPauseMs } from "../../services/structures/retry-schedule.ts";

const pauses = (settings: RetrySettings, count: number) =>
  Array.from({ length: count }, (_, index) => retryPauseMs(index + 1, settings));

describe("the pause after an attempt", () => {
  test("doubles up to its limit, as in a kubelet (R9.4)", () => {
    expect(pauses({ baseMs: 100, maxMs: 7000 }, 9)).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 7000, 7000]);
  });

  test("is the first one twice with two equal pauses", () => {
    expect(pauses({ baseMs: 10, maxMs: 50, equalPauses: 2 }, 5)).toEqual([10, 10, 20, 40, 50]);
  });

  test("never exceeds its limit, even after endless attempts", () => {
    expect(retryPauseMs(Number.POSITIVE_INFINITY, { baseMs: 1, maxMs: 50 })).toBe(50);
    expect(retryPauseMs(1, { baseMs: 90, maxMs: 50 })).toBe(50);
  });

  test("is a part of its length with jitter", () => {
    expect(pauses({ baseMs: 100, maxMs: 300, random: () => 0.5 }, 3)).toEqual([50, 100, 150]);
  });
});

describe("a retry schedule", () => {
  const instantsDue = (schedule: RetrySchedule<string>, fromMs: number, untilMs: number) =>
    Array.from({ length: untilMs - fromMs }, (_, index) => fromMs + index).filter((ms) => schedule.isDue("n-1", ms));
  const settings: RetrySettings = { baseMs: 10, maxMs: 40 };

  test("has a first attempt at once and others after its pauses", () => {
    expect(instantsDue(new RetrySchedule(settings), 0, 120)).toEqual([0, 10, 30, 70, 110]);
  });

  test("settles what succeeded once its pause is over", () => {
    const schedule = new RetrySchedule<string>(settings);
    schedule.isDue("n-1", 0);
    schedule.settle("n-1", 9);
    expect([schedule.isDue("n-1", 9), schedule.isDue("n-1", 10)]).toEqual([false, true]);
    schedule.settle("n-1", 30);
    expect(instantsDue(schedule, 30, 45)).toEqual([30, 40]);
  });

  test("hurries after a long pause, and restarts for a forgotten key", () => {
    const schedule = new RetrySchedule<string>(settings);
    for (const nowMs of [-70, -60, -40, 0]) schedule.isDue("n-1", nowMs);
    expect(schedule.nextDueMs()).toBe(40);
    schedule.hurry("n-1", 5);
    expect(instantsDue(schedule, 5, 50)).toEqual([15, 35]);
    schedule.forget("n-1");
    expect([schedule.nextDueMs(), schedule.isDue("n-1", 50)]).toEqual([null, true]);
  });
});
