/** A node's taints after a grant: the zone's request through the node-writer's decision. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import { decideTaints } from "../../services/node-writer/node-writer.policy.ts";
import { taintRemovalRequest, taintRequest } from "../../services/zone/zone.policy.ts";
import { EVICTING, EvictionWorld, NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";
import { observedNode } from "../support/observed-objects.ts";

const NOW = Date.UTC(2026, 0, 1, 12);
const isOurs = ({ key, effect }: Taint) => effect === "NoExecute" && (key === NOT_READY || key === UNREACHABLE);

/** The node's taints after a request. They are unchanged when nothing is written. */
function after(node: ObservedNode, request: ReturnType<typeof taintRequest>): readonly Taint[] {
  const decision = request === null ? null : decideTaints(request, node, NOW);
  if (decision === null || decision.kind !== "write") return node.taints;
  const { spec } = decision.body as { spec: { taints: Taint[] | null } };
  return spec.taints ?? [];
}

const taint = fc.record(
  {
    key: fc.constantFrom(NOT_READY, UNREACHABLE, "maintenance", "node.kubernetes.io/out-of-service"),
    effect: fc.constantFrom("NoExecute", "NoSchedule"),
    value: fc.constantFrom("x", "y"),
    timeAdded: fc.constantFrom("2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"),
  },
  { requiredKeys: ["key", "effect"] },
);
const taints = fc.uniqueArray(taint, { selector: ({ key, effect }) => `${key}:${effect}` });

test("a grant leaves exactly our right taint, and foreign ones as they were (P3, P4)", () => {
  fc.assert(
    fc.property(taints, fc.constantFrom<"False" | "Unknown">("False", "Unknown"), (before, ready) => {
      const node = observedNode("a", { ready, taints: before });
      const left = after(node, taintRequest(node));
      expect(left.filter(isOurs).map(({ key }) => key)).toEqual([ready === "False" ? NOT_READY : UNREACHABLE]);
      expect(left.filter((each) => !isOurs(each))).toEqual(before.filter((each) => !isOurs(each)));
    }),
  );
});

test("healing leaves none of our taints, and foreign ones as they were (P4)", () => {
  fc.assert(
    fc.property(taints, (before) => {
      const node = observedNode("a", { ready: "Unknown", taints: before });
      expect(after(node, taintRemovalRequest(node))).toEqual(before.filter((each) => !isOurs(each)));
    }),
  );
});

test("in shadow mode each node is granted once, at the zone's rate, without a write", () => {
  const world = new EvictionWorld();
  const nodes = world.addZone("a", 8);
  for (const name of nodes) world.addTolerantPod(name, `pod-${name}`);
  world.start(EVICTING, { isShadow: true });
  world.advance(10_000);
  for (const name of nodes.slice(0, 3)) world.kubelet(name).report("Ready", "Unknown");
  world.advance(300_000);
  const grants = world.published("asked.taint").filter(({ body }) => body.why === "granted");
  expect(grants.map(({ body }) => body.node).sort()).toEqual(nodes.slice(0, 3));
  expect(grants.map(({ atMs }) => Math.round(atMs / 1000))).toEqual([10, 20, 30]);
  expect(world.tainted).toEqual([]);
});

test("a late refund does not advance the next grant (P5)", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, pulsePeriodMs: 1000, pulseTimeoutMs: 4000 });
  world.addZone("a", 8);
  world.run();
  world.advance(10_000);
  world.api.faults.add({
    fault: { kind: "latency", requestMs: 1500 },
    when: ({ verb, name, body }) => verb === "patch" && name === "a-0" && body?.includes("NoExecute") === true,
    times: 1,
  });
  for (const name of ["a-0", "a-1", "a-2"]) world.kubelet(name).report("Ready", "False");
  world.advance(500);
  world.kubelet("a-0").report("Ready", "Unknown");
  world.advance(10_000);
  const taintedMs = world.tainted.map(({ atMs }) => atMs);
  expect(taintedMs).toHaveLength(3);
  for (const [index, atMs] of taintedMs.slice(1).entries()) {
    expect(atMs - (taintedMs[index] ?? 0)).toBeGreaterThanOrEqual(999);
  }
});
