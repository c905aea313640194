/** The processor's time to spare, from readings of /proc/stat. */
import { expect, test } from "vitest";
import { processorRoom, processorTimesOf } from "./processor-room.ts";

const reading = (user: number, nice: number, idle: number) =>
  processorTimesOf(`cpu  ${user} ${nice} 10 ${idle} 0 0 0 0 0 0\ncpu0 1 1 1 1 0 0 0 0 0 0\nbtime 1\n`);

test("time that is idle or niced is to spare", () => {
  expect(processorRoom(reading(0, 0, 0), reading(50, 30, 20))).toBe(0.5);
});

test("a processor that other programs take whole has no room", () => {
  expect(processorRoom(reading(0, 0, 0), reading(400, 0, 0))).toBe(0);
});

test("two readings of the same instant show no room", () => {
  expect(processorRoom(reading(1, 1, 1), reading(1, 1, 1))).toBe(0);
});

test("a reading without the processor's line is refused", () => {
  expect(() => processorTimesOf("btime 1\n")).toThrow("/proc/stat has no line of the whole processor");
});
