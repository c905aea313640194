/** The next run of a schedule is the same however often and in whatever order it is asked for. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { CronSchedule } from "../../services/domain/cron-schedule.ts";

const HOUR_MS = 3_600_000;
/** Around the end of summer time in Berlin in 2026. */
const FROM_MS = Date.UTC(2026, 9, 24);

test.each([
  ["0 9 * * 1-5", "Europe/Berlin"],
  ["30 2 * * *", "Europe/Berlin"],
  ["*/20 * * * *", null],
])("%s %s answers as a new schedule does", (schedule, timeZone) => {
  const asked = new CronSchedule(schedule, timeZone);
  const instants = fc.array(fc.integer({ min: 0, max: 72 * HOUR_MS }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(instants, (offsets) => {
      for (const offset of offsets) {
        const at = FROM_MS + offset;
        expect(asked.nextAfter(at)).toBe(new CronSchedule(schedule, timeZone).nextAfter(at));
      }
    }),
    { numRuns: 40 },
  );
});

test("a run is not its own next one", () => {
  const hourly = new CronSchedule("0 * * * *", null);
  expect(hourly.nextAfter(FROM_MS - 1)).toBe(FROM_MS);
  expect(hourly.nextAfter(FROM_MS)).toBe(FROM_MS + HOUR_MS);
  expect(hourly.nextAfter(FROM_MS - 1)).toBe(FROM_MS);
});
