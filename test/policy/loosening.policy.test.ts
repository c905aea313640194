/** Which changes of a policy only freeze, so that they count before the other source of freezes is confirmed. */
import { expect, test } from "vitest";
import { onlyFreezes } from "../../services/policy/loosening.policy.ts";

const ALICE = { name: "alice" };
const BOB = { name: "bob" };

function policy(spec: object) {
  return { name: "gpu", uid: "u", resourceVersion: "1", generation: 1, changedAt: 0, status: null, spec };
}

test.each<[string, object, object, boolean]>([
  ["to mode Freeze", { mode: "Enforce" }, { mode: "Freeze" }, true],
  ["to a mode that cannot be read", { mode: "Enforce" }, { mode: "Shadow" }, true],
  ["from mode Freeze", { mode: "Freeze" }, { mode: "Enforce" }, false],
  ["to no mode", { mode: "Freeze" }, {}, false],
  ["to the mode that counts without one", {}, { mode: "Enforce", pauseRequests: [ALICE] }, true],
  ["to one more request", { pauseRequests: [ALICE] }, { pauseRequests: [ALICE, BOB] }, true],
  ["to one request less", { pauseRequests: [ALICE, BOB] }, { pauseRequests: [ALICE] }, false],
  ["to another field too", {}, { mode: "Freeze", maxUnhealthy: 1 }, false],
])("a change %s", (_what, before, after, isOnlyFreezing) => {
  expect(onlyFreezes(policy(before), policy(after))).toBe(isOnlyFreezing);
});
