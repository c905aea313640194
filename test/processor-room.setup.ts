/**
 * Before each suite in real time: where .ci/run starts many suites beside each other, one begins only when the
 * processor has room for it. A suite measures seconds, and on a slow or crowded machine five of them at once would
 * measure how long they wait for the processor. What the suites that only compute use counts as room, so that a
 * processor that waits for suites is not idle.
 */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { machineLock } from "./support/machine-lock.ts";
import { type ProcessorTimes, processorRoom, processorTimesOf } from "./support/processor-room.ts";

const STAT = "/proc/stat";
/** The processor has room with this share of its time to spare: a suite takes up to half of one of two cores. */
const ROOM_MIN = 0.5;
/** Of so many seconds: a suite that has a quiet moment takes more again in the next. */
const WINDOW_SECONDS = 10;
/** So long after a suite began, what it starts has begun too, and shows. */
const SETTLE_MS = 8_000;
/** A processor without room for so long is busy with something that does not end with a suite. */
const PATIENCE_MS = 300_000;

if (process.env.CI && existsSync(STAT)) await takeTurn();

/** Waits for room. Other suites wait for theirs until this one has begun. */
async function takeTurn(): Promise<void> {
  const readings = [times()];
  const reading = setInterval(() => readings.push(times()), 1_000);
  const release = await machineLock("processor-room");
  const endMs = performance.now() + PATIENCE_MS;
  while (roomOf(readings.slice(-1 - WINDOW_SECONDS)) < ROOM_MIN && performance.now() < endMs) await pause(1_000);
  clearInterval(reading);
  setTimeout(() => void release(), SETTLE_MS).unref();
}

/** The room over a whole window of readings; none over less. */
function roomOf(readings: readonly ProcessorTimes[]): number {
  const [first, last] = [readings[0], readings[WINDOW_SECONDS]];
  return first === undefined || last === undefined ? 0 : processorRoom(first, last);
}

function times(): ProcessorTimes {
  return processorTimesOf(readFileSync(STAT, "utf8"));
}
