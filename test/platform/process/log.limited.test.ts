/** Limits on log lines: how many of a flood are written, and when. */
import { expect, test } from "vitest";
import { limitedWarn } from "../../../services/platform/process/log.limited.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { recordingLog } from "../../support/recording-log.ts";

const S = 1000;

/** The seconds at which one warning a second for `seconds` is written. */
function writtenAt(pauseMaxMs: number | undefined, seconds: number, quietMs = 0): number[] {
  const [clock, log] = [new VirtualClock(), recordingLog()];
  const warn = limitedWarn(log, clock, S, pauseMaxMs);
  const at: number[] = [];
  for (let second = 0; second < seconds; second++) {
    const before = log.lines.length;
    warn("away", {});
    if (log.lines.length > before) at.push(second);
    clock.advance(S);
  }
  clock.advance(quietMs);
  const before = log.lines.length;
  warn("away again", {});
  warn("away again", {});
  if (log.lines.length > before) at.push(seconds);
  return at;
}

test("a warning that is repeated is written after pauses that double up to a minute", () => {
  expect(writtenAt(60 * S, 200)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]);
});

test("the pauses start over after a minute without a warning", () => {
  expect(writtenAt(60 * S, 20, 59 * S)).toEqual([0, 1, 3, 7, 15, 20]);
});

test("without a longest pause the pauses stay as they are", () => {
  expect(writtenAt(undefined, 4)).toEqual([0, 1, 2, 3, 4]);
});

test("a warning after dropped ones says how many they were", () => {
  const [clock, log] = [new VirtualClock(), recordingLog()];
  const warn = limitedWarn(log, clock, S);
  for (let count = 0; count < 3; count++) warn("away", {});
  clock.advance(S);
  warn("away", {});
  expect(log.lines.map(({ fields }) => fields)).toEqual([{}, { unlogged: 2 }]);
});
