/** Invariants of any node, taints and rhythm of heartbeats: P1–P4 and P11. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CONDITION_TAINT_KEYS,
  FORCED_CONDITIONS,
  OBSERVED_LABELS,
  TaintEffect,
  TaintKey,
} from "../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import { readyConditionOf } from "../../services/domain/node-conditions.ts";
import { conditionsToForce } from "../../services/node/silence.policy.ts";
import { labelChangeOf, taintChangeOf } from "../../services/node/taint.policy.ts";
import { decideTaints } from "../../services/node-writer/node-writer.policy.ts";
import { SPINE } from "../scenario/spine.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { condition, nodeWith } from "./node-fixtures.ts";

const effects = fc.constantFrom("NoSchedule", "PreferNoSchedule", "NoExecute");
const keys = fc.constantFrom(...CONDITION_TAINT_KEYS, "example.com/foreign", "node.kubernetes.io/out-of-service");
const anyTaint: fc.Arbitrary<Taint> = fc.record(
  { key: keys, effect: effects, value: fc.string({ maxLength: 3 }), timeAdded: fc.constant("2025-01-01T00:00:00Z") },
  { requiredKeys: ["key", "effect"] },
);
const anyCondition = fc
  .tuple(
    fc.constantFrom("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "Custom"),
    fc.constantFrom("True" as const, "False" as const, "Unknown" as const),
  )
  .map(([type, status]) => condition(type, status));
const anyNode: fc.Arbitrary<ObservedNode> = fc
  .record({
    taints: fc.uniqueArray(anyTaint, { selector: ({ key, effect }) => `${key}:${effect}`, maxLength: 8 }),
    conditions: fc.uniqueArray(anyCondition, { selector: ({ type }) => type }),
    unschedulable: fc.boolean(),
    labels: fc.dictionary(fc.constantFrom(...OBSERVED_LABELS), fc.string({ maxLength: 3 })),
  })
  .map((fields) => nodeWith(null, fields));

/** Whether this controller may add and remove a taint: two with NoExecute, seven with NoSchedule. */
function isOurs({ key, effect }: Taint): boolean {
  if (effect === TaintEffect.noExecute) return key === TaintKey.notReady || key === TaintKey.unreachable;
  return effect === TaintEffect.noSchedule && CONDITION_TAINT_KEYS.includes(key);
}

/** The node's taints after the change that its conditions call for. */
function taintsAfter(node: ObservedNode): Taint[] {
  const change = taintChangeOf(node, "taint");
  if (change === null) return node.taints;
  const { node: name, uid, resourceVersion, taints } = node;
  const ready = readyConditionOf(node)?.status ?? null;
  const decision = decideTaints({ node: name, uid, resourceVersion, taints, ready, ...change }, node, 0);
  if (decision.kind !== "write") throw new Error(`the change was not written: ${decision.kind}`);
  return (decision.body as { spec: { taints: Taint[] | null } }).spec.taints ?? [];
}

describe("of any node", () => {
  test("foreign taints keep order and content (P4)", () => {
    fc.assert(
      fc.property(anyNode, (node) => {
        const foreign = (taints: readonly Taint[]) => taints.filter((taint) => !isOurs(taint));
        expect(foreign(taintsAfter(node))).toEqual(foreign(node.taints));
      }),
    );
  });

  test("one change is enough", () => {
    fc.assert(
      fc.property(anyNode, (node) => {
        expect(taintChangeOf({ ...node, taints: taintsAfter(node) }, "taint")).toBeNull();
      }),
    );
  });

  test("at most one of our NoExecute taints stays where Ready is known (P3)", () => {
    fc.assert(
      fc.property(anyNode, (node) => {
        fc.pre(readyConditionOf(node) !== null);
        const ours = taintsAfter(node).filter((taint) => isOurs(taint) && taint.effect === TaintEffect.noExecute);
        expect(ours.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("only four conditions are ever forced, NetworkUnavailable never (P2)", () => {
    fc.assert(
      fc.property(anyNode, (node) => {
        for (const { type } of conditionsToForce(node)) expect(FORCED_CONDITIONS).toContain(type);
      }),
    );
  });

  test("deprecated labels equal the stable ones wherever those exist (P11)", () => {
    fc.assert(
      fc.property(anyNode, ({ labels }) => {
        const after = { ...labels, ...labelChangeOf({ labels }) };
        for (const name of ["os", "arch"]) {
          const truth = after[`kubernetes.io/${name}`];
          if (truth !== undefined) expect(after[`beta.kubernetes.io/${name}`]).toBe(truth);
        }
        expect(labelChangeOf({ labels: after })).toBeNull();
      }),
    );
  });
});

test("a node with a heartbeat of either kind in each grace is never Unknown (P1)", () => {
  const graceMs = 5_000;
  const heartbeat = fc.record({
    pauseMs: fc.integer({ min: 1, max: graceMs }),
    kind: fc.constantFrom("lease", "status"),
  });
  fc.assert(
    fc.property(fc.array(heartbeat, { minLength: 1, maxLength: 12 }), (heartbeats) => {
      const cluster = new VirtualCluster({ profile: { nodeMonitorGraceMs: graceMs } });
      const kubelet = cluster.addNode({ name: "node-1", leasePeriodMs: null, statusPeriodMs: null });
      cluster.start(SPINE);
      let sinceStatusMs = 0;
      for (const { pauseMs, kind } of heartbeats) {
        cluster.advance(pauseMs);
        sinceStatusMs += pauseMs;
        // A status within the same second has the same stamp, so it is no fresh heartbeat.
        if (kind === "status" && sinceStatusMs >= 1_000) {
          kubelet.post();
          sinceStatusMs = 0;
        } else kubelet.renew();
      }
      cluster.advance(graceMs);
      expect(cluster.conditions("node-1")).toContain("Ready=True");
      cluster.advance(1);
      expect(cluster.conditions("node-1")).toContain("Ready=Unknown");
    }),
    { numRuns: 40 },
  );
});
