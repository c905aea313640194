/** Asks carried out: one try at a time per key, the newest wins, repeated with pauses until done or moot. */
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../protocols/done.ts";
import { type TryResult, WriteJobs, type WriteJobsOptions } from "../../../services/platform/requests/write-jobs.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

/** Jobs whose tries are answered by the test. */
function jobs(options: Partial<Pick<WriteJobsOptions<string>, "retriesDenied" | "isRepeated" | "isSame">> = {}) {
  const clock = new VirtualClock();
  const tries: { ask: string; hasFailed: boolean; atMs: number; report: (result: TryResult) => void }[] = [];
  const told: string[] = [];
  const retriesAt: (number | null)[] = [];
  const written = new WriteJobs<string>({
    clock,
    random: () => 0.5,
    retryMaxMs: 10_000,
    ...options,
    attempt: (ask, { failures }, report) =>
      tries.push({ ask, hasFailed: failures > 0, atMs: clock.monotonicMs(), report }),
    reportOutcome: (ask, { outcome }, { retrying, retryAt, latencyMs }) => {
      told.push(`${ask} ${outcome}${retrying ? " retrying" : ""} after ${latencyMs}`);
      retriesAt.push(retryAt ?? null);
    },
  });
  const answer = (outcome: Outcome, fields: Partial<TryResult> = {}): void =>
    tries.at(-1)?.report({ outcome, change: "", detail: "", resourceVersion: null, ...fields });
  return { clock, tries, told, retriesAt, written, answer };
}

test.each<Outcome>(["ok", "gone", "refused", "denied", "shadowed"])("an ask that ended %s is settled", (outcome) => {
  const { clock, tries, told, written, answer } = jobs();
  written.ask("k", "a");
  answer(outcome);
  clock.advance(60_000);
  expect(tries).toHaveLength(1);
  expect(told).toEqual([`a ${outcome} after 0`]);
  expect(written.size).toBe(0);
});

test.each<Outcome>(["failed", "unknown", "throttled"])(
  "an ask that ended %s is tried again, reading anew",
  (outcome) => {
    const { clock, tries, told, written, answer } = jobs();
    written.ask("k", "a");
    answer(outcome);
    clock.advance(99);
    expect(tries).toHaveLength(1);
    clock.advance(1);
    expect(tries.map(({ hasFailed }) => hasFailed)).toEqual([false, true]);
    answer("ok");
    expect(told).toEqual([`a ${outcome} retrying after 0`, "a ok after 100"]);
  },
);

test("what is tried again is told with the instant of the next try", () => {
  const { clock, tries, retriesAt, written, answer } = jobs();
  written.ask("k", "a");
  answer("failed");
  expect(retriesAt).toEqual([clock.wallMs() + 100]);
  clock.advance(100);
  expect(tries).toHaveLength(2);
  answer("refused");
  expect(retriesAt[1]).toBeNull();
});

test("pauses between tries double with full jitter up to the longest", () => {
  const { clock, tries, written, answer } = jobs();
  written.ask("k", "a");
  for (let turn = 0; turn < 9; turn++) {
    answer("failed");
    clock.advance(10_000);
  }
  const pauses = tries.slice(1).map(({ atMs }, index) => atMs - index * 10_000);
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
});

test("a first conflict is tried again at once, a second waits", () => {
  const { clock, tries, written, answer } = jobs();
  written.ask("k", "a");
  answer("conflict");
  clock.advance(0);
  expect(tries).toHaveLength(2);
  answer("conflict");
  clock.advance(0);
  expect(tries).toHaveLength(2);
  clock.advance(200);
  expect(tries).toHaveLength(3);
});

test("a server that asks for a pause gets it", () => {
  const { clock, tries, written, answer } = jobs();
  written.ask("k", "a");
  answer("throttled", { retryAfterMs: 5_000 });
  clock.advance(5_099);
  expect(tries).toHaveLength(1);
  clock.advance(1);
  expect(tries).toHaveLength(2);
});

describe("a newer ask", () => {
  test("takes the place of one that waits, at once", () => {
    const { tries, written, answer } = jobs();
    written.ask("k", "old");
    answer("failed");
    written.ask("k", "new");
    expect(tries.map(({ ask }) => ask)).toEqual(["old", "new"]);
    expect(tries.at(-1)?.hasFailed).toBe(true);
  });

  test("waits for the end of a try under way; of several only the last is tried", () => {
    const { clock, tries, told, written, answer } = jobs();
    written.ask("k", "old");
    written.ask("k", "middle");
    written.ask("k", "new");
    expect(tries).toHaveLength(1);
    answer("ok");
    clock.advance(0);
    answer("ok");
    clock.advance(60_000);
    expect(tries.map(({ ask }) => ask)).toEqual(["old", "new"]);
    expect(told).toEqual(["old ok after 0", "new ok after 0"]);
  });

  test("under another key is its own matter", () => {
    const { tries, written } = jobs();
    written.ask("k", "a");
    written.ask("l", "b");
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "b"]);
  });
});

