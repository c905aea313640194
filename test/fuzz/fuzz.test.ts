/** Shows that no message and no object makes a service or a reader throw. */
import { expect, test } from "vitest";
import { fuzzRound } from "./fuzz.ts";

test.each([1, 2, 3, 4])("nothing throws at hostile messages and objects, seed %d", (seed) => {
  const { messages, admitted } = fuzzRound(seed, 400);
  expect(admitted).toBeGreaterThan(messages / 20);
  expect(admitted).toBeLessThan(messages);
});
