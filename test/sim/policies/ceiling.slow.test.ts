/** Policies of an attacker over generated runs: no more Ready nodes are tainted than the operator's ceiling allows. */
import { expect, test } from "vitest";
import { type Disturbance, playAttack } from "./attack.stage.ts";

test.each<[number, Disturbance]>([
  [1, "nothing"],
  [2, "deaths"],
  [3, "splits"],
  [4, "deaths"],
  [5, "splits"],
  [6, "relaunches"],
])("policies of seed %i with %s harm no node beyond the ceiling", (seed, disturbance) => {
  const { problem, sometimes } = playAttack(seed, disturbance);
  expect(problem).toBeNull();
  expect(sometimes["Ready node tainted under the ceiling"]).toBeGreaterThan(0);
  expect(sometimes["ceiling on policies reached"]).toBeGreaterThan(0);
});
