/** Write jobs: one attempt at a time per key, the newest request wins, retries until done or moot. */
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../protocols/done.ts";
import { type TryResult, WriteJobs, type WriteJobsOptions } from "../../../services/platform/requests/write-jobs.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

/** Jobs whose attempts the test answers. */
function jobs(options: Partial<Omit<WriteJobsOptions<string>, "clock" | "random" | "attempt" | "reportOutcome">> = {}) {
  const clock = new VirtualClock();
  const tries: { ask: string; hasFailed: boolean; atMs: number; report: (result: TryResult) => void }[] = [];
  const reported: string[] = [];
  const retriesAt: (number | null)[] = [];
  const written = new WriteJobs<string>({
    clock,
    random: () => 0.5,
    retryMaxMs: 10_000,
    ...options,
    attempt: (ask, { failures }, report) =>
      tries.push({ ask, hasFailed: failures > 0, atMs: clock.monotonicMs(), report }),
    reportOutcome: (ask, { outcome }, { retrying, retryAt, latencyMs }) => {
      reported.push(`${ask} ${outcome}${retrying ? " retrying" : ""} after ${latencyMs}`);
      retriesAt.push(retryAt ?? null);
    },
  });
  const answer = (outcome: Outcome, fields: Partial<TryResult> = {}): void =>
    tries.at(-1)?.report({ outcome, change: "", detail: "", resourceVersion: null, ...fields });
  return { clock, tries, reported, retriesAt, written, answer };
}

test.each<Outcome>(["ok", "gone", "refused", "denied", "shadowed"])("a request that ended %s is settled", (outcome) => {
  const { clock, tries, reported, written, answer } = jobs();
  written.onRequest("k", "a");
  answer(outcome);
  clock.advance(60_000);
  expect(tries).toHaveLength(1);
  expect(reported).toEqual([`a ${outcome} after 0`]);
  expect(written.size).toBe(0);
});

test.each<Outcome>(["failed", "unknown", "throttled"])(
  "a request that ended %s is retried with a new read",
  (outcome) => {
    const { clock, tries, reported, written, answer } = jobs();
    written.onRequest("k", "a");
    answer(outcome);
    clock.advance(99);
    expect(tries).toHaveLength(1);
    clock.advance(1);
    expect(tries.map(({ hasFailed }) => hasFailed)).toEqual([false, true]);
    answer("ok");
    expect(reported).toEqual([`a ${outcome} retrying after 0`, "a ok after 100"]);
  },
);

test("a result that is retried reports when", () => {
  const { clock, tries, retriesAt, written, answer } = jobs();
  written.onRequest("k", "a");
  answer("failed");
  expect(retriesAt).toEqual([clock.wallMs() + 100]);
  clock.advance(100);
  expect(tries).toHaveLength(2);
  answer("refused");
  expect(retriesAt[1]).toBeNull();
});

test("pauses between attempts double with full jitter up to the longest", () => {
  const { clock, tries, written, answer } = jobs();
  written.onRequest("k", "a");
  for (let attempt = 0; attempt < 9; attempt++) {
    answer("failed");
    clock.advance(10_000);
  }
  const pauses = tries.slice(1).map(({ atMs }, index) => atMs - index * 10_000);
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
});

test("a first conflict is retried at once, a second waits", () => {
  const { clock, tries, written, answer } = jobs();
  written.onRequest("k", "a");
  answer("conflict");
  clock.advance(0);
  expect(tries).toHaveLength(2);
  answer("conflict");
  clock.advance(0);
  expect(tries).toHaveLength(2);
  clock.advance(200);
  expect(tries).toHaveLength(3);
});

test("the pause that a server requests is kept", () => {
  const { clock, tries, written, answer } = jobs();
  written.onRequest("k", "a");
  answer("throttled", { retryAfterMs: 5_000 });
  clock.advance(5_099);
  expect(tries).toHaveLength(1);
  clock.advance(1);
  expect(tries).toHaveLength(2);
});

