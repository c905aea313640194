/** The wall clock without its steps back. */
import { expect, test } from "vitest";
import { latestInstant } from "../../services/pod-writer/latest-instant.ts";

test("the latest instant follows a step forward, goes on through a step back, and never loses time", () => {
  let [wallMs, monotonicMs] = [1_000_000, 0];
  const latestMs = latestInstant({ wallMs: () => wallMs, monotonicMs: () => monotonicMs });
  const after = (passedMs: number, stepMs: number): number => {
    monotonicMs += passedMs;
    wallMs += passedMs + stepMs;
    return latestMs();
  };
  expect([after(0, 0), after(10, 0), after(10, -500), after(10, 0), after(10, 800), after(10, -1)]).toEqual([
    1_000_000, 1_000_010, 1_000_020, 1_000_030, 1_000_340, 1_000_350,
  ]);
});
