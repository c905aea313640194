/** Both sides of each boundary of the decision that the path of leases is broken. */
import { expect, test } from "vitest";
import { isLeasePathBroken } from "../../services/observer/lease-path.policy.ts";

const GRACE_MS = 40_000;
const NOW_MS = 1_000_000;
const BROKEN = { leasedNodes: 60, renewedMs: NOW_MS - GRACE_MS, posted: 8, syncedMs: 0 };

test.each([
  ["after a whole grace", true, {}],
  ["just before it", false, { renewedMs: NOW_MS - GRACE_MS + 1 }],
  ["with three nodes", true, { leasedNodes: 3 }],
  ["with two nodes", false, { leasedNodes: 2 }],
  ["with two statuses", true, { posted: 2 }],
  ["with one status", false, { posted: 1 }],
  ["without a lease ever", false, { renewedMs: null }],
  ["while a watch is not synced", false, { syncedMs: null }],
  ["a whole grace after the watch is synced again", true, { syncedMs: NOW_MS - GRACE_MS }],
  ["sooner after that", false, { syncedMs: NOW_MS - GRACE_MS + 1 }],
])("%s: %s", (_, isBroken, heard) => {
  expect(isLeasePathBroken({ ...BROKEN, ...heard }, NOW_MS, GRACE_MS)).toBe(isBroken);
});
