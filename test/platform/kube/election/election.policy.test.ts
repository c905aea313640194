/** The rules of an election: whose Lease may be taken when, and what is written. */
import { describe, expect, test } from "vitest";
import {
  afterSeeing,
  attemptPauseMs,
  claimedSpec,
  type ElectionLease,
  electionLeaseOf,
  holderOf,
  identityOf,
  memberOf,
  releasedSpec,
  takeDueMs,
} from "../../../../services/platform/kube/election/election.policy.ts";

const WALL_MS = Date.UTC(2026, 0, 1, 12);
const NOW = "2026-01-01T12:00:00.000000Z";
const EARLIER = "2026-01-01T11:59:58.000000Z";
const CLAIM = { identity: "me_1", leaseDurationMs: 15_000, wallMs: WALL_MS };

function lease(spec: Readonly<Record<string, unknown>> = {}, resourceVersion = "7"): ElectionLease {
  const held = { holderIdentity: "other_1", leaseDurationSeconds: 15, renewTime: EARLIER, leaseTransitions: 4 };
  return { metadata: { name: "vigil", resourceVersion }, spec: { ...held, ...spec } };
}

describe("a Lease may be taken", () => {
  test.each([
    ["15 s after its record changed, by the record's duration", {}, 16_000],
    ["by the duration in the record, not by one's own", { leaseDurationSeconds: 30 }, 31_000],
    ["by one's own duration where the record has none", { leaseDurationSeconds: null }, 16_000],
    ["by one's own duration where the record has none that is possible", { leaseDurationSeconds: -1 }, 16_000],
    ["at once when it was released", { holderIdentity: "", leaseDurationSeconds: 1 }, 1_000],
    ["at once when it never had a holder", { holderIdentity: undefined }, 1_000],
    ["at once when it is one's own", { holderIdentity: "me_1" }, 1_000],
    ["not at once when it belongs to an earlier process of one's name", { holderIdentity: "me_0" }, 16_000],
    ["without a look at its renewTime, however old", { renewTime: "1970-01-01T00:00:00.000000Z" }, 16_000],
    ["without a look at its renewTime, however new", { renewTime: "2099-01-01T00:00:00.000000Z" }, 16_000],
  ])("%s", (_when, spec, dueMs) => {
    expect(takeDueMs({ lease: lease(spec), unchangedSinceMs: 1_000 }, CLAIM)).toBe(dueMs);
  });
});

describe("a record counts as unchanged", () => {
  const seen = afterSeeing(null, lease(), 1_000);
  test.each([
    ["from when it was first seen", lease(), 1_000],
    ["when only its metadata changed", lease({}, "8"), 1_000],
    ["from a renewal on", lease({ renewTime: NOW }), 5_000],
    ["from another holder on", lease({ holderIdentity: "third_1" }), 5_000],
  ])("%s", (_when, later, sinceMs) => {
    expect(afterSeeing(seen, later, 5_000)).toEqual({ lease: later, unchangedSinceMs: sinceMs });
  });
});

describe("the record of", () => {
  const mine = { holderIdentity: "me_1", leaseDurationSeconds: 15, renewTime: NOW };
  test.each([
    ["the first leader", null, { ...mine, acquireTime: NOW, leaseTransitions: 0 }],
    ["the next leader counts a transition", lease(), { ...mine, acquireTime: NOW, leaseTransitions: 5 }],
    [
      "a renewal counts none",
      lease({ holderIdentity: "me_1", acquireTime: EARLIER }),
      { ...mine, acquireTime: EARLIER, leaseTransitions: 4 },
    ],
    [
      "a leader keeps the fields of others",
      lease({ strategy: "OldestEmulationVersion" }),
      { ...mine, acquireTime: NOW, leaseTransitions: 5, strategy: "OldestEmulationVersion" },
    ],
  ])("%s", (_what, before, spec) => {
    expect(claimedSpec(before, CLAIM)).toEqual(spec);
  });

  test("a duration with a fraction is rounded up", () => {
    expect(claimedSpec(null, { ...CLAIM, leaseDurationMs: 1_200 }).leaseDurationSeconds).toBe(2);
  });

  test("a release has no holder and ends after a second, as client-go's", () => {
    expect(releasedSpec(lease({ holderIdentity: "me_1" }), WALL_MS)).toEqual({
      holderIdentity: "",
      leaseDurationSeconds: 1,
      acquireTime: NOW,
      renewTime: NOW,
      leaseTransitions: 4,
    });
  });
});

test("a candidate pauses for 1 to 2.2 retry periods", () => {
  expect(attemptPauseMs({ retryPeriodMs: 2_000 }, () => 0)).toBe(2_000);
  expect(attemptPauseMs({ retryPeriodMs: 2_000 }, () => 0.5)).toBe(3_200);
});

test("an answer that is no Lease is none", () => {
  expect(electionLeaseOf({ kind: "Status" })).toBeNull();
  expect(electionLeaseOf("a proxy's page")).toBeNull();
});

test("managed fields are not written back", () => {
  const raw = { metadata: { resourceVersion: "7", managedFields: [{}] }, spec: { holderIdentity: "" } };
  const read = electionLeaseOf(raw);
  expect(read).toEqual({ metadata: { resourceVersion: "7" }, spec: { holderIdentity: "" } });
  expect(read && holderOf(read)).toBeNull();
});

test("an identity names its member, and no other process of that name", () => {
  const values = [0.25, 0.5, 0.75, 0.125];
  const random = () => values.shift() ?? 0;
  const [first, second] = [identityOf("vigil_0-x", random), identityOf("vigil_0-x", random)];
  expect(first).not.toBe(second);
  expect([memberOf(first), memberOf(second)]).toEqual(["vigil_0-x", "vigil_0-x"]);
});
