/** The bucket that the next owner of a zone recovers, after random histories on virtual time. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { expectNoBurst } from "./rate.expectations.ts";
import { ILL_ZONE, type StageOptions, type ZoneProcess, ZoneStage } from "./zone-stage.ts";

const S = 1000;
const PULSE_MS = 5 * S;
const WAITING = 30;
/** API times are truncated to seconds, and the request of an unknown owner may be under way for a while. */
const UNKNOWN_MS = 1 * S + 5 * S;
const ROUNDING = 1e-3;

type Outcome = "ok" | "refused" | "failed" | "unknown";
interface History {
  readonly perSecond: number;
  /** Pauses; some end with a taint that no zone requested. */
  readonly pauses: readonly { readonly pauseMs: number; readonly endsWithTaint: boolean }[];
  /** How the requests end, in order and then from the first again. */
  readonly requests: readonly { readonly latencyMs: number; readonly outcome: Outcome }[];
}

const historyOf = (outcomes: readonly Outcome[], latencies: readonly number[], taints: readonly boolean[]) =>
  fc.record({
    perSecond: fc.constantFrom(0.05, 0.1, 1),
    pauses: fc.array(
      fc.record({ pauseMs: fc.integer({ min: 0, max: 15 * S }), endsWithTaint: fc.constantFrom(...taints) }),
      { maxLength: 8 },
    ),
    requests: fc.array(fc.record({ latencyMs: fc.constantFrom(...latencies), outcome: fc.constantFrom(...outcomes) }), {
      minLength: 1,
      maxLength: 6,
    }),
  });
const anyHistory = historyOf(["ok", "ok", "refused", "failed", "unknown"], [0, 300, 4 * S], [false, false, true]);
const plainHistory = historyOf(["ok"], [0, 300], [false]);

function staged({ perSecond, requests }: History): ZoneStage {
  const carry: StageOptions["carry"] = (_node, nth) => requests[nth % requests.length] ?? { latencyMs: 0 };
  const stage = new ZoneStage({ waiting: WAITING, carry, profile: { nodeEvictionsPerSecond: perSecond } });
  // Keeps grants off the instants at which buckets are announced.
  stage.advance(137);
  return stage;
}

/** Plays the history until the owner has just announced its bucket. */
function liveThrough(stage: ZoneStage, { pauses }: History): void {
  for (const [index, { pauseMs, endsWithTaint }] of pauses.entries()) {
    stage.advance(pauseMs);
    if (endsWithTaint) stage.taintUnrequested(`n-${WAITING - 1 - index}`);
  }
  stage.advance(PULSE_MS - (stage.clock.monotonicMs() % PULSE_MS));
}

const announcedBy = (stage: ZoneStage, member: string): number[] =>
  stage.announced.flatMap(({ zone, source, tokens }) =>
    zone === ILL_ZONE && source === `zone@${member}` ? [tokens] : [],
  );

/** The tokens that the owner has just announced. */
const lastTokens = (stage: ZoneStage, member: string): number => announcedBy(stage, member).at(-1) ?? Number.NaN;

/** Has a process take over the zone. Returns the tokens it recovered; it spends a whole one at once. */
function takenOver(stage: ZoneStage, next: ZoneProcess): number {
  const granted = stage.granted.length;
  next.own(true);
  stage.advance(0);
  const [tokens = Number.NaN] = announcedBy(stage, "two");
  return stage.granted.length > granted ? tokens + 1 : tokens;
}

/** Kills the owner and starts another process after `downMs`. Returns the tokens that each has at the end. */
function restarted(stage: ZoneStage, one: ZoneProcess, { perSecond }: History, downMs: number) {
  const before = lastTokens(stage, "one");
  one.kill();
  stage.advance(downMs);
  const recovered = takenOver(stage, stage.start("two"));
  return { died: Math.min(1, before + (perSecond * downMs) / S), recovered };
}

test("a process that received the last announcement continues its bucket exactly", () => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const stage = staged(history);
      const [one, two] = [stage.start("one"), stage.start("two")];
      one.own(true);
      liveThrough(stage, history);
      const died = lastTokens(stage, "one");
      one.kill();
      expect(takenOver(stage, two)).toBeCloseTo(died, 6);
    }),
    { numRuns: 60 },
  );
});

test("a process without announcements recovers the bucket up to one token", () => {
  fc.assert(
    fc.property(anyHistory, fc.integer({ min: 0, max: 12 * S }), (history, downMs) => {
      const stage = staged(history);
      const one = stage.start("one");
      one.own(true);
      liveThrough(stage, history);
      const { died, recovered } = restarted(stage, one, history, downMs);
      expect(Math.abs(recovered - died)).toBeLessThanOrEqual(1 + ROUNDING);
    }),
    { numRuns: 60 },
  );
});

test("when every grant has landed it recovers no more, and little less", () => {
  fc.assert(
    fc.property(plainHistory, fc.integer({ min: 300, max: 12 * S }), (history, downMs) => {
      const stage = staged(history);
      const one = stage.start("one");
      one.own(true);
      liveThrough(stage, history);
      const { died, recovered } = restarted(stage, one, history, downMs);
      expect(recovered).toBeLessThanOrEqual(died + ROUNDING);
      expect(recovered).toBeGreaterThanOrEqual(died - (history.perSecond * UNKNOWN_MS) / S - ROUNDING);
    }),
    { numRuns: 60 },
  );
});

test("taints keep the rate over a restart when all requests take equally long", () => {
  const latencies = fc.constantFrom(0, 300, 4 * S);
  fc.assert(
    fc.property(plainHistory, latencies, fc.integer({ max: 12 * S, min: 0 }), (history, latencyMs, downMs) => {
      const even = { ...history, requests: [{ latencyMs, outcome: "ok" as const }] };
      const stage = staged(even);
      const one = stage.start("one");
      one.own(true);
      for (const { pauseMs } of even.pauses) stage.advance(pauseMs);
      one.kill();
      stage.advance(downMs);
      stage.start("two").own(true);
      stage.advance(100 * S);
      expectNoBurst(stage.landed, even.perSecond);
    }),
    { numRuns: 60 },
  );
});
