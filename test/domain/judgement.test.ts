/** When a node's judgement contradicts its observation. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { TaintKey } from "../../protocols/names.ts";
import { NO_POLICIES } from "../../protocols/policy-set.ts";
import { contradicts, isUnhealthy, type JudgedBy } from "../../services/domain/judgement.ts";
import { zoneKeyOf } from "../../services/domain/zone-key.ts";
import { HandPolicies, type PolicyFields } from "../support/hand-policies.ts";
import { judgedNode, noExecute, observedNode } from "../support/observed-objects.ts";

const UNREACHABLE = TaintKey.unreachable;
const TAINT: JudgedBy = { evictionMode: "taint", policies: NO_POLICIES };
const DIRECT: JudgedBy = { ...TAINT, evictionMode: "direct" };

test("another status, uid, zone or exclusion contradicts the API", () => {
  const observed = observedNode("a", { ready: "Unknown" });
  const judged = judgedNode("a", { ready: "Unknown" });
  expect(contradicts(judged, observed, TAINT)).toBe(false);
  expect(contradicts(judged, observedNode("a"), TAINT)).toBe(true);
  expect(contradicts(judged, { ...observed, uid: "other" }, TAINT)).toBe(true);
  const moved = { ...observed, labels: { "topology.kubernetes.io/zone": "z2" } };
  expect(contradicts(judged, moved, TAINT)).toBe(true);
  const excluded = { ...observed, labels: { "node.kubernetes.io/exclude-disruption": "" } };
  expect(contradicts(judged, excluded, TAINT)).toBe(true);
});

test("evicted without our taint, or the reverse, is a contradiction in taint mode", () => {
  const bare = observedNode("a", { ready: "Unknown" });
  const tainted = observedNode("a", { ready: "Unknown", taints: [noExecute(UNREACHABLE)] });
  const foreign = observedNode("a", { ready: "Unknown", taints: [noExecute("foreign")] });
  const [waits, evicted] = (["toBeEvicted", "evicted"] as const).map((eviction) =>
    judgedNode("a", { ready: "Unknown", eviction }),
  );
  if (waits === undefined || evicted === undefined) throw new RangeError("expected two judgements");
  expect(contradicts(evicted, bare, TAINT)).toBe(true);
  expect(contradicts(waits, tainted, TAINT)).toBe(true);
  expect(contradicts(evicted, foreign, TAINT)).toBe(true);
  expect(contradicts(evicted, tainted, TAINT)).toBe(false);
  expect(contradicts(evicted, bare, DIRECT)).toBe(false);
});

test("another policy or another disruption domain of the zone contradicts the policies", () => {
  const observed = observedNode("a", { labels: { "topology.kubernetes.io/zone": "a" } });
  const zone = zoneKeyOf(observed.labels);
  const by = (fields: PolicyFields | null): JudgedBy => ({ ...TAINT, policies: new HandPolicies(fields).current() });
  const domain = `${zone}\u0000@pool`;
  const cases: readonly [PolicyFields | null, Partial<BodyOf<"judged.node">>, boolean][] = [
    [null, {}, false],
    [null, { policy: "pool" }, true],
    [null, { policy: "pool", zone: domain }, true],
    [{}, {}, true],
    [{}, { policy: "pool" }, false],
    [{}, { policy: "pool", zone: domain }, true],
    [{ nodeEvictionRate: 1 }, {}, true],
    [{ nodeEvictionRate: 1 }, { policy: "pool" }, true],
    [{ nodeEvictionRate: 1 }, { policy: "pool", zone: domain }, false],
    [{}, { conflict: ["pool", "other"] }, true],
  ];
  for (const [fields, judged, isContradicting] of cases)
    expect(contradicts(judgedNode("a", { zone, ...judged }), observed, by(fields)), JSON.stringify(judged)).toBe(
      isContradicting,
    );
});

test("while the policies are not known, only the zone is compared", () => {
  const observed = observedNode("a", { labels: { "topology.kubernetes.io/zone": "a" } });
  const unknown: JudgedBy = { ...TAINT, policies: null };
  const judged = judgedNode("a", { zone: `${zoneKeyOf(observed.labels)}\u0000@pool`, policy: "pool" });
  expect(contradicts(judged, observed, unknown)).toBe(false);
  expect(contradicts({ ...judged, zone: "r:\u0000:b" }, observed, unknown)).toBe(true);
});

const NO_EXECUTE = { type: "GpuLost", taint: { key: "vigil.io/gpu-lost", effect: "NoExecute" } };

test.each<[string, Partial<BodyOf<"judged.node">>, boolean]>([
  ["ready", {}, false],
  ["starting", { readiness: "starting", ready: null }, false],
  ["NotReady", { readiness: "notReady", ready: "False" }, true],
  ["unknown", { readiness: "unknown", ready: "Unknown" }, true],
  ["ready, with a condition that is due", { conditions: [{ ...NO_EXECUTE, state: "due" }] }, true],
  ["ready, with a condition that waits", { conditions: [{ ...NO_EXECUTE, state: "waiting" }] }, false],
])("a node that is %s counts as unhealthy or not", (_what, judged, expected) => {
  expect(isUnhealthy(judgedNode("a", judged))).toBe(expected);
});
