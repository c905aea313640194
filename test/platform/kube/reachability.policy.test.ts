/** Whether a process reaches the API server, on both sides of each boundary. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  afterAnswer,
  afterFailure,
  afterSuspension,
  isAnswered,
  isCutOff,
  RECOVERY_MS,
  type Reachability,
  reachabilityAtStart,
  reviewDueMs,
  reviewed,
} from "../../../services/platform/kube/transport/reachability.policy.ts";

const BLIND_MS = 10_000;
const START = reachabilityAtStart(0);

/** Whether it is able at an instant, if nothing happened since. */
const ableAt = (known: Reachability, nowMs: number) => reviewed(known, nowMs, BLIND_MS).able;

test.each([
  [200, true],
  [400, true],
  [403, true],
  [404, true],
  [409, true],
  [410, true],
  [422, true],
  [429, true],
  [401, false],
  [500, false],
  [502, false],
  [503, false],
  [504, false],
])("a status of %i counts as answered: %s", (status, expected) => {
  expect(isAnswered(status)).toBe(expected);
});

test("a process is able until its requests have failed for as long as watchBlindMs", () => {
  const failing = afterFailure(afterFailure(START, 1_000), 6_000);
  expect([ableAt(failing, 10_999), ableAt(failing, 11_000)]).toEqual([true, false]);
  expect(reviewDueMs(failing, BLIND_MS)).toBe(11_000);
});

test("a failure counts from when its request was sent, in any order of failures", () => {
  const failing = afterFailure(afterFailure(START, 6_000), 1_000);
  expect(failing.failingSinceMs).toBe(1_000);
});

test("an answer ends the failures; later ones of earlier requests are ignored", () => {
  const answered = afterAnswer(afterFailure(START, 1_000), 9_000);
  expect(ableAt(answered, 60_000)).toBe(true);
  expect(afterFailure(answered, 8_999)).toBe(answered);
  expect(afterFailure(answered, 9_000).failingSinceMs).toBe(9_000);
});

test("five seconds of answers make a process able again; a failure restarts them", () => {
  const cutOff = reviewed(afterFailure(START, 1_000), 11_000, BLIND_MS);
  const recovering = afterAnswer(afterAnswer(cutOff, 20_000), 22_000);
  expect(ableAt(recovering, 20_000 + RECOVERY_MS - 1)).toBe(false);
  expect(ableAt(recovering, 20_000 + RECOVERY_MS)).toBe(true);
  const again = afterAnswer(afterFailure(recovering, 23_000), 24_000);
  expect(ableAt(again, 24_000 + RECOVERY_MS - 1)).toBe(false);
  expect(ableAt(again, 24_000 + RECOVERY_MS)).toBe(true);
});

test("requests are sent again from the first answer on", () => {
  const cutOff = reviewed(afterFailure(START, 1_000), 11_000, BLIND_MS);
  expect([isCutOff(START), isCutOff(afterFailure(START, 1_000)), isCutOff(cutOff)]).toEqual([false, false, true]);
  expect(isCutOff(afterAnswer(cutOff, 12_000))).toBe(false);
});

test("a standstill of the process counts neither as failure nor as answer", () => {
  const woken = afterSuspension(afterFailure(START, 1_000), 90_000);
  expect([ableAt(woken, 99_999), ableAt(woken, 100_000)]).toEqual([true, false]);
  expect(afterFailure(afterSuspension(START, 90_000), 2_000).failingSinceMs).toBeNull();
  const recovering = afterAnswer(reviewed(afterFailure(START, 1_000), 11_000, BLIND_MS), 20_000);
  expect(ableAt(afterSuspension(recovering, 90_000), 94_999)).toBe(false);
});

test("only long failures make a process unable, and only steady answers able again", () => {
  const event = fc.record({ isAnswer: fc.boolean(), afterMs: fc.integer({ min: 1, max: 15_000 }) });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      let known = START;
      let nowMs = 0;
      let lastAnswerMs = 0;
      let lastFailureMs = Number.NEGATIVE_INFINITY;
      for (const { isAnswer, afterMs } of events) {
        const wasAble = known.able;
        nowMs += afterMs;
        known = reviewed(known, nowMs, BLIND_MS);
        if (wasAble && !known.able) expect(nowMs - lastAnswerMs).toBeGreaterThanOrEqual(BLIND_MS);
        if (!wasAble && known.able) expect(nowMs - lastFailureMs).toBeGreaterThanOrEqual(RECOVERY_MS);
        known = isAnswer ? afterAnswer(known, nowMs) : afterFailure(known, nowMs);
        if (isAnswer) lastAnswerMs = nowMs;
        else lastFailureMs = nowMs;
        expect(known.failingSinceMs === null).toBe(isAnswer);
      }
    }),
  );
});