test("dropped asks are not tried again, but the end of a try that was under way is told", () => {
  const { clock, tries, told, written, answer } = jobs();
  written.ask("1/k", "a");
  written.ask("2/k", "b");
  answer("failed");
  written.drop((key) => key.startsWith("1/") || key.startsWith("2/"));
  tries[0]?.report({ outcome: "ok", change: "", detail: "", resourceVersion: null });
  clock.advance(60_000);
  expect(tries).toHaveLength(2);
  expect(told).toEqual(["b failed retrying after 0", "a ok after 0"]);
  expect(written.size).toBe(0);
});

test("an ask that only its asker may repeat is tried again after a first conflict and no more", () => {
  const { clock, tries, told, written, answer } = jobs();
  written.ask("k", "turn");
  answer("conflict", { isOnce: true });
  clock.advance(0);
  answer("failed", { isOnce: true });
  clock.advance(60_000);
  expect(tries).toHaveLength(2);
  expect(told).toEqual(["turn conflict retrying after 0", "turn failed after 0"]);
});

test("where a denial may change its mind it is tried again", () => {
  const { clock, tries, written, answer } = jobs({ retriesDenied: true });
  written.ask("k", "a");
  answer("denied");
  clock.advance(10_000);
  expect(tries).toHaveLength(2);
});

test("an ask whose failures are tried again for a while is left to its asker when that is over", () => {
  const { clock, tries, told, written, answer } = jobs();
  written.ask("k", "drain");
  for (const pauseMs of [100, 200, 400, 800, 1_600]) {
    answer("failed", { retriedForMs: 2_000 });
    clock.advance(pauseMs);
  }
  expect(tries.map(({ atMs }) => atMs)).toEqual([0, 100, 300, 700, 1_500]);
  expect(told.at(-1)).toBe("drain failed after 1500");
  expect(written.size).toBe(0);
});

describe("while the server wants a pause", () => {
  const isSame = (ask: string, earlier: string) => ask[0] === earlier[0];

  test("an ask for the same thing waits as well, and the newest is tried", () => {
    const { clock, tries, told, written, answer } = jobs({ isSame });
    written.ask("k", "a");
    answer("throttled", { retryAfterMs: 5_000 });
    clock.advance(2_000);
    written.ask("k", "again");
    clock.advance(3_099);
    expect(tries).toHaveLength(1);
    clock.advance(1);
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "again"]);
    answer("ok");
    expect(told.at(-1)).toBe("again ok after 3100");
  });

  test("an ask for something else is tried at once", () => {
    const { clock, tries, written, answer } = jobs({ isSame });
    written.ask("k", "a");
    answer("throttled", { retryAfterMs: 5_000 });
    clock.advance(2_000);
    written.ask("k", "b");
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "b"]);
  });

  test("an ask for the same thing is tried at once when that pause is over and our own is not", () => {
    const { clock, tries, written, answer } = jobs({ isSame });
    written.ask("k", "a");
    answer("throttled", { retryAfterMs: 5_000 });
    clock.advance(5_000);
    written.ask("k", "again");
    expect(tries.map(({ atMs }) => atMs)).toEqual([0, 5_000]);
  });
});

describe("an ask that wants no more than the one that is tried", () => {
  const isRepeated = (ask: string, earlier: string) => ask[0] === earlier[0];

  test.each<Outcome>(["ok", "gone"])("is done with it when that ended %s", (outcome) => {
    const { clock, tries, told, written, answer } = jobs({ isRepeated });
    written.ask("k", "a");
    written.ask("k", "again");
    answer(outcome);
    clock.advance(60_000);
    expect(tries).toHaveLength(1);
    expect(told).toEqual([`a ${outcome} after 0`]);
    expect(written.size).toBe(0);
  });

  test.each<Outcome>(["refused", "failed", "conflict"])("is tried when that ended %s", (outcome) => {
    const { clock, tries, written, answer } = jobs({ isRepeated });
    written.ask("k", "a");
    written.ask("k", "again");
    answer(outcome);
    clock.advance(10_000);
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "again"]);
  });

  test("is told apart from one that wants something else", () => {
    const { clock, tries, written, answer } = jobs({ isRepeated });
    written.ask("k", "a");
    written.ask("k", "b");
    answer("ok");
    clock.advance(0);
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "b"]);
  });
});

test("late tries are repeated with growing pauses, and have not failed", () => {
  const { clock, tries, written, answer } = jobs();
  written.ask("k", "a");
  for (let turn = 0; turn < 9; turn++) {
    answer("failed", { isLate: true });
    clock.advance(10_000);
  }
  const pauses = tries.slice(1).map(({ atMs }, index) => atMs - index * 10_000);
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  expect(tries.some(({ hasFailed }) => hasFailed)).toBe(false);
});

test("a late try lengthens the pause after a failure", () => {
  const { clock, tries, written, answer } = jobs();
  written.ask("k", "a");
  answer("failed");
  clock.advance(100);
  answer("failed", { isLate: true });
  clock.advance(200);
  answer("failed");
  clock.advance(400);
  expect(tries.map(({ atMs }) => atMs)).toEqual([0, 100, 300, 700]);
});
