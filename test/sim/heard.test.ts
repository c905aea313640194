/** Which times count as outages, and when countdowns end that they stop. */
import { describe, expect, it } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { Heard, type Span } from "./heard.ts";
import { endAfter } from "./policies/frozen-time.ts";

const S = 1000;
const GRACE_MS = STANDARD_PROFILE.nodeMonitorGraceMs;
/** From the first heartbeat after an outage to one that a process surely saw arrive. */
const SEEN_MS = 12 * S;

const endOf = (spans: readonly Span[]) => Math.max(...spans.map(([, toAt]) => toAt));

/** What was heard, with a heartbeat every 10 s in each of these times. */
function heardIn(spans: readonly (readonly [from: number, to: number])[], remembersOutages = true): Heard {
  const heard = new Heard({ profile: STANDARD_PROFILE, remembersOutages });
  for (const [from, to] of spans) renew(heard, from, to);
  return heard;
}

function renew(heard: Heard, from: number, to: number): void {
  for (let at = from; at <= to; at += 10) heard.accepted("n1", "lease", at * S, at * S);
}

describe("a time without heartbeats", () => {
  it("is an outage if it is clearly longer than two renewals", () => {
    const heard = heardIn([
      [0, 100],
      [160, 200],
    ]);
    expect(heard.pauses(200 * S).least).toEqual([[100 * S, 160 * S]]);
    expect(endOf(heard.pauses(200 * S).most)).toBe(SEEN_MS + 160 * S);
  });

  it("may be one near two renewals", () => {
    const heard = heardIn([
      [0, 100],
      [122, 142],
    ]);
    expect(heard.pauses(142 * S).least).toEqual([]);
    expect(endOf(heard.pauses(142 * S).most)).toBe(SEEN_MS + 122 * S);
  });

  it("is none between two renewals", () => {
    expect(heardIn([[0, 100]]).pauses(110 * S)).toEqual({ least: [], most: [] });
  });

  it("lasts until the next heartbeat", () => {
    const lasting = [[100 * S, Number.POSITIVE_INFINITY]];
    expect(heardIn([[0, 100]]).pauses(150 * S)).toEqual({ least: lasting, most: lasting });
  });
});

it("a restored backup takes the heartbeats since then away", () => {
  const heard = heardIn([[0, 200]]);
  heard.restored(60 * S, false);
  renew(heard, 205, 225);
  expect(heard.pauses(225 * S).least).toEqual([[60 * S, 205 * S]]);
  expect(heard.isRenewedWithin("n1", [100 * S, 204 * S])).toBe(false);
});

it("an outage is not sure if an observer slept through a restore", () => {
  const heard = heardIn([[0, 200]]);
  heard.restored(60 * S, true);
  expect(heard.pauses(200 * S).least).toEqual([]);
  renew(heard, 205, 225);
  const { least, most } = heard.pauses(225 * S);
  expect(least).toEqual([]);
  expect(most).toContainEqual([60 * S, 205 * S]);
});

it("a countdown is frozen in an outage, and may end a grace after it", () => {
  const heard = heardIn([
    [0, 100],
    [700, 720],
  ]);
  const pauses = heard.pauses(720 * S);
  const plain = {
    least: (startAt: number, ms: number) => endAfter(startAt, ms, pauses.least),
    most: (startAt: number, ms: number) => endAfter(startAt, ms, pauses.most),
  };
  const ends = heard.withGrace(plain, pauses, GRACE_MS);
  expect(ends.least(0, 300 * S)).toBe(900 * S);
  expect(ends.least(0, 101 * S)).toBe(701 * S);
  expect(ends.most(0, 101 * S)).toBe(SEEN_MS + 700 * S + GRACE_MS);
});

describe("while no process listens", () => {
  it("countdowns go on if there are heartbeats", () => {
    const heard = heardIn([[0, 100]]);
    heard.deaf(100 * S);
    for (let node = 0; node < 6; node++) heard.accepted(`n${node}`, "lease", (99 + 9 * node) * S, (99 + 9 * node) * S);
    heard.listening(95 * S, 96 * S);
    renew(heard, 150, 160);
    expect(heard.pauses(160 * S).most).toEqual([]);
  });

  it("a hole in what it shows may be an outage", () => {
    const heard = heardIn([[0, 100]]);
    heard.deaf(100 * S);
    renew(heard, 110, 190);
    heard.listening(85 * S, 96 * S);
    renew(heard, 195, 200);
    expect(heard.pauses(200 * S)).toEqual({ least: [], most: [[83 * S, 197 * S]] });
  });

  it("a heartbeat may replace the mark that fills a hole", () => {
    const heard = heardIn([[0, 100]]);
    heard.accepted("other", "lease", 118 * S, 118 * S);
    heard.deaf(119 * S);
    heard.listening(95 * S, 130 * S);
    heard.accepted("other", "lease", 131 * S, 131 * S);
    heard.accepted("third", "lease", 132 * S, 132 * S);
    heard.accepted("third", "lease", 140 * S, 140 * S);
    expect(heard.pauses(140 * S).most).toEqual([[98 * S, 142 * S]]);
  });

  it("countdowns may begin again where nothing remembers", () => {
    const heard = heardIn([[0, 100]], false);
    heard.deaf(100 * S);
    heard.listening(0, 96 * S);
    renew(heard, 108, 118);
    expect(heard.pauses(118 * S).most).toEqual([[0, 110 * S]]);
  });
});
