/** When a node's judgement contradicts its observation. */
import { expect, test } from "vitest";
import { TaintKey } from "../../protocols/names.ts";
import { contradicts } from "../../services/domain/judgement.ts";
import { judgedNode, noExecute, observedNode } from "../support/observed-objects.ts";

const UNREACHABLE = TaintKey.unreachable;

test("another status, uid, zone or exclusion contradicts the API", () => {
  const observed = observedNode("a", { ready: "Unknown" });
  const judged = judgedNode("a", { ready: "Unknown" });
  expect(contradicts(judged, observed, "taint")).toBe(false);
  expect(contradicts(judged, observedNode("a"), "taint")).toBe(true);
  expect(contradicts(judged, { ...observed, uid: "other" }, "taint")).toBe(true);
  const moved = { ...observed, labels: { "topology.kubernetes.io/zone": "z2" } };
  expect(contradicts(judged, moved, "taint")).toBe(true);
  const excluded = { ...observed, labels: { "node.kubernetes.io/exclude-disruption": "" } };
  expect(contradicts(judged, excluded, "taint")).toBe(true);
});

test("evicted without our taint, or the reverse, is a contradiction in taint mode", () => {
  const bare = observedNode("a", { ready: "Unknown" });
  const tainted = observedNode("a", { ready: "Unknown", taints: [noExecute(UNREACHABLE)] });
  const foreign = observedNode("a", { ready: "Unknown", taints: [noExecute("foreign")] });
  const [waits, evicted] = (["toBeEvicted", "evicted"] as const).map((eviction) =>
    judgedNode("a", { ready: "Unknown", eviction }),
  );
  if (waits === undefined || evicted === undefined) throw new RangeError("expected two judgements");
  expect(contradicts(evicted, bare, "taint")).toBe(true);
  expect(contradicts(waits, tainted, "taint")).toBe(true);
  expect(contradicts(evicted, foreign, "taint")).toBe(true);
  expect(contradicts(evicted, tainted, "taint")).toBe(false);
  expect(contradicts(evicted, bare, "direct")).toBe(false);
});
