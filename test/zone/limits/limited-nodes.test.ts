/** Which states of a node are news to the limits of node policies. */
import { expect, test } from "vitest";
import type { EvictionStatus, Readiness } from "../../../protocols/judged.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import { Label } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { domainKeyOf, zoneKeyOf } from "../../../services/domain/zone-key.ts";
import { LimitedNodes } from "../../../services/zone/limits/limited-nodes.ts";
import { nodeWith } from "../../node/node-fixtures.ts";

const AT = { nowMs: 50_000, wallMs: 50_000 };

function taken() {
  const nodes = new LimitedNodes("taint");
  nodes.regroup(({ labels }) => [labels.pool ?? "none"], AT);
  return (readiness: Readiness, eviction: EvictionStatus = "unmarked", change: Partial<ObservedNode> = {}): boolean => {
    const ready = readiness === "ready" ? "True" : "Unknown";
    const observed = { ...nodeWith(ready), node: "n", uid: "u", ...change };
    const zone = zoneKeyOf(observed.labels);
    const judged = { node: "n", uid: "u", zone, eviction, readiness, ready } as BodyOf<"judged.node">;
    return nodes.onNode(observed, { observed, judged, shard: 0, cause: "" }, AT);
  };
}

test("a heartbeat of a node that is well is no news", () => {
  const take = taken();
  expect([take("ready"), take("ready"), take("ready", "unmarked", { resourceVersion: "2" })]).toEqual([
    true,
    false,
    false,
  ]);
});

test.each([
  ["its readiness", "unknown", "unmarked", {}],
  ["its pool", "ready", "unmarked", { labels: { pool: "gpu" } }],
  ["its identity", "ready", "unmarked", { uid: "v" }],
  ["that it waits for a grant", "unknown", "toBeEvicted", {}],
] as const)("%s is news", (_what, readiness, eviction, change) => {
  const take = taken();
  take("ready");
  expect(take(readiness, eviction, change)).toBe(true);
});

test("all policies together count only taints for conditions", () => {
  const nodes = new LimitedNodes("taint");
  nodes.regroup(() => ["", "*"], AT);
  const key = "vigil.io/broken";
  const conditionTaints = { [`${key}:NoExecute`]: "Broken" };
  const tainted = { taints: [{ key, effect: "NoExecute", value: "vigil" }], conditionTaints };
  const silent = { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }] };
  nodes.onNode({ ...nodeWith("Unknown"), node: "silent", uid: "u", ...silent }, null, AT);
  nodes.onNode({ ...nodeWith("True"), node: "ill", uid: "u", ...tainted }, null, AT);
  const [cluster, together] = ["", "*"].map((group) => nodes.group(group));
  expect([cluster?.admitted, cluster?.admissions.size, cluster?.unjudged]).toEqual([2, 2, 2]);
  expect([together?.admitted, together?.admissions.size, together?.unjudged]).toEqual([1, 1, 0]);
});

test("an admission seen before its node is judged counts in its zone", () => {
  const nodes = new LimitedNodes("taint");
  nodes.regroup(() => ["gpu"], AT);
  const labels = { [Label.zone]: "west" };
  const taints = [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" as const }];
  const domain = domainKeyOf(labels, nodePolicyOf("gpu", { selector: {}, nodeEvictionRate: 1 }));
  const take = (node: string, change: Partial<ObservedNode>, eviction: EvictionStatus | null): void => {
    const observed = { ...nodeWith("Unknown"), node, uid: "u", labels, ...change };
    const judged = {
      node,
      uid: "u",
      zone: domain,
      eviction,
      readiness: "unknown",
      ready: "Unknown",
    } as BodyOf<"judged.node">;
    nodes.onNode(observed, eviction === null ? null : { observed, judged, shard: 0, cause: "" }, AT);
  };
  take("admitted", { taints }, null);
  take("admitted", { taints }, "evicted");
  take("waits", {}, "toBeEvicted");
  const waits = nodes.node("waits");
  expect(nodes.group("gpu")?.admissions.lastIn(waits?.zone ?? "")).toBe(AT.nowMs);
  expect(waits?.domain).toBe(domain);
});

test("all of a node that waits is news, because a freeze may have ended", () => {
  const take = taken();
  expect([take("unknown", "toBeEvicted"), take("unknown", "toBeEvicted")]).toEqual([true, true]);
});
