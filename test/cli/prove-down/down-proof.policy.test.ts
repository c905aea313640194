/** Of which nodes it may be said that they are off: a table with both sides of each boundary. */
import { expect, test } from "vitest";
import { type LiveNode, proofRefusal, provedAt } from "../../../services/cli/prove-down/prove-down.ts";

const NOW = Date.UTC(2026, 0, 1);
const GRACE_MS = 50_000;
const DEAD: LiveNode = { name: "n", ready: "Unknown", provableFrom: NOW - 60_000, leaseRenewedAt: NOW - 110_000 };

test.each<[string, Partial<LiveNode>, string | null]>([
  ["that is Unknown and silent", {}, null],
  ["without a lease", { leaseRenewedAt: null }, null],
  ["that is Ready", { ready: "True", provableFrom: null }, "node n is alive: its Ready condition is True"],
  [
    "that is Ready, whatever its lease",
    { ready: "True", leaseRenewedAt: null },
    "node n is alive: its Ready condition",
  ],
  ["whose lease was renewed within its grace", { leaseRenewedAt: NOW - GRACE_MS + 1 }, "renewed its lease 50 s ago"],
  ["whose lease is as old as its grace", { leaseRenewedAt: NOW - GRACE_MS }, null],
  ["whose clock is ahead", { leaseRenewedAt: NOW + 5_000 }, "renewed its lease just now"],
  [
    "that is NotReady",
    { ready: "False", provableFrom: null },
    "node n is not found silent yet: its Ready condition is False",
  ],
  ["without a status", { ready: null, provableFrom: null }, "it has no Ready condition; try again once it is Unknown"],
])("a node %s", (_what, fields, refusal) => {
  const found = proofRefusal({ ...DEAD, ...fields }, GRACE_MS, NOW);
  if (refusal === null) expect(found).toBeNull();
  else expect(found).toContain(refusal);
});

test.each([
  ["now", NOW - 5_000, NOW],
  ["after the second of the silence", NOW + 400, NOW + 400],
  ["never far in the future", NOW + 60_000, NOW + 1_000],
  ["now, without an instant", null, NOW],
])("a proof counts from %s", (_what, from, at) => {
  expect(provedAt(from, NOW)).toBe(at);
});
