/** Log lines that cannot be written, on a device that fails on demand. */
import { expect, test } from "vitest";
import { LogSink } from "../../../services/platform/process/log.sink.ts";
import { createLog } from "../../../services/platform/process/log.ts";

const failure = (code: string) => Object.assign(new Error(code), { code });

/** A device with room for this many bytes, and the error after them. */
class Device {
  text = "";
  freeBytes = Number.POSITIVE_INFINITY;
  code = "ENOSPC";
  pausedMs = 0;
  dropped = 0;
  readonly sink = new LogSink({
    write: (bytes) => {
      const taken = bytes.subarray(0, this.freeBytes);
      if (taken.length === 0) throw failure(this.code);
      this.freeBytes -= taken.length;
      this.text += new TextDecoder().decode(taken);
      return taken.length;
    },
    pause: (ms) => {
      this.pausedMs += ms;
    },
    dropped: () => this.dropped++,
  });
}

test("a line for a full device is counted and dropped; the next that fits is written", () => {
  const device = new Device();
  device.sink.write("one\n");
  device.freeBytes = 0;
  expect(device.sink.write("two\n")).toBeNull();
  expect(device.sink.write("three\n")).toBeNull();
  device.freeBytes = 100;
  expect(device.sink.write("four\n")).toBe(2);
  expect(device.sink.write("five\n")).toBe(0);
  expect([device.text, device.dropped]).toEqual(["one\nfour\nfive\n", 2]);
});

test("an incomplete line does not swallow the next", () => {
  const device = new Device();
  device.freeBytes = 2;
  expect(device.sink.write("one\n")).toBeNull();
  device.freeBytes = 100;
  device.sink.write("two\n");
  expect(device.text).toBe("on\ntwo\n");
});

test("a device that accepts a line in parts gets all of it", () => {
  let text = "";
  const sink = new LogSink({
    write: (bytes) => {
      text += new TextDecoder().decode(bytes.subarray(0, 2));
      return Math.min(2, bytes.length);
    },
    pause: () => {},
    dropped: () => {},
  });
  sink.write("whole\n");
  expect(text).toBe("whole\n");
});

test("a slow reader is waited for a tenth of a second, once", () => {
  const device = new Device();
  device.freeBytes = 0;
  device.code = "EAGAIN";
  device.sink.write("one\n");
  device.sink.write("two\n");
  expect([device.pausedMs, device.dropped]).toEqual([100, 2]);
});

test("the first line after dropped ones returns their number", () => {
  const device = new Device();
  const log = createLog({ level: "info", format: "json", write: (line) => device.sink.write(line) });
  device.freeBytes = 0;
  log.info("lost");
  log.info("lost too");
  device.freeBytes = Number.POSITIVE_INFINITY;
  log.info("there again");
  const messages = device.text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(messages).toMatchObject([
    { message: "there again" },
    { level: "warn", message: "log lines could not be written and were dropped", lines: 2 },
  ]);
});
