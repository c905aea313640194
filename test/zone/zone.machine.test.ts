/** The life of a zone: every state times every event. */
import { describe, expect, test } from "vitest";
import {
  announcedState,
  FIRST_ZONE_LIFE,
  lifeAnnounced,
  nextZoneLife,
  type ZoneEvent,
  type ZoneLife,
  zoneMachine,
} from "../../services/zone/zone.machine.ts";

const LIVES = ["Initial", "Normal", "PartialDisruption", "FullDisruption", "Halted"] as const;
const TARGETS: Record<ZoneEvent["type"], ZoneLife> = {
  empty: "Initial",
  normal: "Normal",
  partial: "PartialDisruption",
  full: "FullDisruption",
  everyZoneDown: "Halted",
};
const EVENTS = Object.keys(TARGETS) as ZoneEvent["type"][];

describe.each(LIVES)("a zone in %s", (life) => {
  test.each(EVENTS)("goes by %s where that says, from wherever it is (R6.8, R6.12)", (type) => {
    expect(nextZoneLife(life, { type })).toBe(TARGETS[type]);
  });

  test("names every event but the one that leaves it where it is", () => {
    const { on = {} } = zoneMachine.config.states?.[life] ?? {};
    expect(Object.keys(on).sort()).toEqual(EVENTS.filter((type) => TARGETS[type] !== life).sort());
  });
});

test("a zone begins as Initial (R2.18), and the chart has no other states", () => {
  expect(zoneMachine.config.initial).toBe(FIRST_ZONE_LIFE);
  expect(Object.keys(zoneMachine.config.states ?? {})).toEqual([...LIVES]);
});

test("a halted zone is announced as fully disrupted (R6.10), every other one as what it is", () => {
  expect(LIVES.map(announcedState)).toEqual([
    "Initial",
    "Normal",
    "PartialDisruption",
    "FullDisruption",
    "FullDisruption",
  ]);
});

test("the next owner of a zone continues each state as it was announced", () => {
  const announced = LIVES.map((life) => ({ state: announcedState(life), halted: life === "Halted" }));
  expect(announced.map(lifeAnnounced)).toEqual([...LIVES]);
});
