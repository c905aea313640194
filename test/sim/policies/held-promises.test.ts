/** Whether "until, at the earliest" that was not the end is found, and one that was is not. */
import { expect, test } from "vitest";
import { apiTime } from "../../../services/domain/api-time.ts";
import { type Sentence, sentence } from "../../../services/ledger/explain/sentences.ts";
import { BrokenInvariant } from "../invariants.ts";
import { HeldPromises } from "./held-promises.ts";

const S = 1000;
const FROM_MS = Date.UTC(2026, 0, 1, 12);

type Answers = readonly (readonly [atS: number, untilS: number | null])[];

function held(untilS: number): Sentence {
  const at = apiTime(FROM_MS + untilS * S);
  return sentence("queueHeldUntil", { field: "budgets", whose: "NodePolicy gpu", at, detail: "one node is down" });
}

/**
 * Checks a node that explain calls blocked until these instants; null for not blocked. An event may precede a check.
 */
function looking(answers: Answers, changedBefore = -1): () => void {
  return () => {
    let now: readonly [atS: number, untilS: number | null] = [0, null];
    const promises = new HeldPromises({
      nowMs: () => FROM_MS + now[0] * S,
      nodes: () => ["n-1"],
      explaining: () => [{ name: "p1", ledger: { explainNode: () => explanation(now[1]) } }],
    });
    for (const [index, answer] of answers.entries()) {
      now = answer;
      if (index === changedBefore) promises.changed();
      promises.look();
    }
  };
}

function explanation(untilS: number | null) {
  const facts = untilS === null ? [] : [held(untilS)];
  return { sentences: [], names: [], facts, timeline: [] };
}

test.each<[string, Answers, number?]>([
  [
    "is over in time",
    [
      [0, 40],
      [41, null],
    ],
  ],
  [
    "is known to be over a moment later",
    [
      [0, 40],
      [46, 60],
    ],
  ],
  [
    "moves before it is over",
    [
      [0, 40],
      [30, 60],
    ],
  ],
  [
    "comes earlier",
    [
      [0, 40],
      [20, 30],
    ],
  ],
  [
    "is of an earlier hold",
    [
      [0, 40],
      [42, null],
      [50, 60],
    ],
  ],
  [
    "is answered again after something happened",
    [
      [0, 40],
      [50, 60],
    ],
    1,
  ],
])("an instant that %s is kept", (_what, answers, changedBefore) => {
  expect(looking(answers, changedBefore)).not.toThrow();
});

test("an instant that was the end of one hold is not kept", () => {
  expect(
    looking([
      [0, 40],
      [50, 60],
    ]),
  ).toThrow(BrokenInvariant);
});
