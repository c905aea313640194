/**
 * Before each suite in real time: where .ci/run starts many suites beside each other, one begins only when the
 * processor has room for it. A suite measures seconds, and on a slow or crowded machine five of them at once would
 * measure how long they wait for the processor. On a machine of its own every suite begins at once.
 */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { machineLock } from "./support/machine-lock.ts";
import { type ProcessorTimes, processorRoom, processorTimesOf } from "./support/processor-room.ts";

const STAT = "/proc/stat";
/** The processor has room with this share of its time to spare: a suite takes up to half of one of two cores. */
const ROOM_MIN = 0.4;
const SAMPLE_MS = 3_000;
/** So long after a suite began, what it starts has begun too, and shows in the sample of the next. */
const SETTLE_MS = 8_000;
/** A processor without room for so long is busy with something that does not end with a suite. */
const PATIENCE_MS = 300_000;

if (process.env.CI && existsSync(STAT)) await takeTurn();

/** Waits for room. Other suites wait for theirs until this one has begun. */
async function takeTurn(): Promise<void> {
  const release = await machineLock("processor-room");
  const endMs = performance.now() + PATIENCE_MS;
  let before = times();
  do {
    await pause(SAMPLE_MS);
    const after = times();
    const room = processorRoom(before, after);
    before = after;
    if (room >= ROOM_MIN) break;
  } while (performance.now() < endMs);
  setTimeout(() => void release(), SETTLE_MS).unref();
}

function times(): ProcessorTimes {
  return processorTimesOf(readFileSync(STAT, "utf8"));
}
