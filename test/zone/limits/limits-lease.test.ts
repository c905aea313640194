/** For how long the Lease of limits counts as held on a side of the bus, by the messages that say so. */
import { expect, test } from "vitest";
import { LimitsLease } from "../../../services/zone/limits/limits-lease.ts";

const held = { source: "pod-writer@a", body: { isHeld: true, holder: "a" } };
const notHeld = { source: "pod-writer@a", body: { isHeld: false, holder: "z" } };
const ofAnother = { source: "pod-writer@b", body: { isHeld: false, holder: "a" } };

/** The Lease after these messages, a second apart from 0 on; each counts for three seconds. */
function after(...messages: readonly (typeof held | null)[]): LimitsLease {
  const lease = new LimitsLease(3000);
  for (const [second, message] of messages.entries()) if (message !== null) lease.onLease(message, second * 1000);
  return lease;
}

test.each([
  ["never heard of", after(), 0, 0, false],
  ["held just now", after(held), 0, 0, true],
  ["held for less than the wait", after(held, held, held), 2000, 2001, false],
  ["held for the whole wait", after(held, held, held), 2000, 2000, true],
  ["last heard of just below three seconds ago", after(held), 2999, 0, true],
  ["last heard of three seconds ago", after(held), 3000, 0, false],
  ["held again after a gap", after(held, null, null, held), 3000, 1, false],
  ["given up by its holder", after(held, notHeld), 1000, 0, false],
  ["not held by another publisher", after(held, ofAnother), 1000, 1000, true],
])("%s", (_case, lease, nowMs, forMs, expected) => {
  expect(lease.isHeldFor(forMs, nowMs)).toBe(expected);
});

test.each([
  [after(), "no process is known to hold the Lease kube-system/vigil-limits"],
  [after(notHeld), "z holds it, and its permits are not received here"],
  [after(held), "permits of its last holder may still be used"],
])("the reason for no permit: %#", (lease, detail) => {
  expect(lease.block(0)).toMatchObject({ policy: "", field: "the Lease vigil-limits", detail });
});
