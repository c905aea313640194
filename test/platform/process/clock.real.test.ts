/** The machine's clock: its guarantees beyond Node's timers. */
import { expect, test, vi } from "vitest";
import { realClock } from "../../../services/platform/process/clock.real.ts";

const fired = (delayMs: number) =>
  new Promise<number>((resolve) => {
    const clock = realClock();
    const dueMs = clock.monotonicMs() + delayMs;
    clock.after(delayMs, () => resolve(clock.monotonicMs() - dueMs));
  });

test("no timer fires early, whatever fraction of a millisecond its delay has", async () => {
  const delays = Array.from({ length: 200 }, (_, index) => 1 + index * 0.137);
  const lateMs = await Promise.all(delays.map(fired));
  expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
});

test("a delay longer than Node's limit does not fire at once", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const fire = vi.fn();
    const thirtyDaysMs = 30 * 24 * 3_600_000;
    realClock().after(thirtyDaysMs, fire);
    vi.advanceTimersByTime(thirtyDaysMs - 1);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});

test("a cancelled timer does not fire, and soon runs after the current work", async () => {
  const clock = realClock();
  const events: string[] = [];
  clock.after(0, () => events.push("cancelled")).cancel();
  clock.soon(() => events.push("soon"));
  events.push("now");
  await fired(5);
  expect(events).toEqual(["now", "soon"]);
});