describe("a newer request", () => {
  test("replaces one that waits and is attempted at once", () => {
    const { tries, written, answer } = jobs();
    written.onRequest("k", "old");
    answer("failed");
    written.onRequest("k", "new");
    expect(tries.map(({ ask }) => ask)).toEqual(["old", "new"]);
    expect(tries.at(-1)?.hasFailed).toBe(true);
  });

  test("waits for the attempt under way; of several the last counts", () => {
    const { clock, tries, reported, written, answer } = jobs();
    written.onRequest("k", "old");
    written.onRequest("k", "middle");
    written.onRequest("k", "new");
    expect(tries).toHaveLength(1);
    answer("ok");
    clock.advance(0);
    answer("ok");
    clock.advance(60_000);
    expect(tries.map(({ ask }) => ask)).toEqual(["old", "new"]);
    expect(reported).toEqual(["old ok after 0", "new ok after 0"]);
  });

  test("that continues the one under way makes its failure a retried one", () => {
    for (const [next, retried] of [
      ["same", "same failed retrying after 0"],
      ["other", "same failed after 0"],
    ] as const) {
      const { tries, clock, reported, retriesAt, written, answer } = jobs({ isContinued: (one, two) => one === two });
      written.onRequest("k", "same");
      written.onRequest("k", next);
      answer("failed");
      expect(reported).toEqual([retried]);
      expect(retriesAt).toEqual([next === "same" ? clock.wallMs() + 100 : null]);
      clock.advance(100);
      expect(tries.map(({ ask }) => ask)).toEqual(["same", next]);
    }
  });

  test("under another key is independent", () => {
    const { tries, written } = jobs();
    written.onRequest("k", "a");
    written.onRequest("l", "b");
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "b"]);
  });

  describe("for another change", () => {
    const isSame = (request: string, earlier: string) => request === earlier;

    test("waits for no backoff", () => {
      const { clock, tries, written, answer } = jobs({ isSame });
      written.onRequest("k", "taint");
      for (let attempt = 0; attempt < 8; attempt++) {
        answer("failed");
        clock.advance(10_000);
      }
      written.onRequest("k", "heal");
      answer("failed");
      clock.advance(0);
      expect(tries.at(-1)?.ask).toBe("heal");
    });

    test("waits for no pause of the server", () => {
      const { clock, tries, written, answer } = jobs({ isSame });
      written.onRequest("k", "taint");
      written.onRequest("k", "heal");
      answer("throttled", { retryAfterMs: 5_000 });
      clock.advance(0);
      expect(tries.map(({ ask }) => ask)).toEqual(["taint", "heal"]);
      answer("failed");
      written.onRequest("k", "heal");
      expect(tries).toHaveLength(3);
    });
  });
});

test("dropped requests are not retried, but an attempt under way is reported", () => {
  const { clock, tries, reported, written, answer } = jobs();
  written.onRequest("1/k", "a");
  written.onRequest("2/k", "b");
  answer("failed");
  written.drop((key) => key.startsWith("1/") || key.startsWith("2/"));
  tries[0]?.report({ outcome: "ok", change: "", detail: "", resourceVersion: null });
  clock.advance(60_000);
  expect(tries).toHaveLength(2);
  expect(reported).toEqual(["b failed retrying after 0", "a ok after 0"]);
  expect(written.size).toBe(0);
});

test("a one-time request is retried after a first conflict only", () => {
  const { clock, tries, reported, written, answer } = jobs();
  written.onRequest("k", "drain");
  answer("conflict", { isOnce: true });
  clock.advance(0);
  answer("failed", { isOnce: true });
  clock.advance(60_000);
  expect(tries).toHaveLength(2);
  expect(reported).toEqual(["drain conflict retrying after 0", "drain failed after 0"]);
});

test("a denied request is retried if the option says so", () => {
  const { clock, tries, written, answer } = jobs({ retriesDenied: true });
  written.onRequest("k", "a");
  answer("denied");
  clock.advance(10_000);
  expect(tries).toHaveLength(2);
});

test("a request with a limited retry time is settled when that is over", () => {
  const { clock, tries, reported, written, answer } = jobs();
  written.onRequest("k", "drain");
  for (const pauseMs of [100, 200, 400, 800, 1_600]) {
    answer("failed", { retriedForMs: 2_000 });
    clock.advance(pauseMs);
  }
  expect(tries.map(({ atMs }) => atMs)).toEqual([0, 100, 300, 700, 1_500]);
  expect(reported.at(-1)).toBe("drain failed after 1500");
  expect(written.size).toBe(0);
});

