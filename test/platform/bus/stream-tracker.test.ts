/** The order of messages in their stream. */
import { describe, expect, test } from "vitest";
import {
  EPOCH_QUIET_MS,
  STREAM_FORGET_MS,
  STREAMS_MAX,
  StreamTracker,
} from "../../../services/platform/bus/stream-tracker.ts";

const at = (epoch: number, sequence: number, stream = "s") => ({ stream, epoch, sequence });

describe("a stream", () => {
  test.each([
    ["starts anywhere", [[1, 7]], ["next"]],
    [
      "continues by one",
      [
        [1, 1],
        [1, 2],
        [1, 3],
      ],
      ["next", "next", "next"],
    ],
    [
      "has a gap, and a late message after it is out of order",
      [
        [1, 1],
        [1, 3],
        [1, 2],
        [1, 4],
      ],
      ["next", "gap", "out-of-order", "next"],
    ],
    [
      "delivers a message once",
      [
        [1, 5],
        [1, 5],
      ],
      ["next", "duplicate"],
    ],
    [
      "restarts with its publisher, and the earlier run is out of order",
      [
        [1, 9],
        [2, 1],
        [1, 10],
        [2, 2],
      ],
      ["next", "next", "out-of-order", "next"],
    ],
    [
      "has a gap when the start of the publisher's new run is missing",
      [
        [1, 9],
        [2, 4],
      ],
      ["next", "gap"],
    ],
  ] as const)("%s", (_name, positions, arrivals) => {
    const tracker = new StreamTracker();
    expect(positions.map(([epoch, sequence]) => tracker.arrive(at(epoch, sequence), 0))).toEqual(arrivals);
  });

  test("resumes with an earlier epoch once the later run is silent", () => {
    const tracker = new StreamTracker();
    tracker.arrive(at(2000, 5), 0);
    expect(tracker.arrive(at(1000, 1), EPOCH_QUIET_MS - 1)).toBe("out-of-order");
    expect(tracker.arrive(at(1000, 2), EPOCH_QUIET_MS)).toBe("gap");
    expect(tracker.arrive(at(1000, 3), EPOCH_QUIET_MS)).toBe("next");
  });

  test("is independent of others", () => {
    const tracker = new StreamTracker();
    expect(tracker.arrive(at(1, 1, "a"), 0)).toBe("next");
    expect(tracker.arrive(at(1, 1, "b"), 0)).toBe("next");
  });
});

test("streams of publishers that are gone are forgotten", () => {
  const tracker = new StreamTracker();
  for (let index = 0; index < 3000; index++) tracker.arrive(at(1, 1, `gone ${index}`), 0);
  for (let index = 0; index < 6000; index++) tracker.arrive(at(1, 1, `here ${index}`), STREAM_FORGET_MS + 1);
  expect(tracker.size).toBe(6000);
});

test("forged streams do not pile up, and active ones stay known", () => {
  const tracker = new StreamTracker();
  let largest = 0;
  for (let index = 0; index < 5 * STREAMS_MAX; index++) {
    if (index % 100 === 0) tracker.arrive(at(1, 1 + index, "active"), index);
    tracker.arrive(at(1, 1, `invented-${index}`), index);
    largest = Math.max(largest, tracker.size);
  }
  expect(largest).toBeLessThanOrEqual(STREAMS_MAX);
  expect(tracker.arrive(at(1, 1, "active"), 5 * STREAMS_MAX)).toBe("out-of-order");
});
