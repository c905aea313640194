/** Which nodes have concerns: idle features cost nothing on a node that no policy selects. */
import { describe, expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { NOTHING_FOUND, together } from "../../../services/node/concerns/concern.ts";
import { ServiceConcerns } from "../../../services/node/concerns/service-concerns.ts";
import { EvictionWorld } from "../../support/eviction-world.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { nodeWith } from "../node-fixtures.ts";

const IN_ZONE = { labels: { "topology.kubernetes.io/zone": "a" } };

function concernsWith(policies: HandPolicies, profile: Partial<Profile> = {}): ServiceConcerns {
  const world = new EvictionWorld();
  const ports = { bus: world.busOf("node", "here"), clock: world.clock, log: recordingLog() };
  return new ServiceConcerns(
    { ...ports, policies, profile: { ...STANDARD_PROFILE, ...profile } },
    { beganMs: 0, isHalted: () => false },
  );
}

function hasConcerns(fields: Partial<ObservedNode>, profile: Partial<Profile> = {}): boolean {
  return (
    concernsWith(new HandPolicies({ unhealthyDelay: "10s" }), profile).concernsFor(nodeWith("True", fields), null) !==
    null
  );
}

describe("concerns are made", () => {
  test.each<[string, Partial<ObservedNode>, boolean]>([
    ["for no node that no policy selects", {}, false],
    ["for a node that a policy selects", IN_ZONE, true],
    ["for a node on which a policy has left a record", { readyTransitionsAt: [0] }, true],
    ["for a node on which a policy has left a taint", { conditionTaints: { "a:NoSchedule": "B" } }, true],
  ])("%s", (_what, fields, isMade) => {
    expect(hasConcerns(fields)).toBe(isMade);
  });

  test("for every node under a breaker that holds readiness", () => {
    const breaker = { circuitBreakerNodesMax: 2, circuitBreakerHolds: "Evictions,Readiness" };
    expect(hasConcerns({}, breaker)).toBe(true);
  });

  test("while policies are not known, dropped if none selects it", () => {
    const policies = new HandPolicies(null);
    const concerns = concernsWith(policies);
    policies.forget();
    const waiting = concerns.concernsFor(nodeWith("True"), undefined);
    expect(waiting?.isKnown).toBe(false);
    policies.put(null);
    expect(concerns.concernsFor(nodeWith("True"), waiting)).toBeNull();
  });

  test("once for a node, as long as a policy selects it", () => {
    const policies = new HandPolicies({ nodeMonitorGracePeriod: "20s" });
    const concerns = concernsWith(policies);
    const first = concerns.concernsFor(nodeWith("True", IN_ZONE), null);
    expect(first?.graces.nodeMonitorGraceMs).toBe(20_000);
    policies.put({ nodeMonitorGracePeriod: "30s" });
    expect(concerns.concernsFor(nodeWith("True", IN_ZONE), first)).toBe(first);
    expect(first?.graces.nodeMonitorGraceMs).toBe(30_000);
  });
});

test("nothing found by several concerns is nothing", () => {
  const { taints, ...rest } = together([{}, {}]);
  const { taints: none, ...nothing } = NOTHING_FOUND;
  expect(rest).toEqual(nothing);
  expect([taints.add, taints.remove, taints.alone]).toEqual([none.add, none.remove, none.alone]);
});

test("of several findings the earliest review and the latest delay count", () => {
  const found = together([
    { nextMs: 20, evictableFromMs: 5, waitsFor: "sync" },
    { nextMs: 10, evictableFromMs: 7, waitsFor: "limits" },
  ]);
  expect(found).toMatchObject({ nextMs: 10, evictableFromMs: 7, waitsFor: new Set(["sync", "limits"]) });
});