describe("during a server's pause", () => {
  const isSame = (ask: string, earlier: string) => ask[0] === earlier[0];

  test("the newest request for the same change waits too", () => {
    const { clock, tries, reported, written, answer } = jobs({ isSame });
    written.onRequest("k", "a");
    answer("throttled", { retryAfterMs: 5_000 });
    clock.advance(2_000);
    written.onRequest("k", "again");
    clock.advance(3_099);
    expect(tries).toHaveLength(1);
    clock.advance(1);
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "again"]);
    answer("ok");
    expect(reported.at(-1)).toBe("again ok after 3100");
  });

  test("a request for another change is attempted at once", () => {
    const { clock, tries, written, answer } = jobs({ isSame });
    written.onRequest("k", "a");
    answer("throttled", { retryAfterMs: 5_000 });
    clock.advance(2_000);
    written.onRequest("k", "b");
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "b"]);
  });

  test("a request for the same change skips our own backoff", () => {
    const { clock, tries, written, answer } = jobs({ isSame });
    written.onRequest("k", "a");
    answer("throttled", { retryAfterMs: 5_000 });
    clock.advance(5_000);
    written.onRequest("k", "again");
    expect(tries.map(({ atMs }) => atMs)).toEqual([0, 5_000]);
  });
});

describe("a request for nothing new", () => {
  const isRepeated = (ask: string, earlier: string) => ask[0] === earlier[0];

  test("is done with one that was done a moment ago", () => {
    const { clock, tries, reported, written, answer } = jobs({ isRepeated, repeatedForMs: 2000 });
    written.onRequest("k", "a");
    answer("ok");
    clock.advance(1999);
    written.onRequest("k", "a2");
    expect(reported).toEqual(["a ok after 0"]);
    expect(tries).toHaveLength(1);
    written.onRequest("k", "b");
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "b"]);
  });

  test.each<[Outcome, number]>([
    ["ok", 2000],
    ["refused", 0],
  ])("is attempted if the earlier ended %s %i ms ago", (outcome, agoMs) => {
    const { clock, tries, written, answer } = jobs({ isRepeated, repeatedForMs: 2000 });
    written.onRequest("k", "a");
    answer(outcome);
    clock.advance(agoMs);
    written.onRequest("k", "a2");
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "a2"]);
  });

  test("is attempted after the shard had another owner", () => {
    const { tries, written, answer } = jobs({ isRepeated, repeatedForMs: 2000 });
    written.onRequest("k", "a");
    answer("ok");
    written.drop(() => true);
    written.onRequest("k", "a2");
    expect(tries).toHaveLength(2);
  });

  test.each<Outcome>(["ok", "gone"])("is done with the one under way when that ended %s", (outcome) => {
    const { clock, tries, reported, written, answer } = jobs({ isRepeated });
    written.onRequest("k", "a");
    written.onRequest("k", "again");
    answer(outcome);
    clock.advance(60_000);
    expect(tries).toHaveLength(1);
    expect(reported).toEqual([`a ${outcome} after 0`]);
    expect(written.size).toBe(0);
  });

  test.each<Outcome>(["refused", "failed", "conflict"])("is attempted when the one under way ended %s", (outcome) => {
    const { clock, tries, written, answer } = jobs({ isRepeated });
    written.onRequest("k", "a");
    written.onRequest("k", "again");
    answer(outcome);
    clock.advance(10_000);
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "again"]);
  });

  test("is not confused with one for another change", () => {
    const { clock, tries, written, answer } = jobs({ isRepeated });
    written.onRequest("k", "a");
    written.onRequest("k", "b");
    answer("ok");
    clock.advance(0);
    expect(tries.map(({ ask }) => ask)).toEqual(["a", "b"]);
  });
});

test("late attempts are repeated with growing pauses and are no failures", () => {
  const { clock, tries, written, answer } = jobs();
  written.onRequest("k", "a");
  for (let attempt = 0; attempt < 9; attempt++) {
    answer("failed", { isLate: true });
    clock.advance(10_000);
  }
  const pauses = tries.slice(1).map(({ atMs }, index) => atMs - index * 10_000);
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  expect(tries.some(({ hasFailed }) => hasFailed)).toBe(false);
});

test("a late attempt lengthens the pause after a failure", () => {
  const { clock, tries, written, answer } = jobs();
  written.onRequest("k", "a");
  answer("failed");
  clock.advance(100);
  answer("failed", { isLate: true });
  clock.advance(200);
  answer("failed");
  clock.advance(400);
  expect(tries.map(({ atMs }) => atMs)).toEqual([0, 100, 300, 700]);
});
