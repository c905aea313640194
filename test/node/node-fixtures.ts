/** Nodes, conditions and taints for tests of the node service, with neutral values where a test does not care. */
import type { Condition, ConditionStatus, ObservedNode, Taint } from "../../protocols/objects.ts";

/** A condition. */
export function condition(type: string, status: ConditionStatus, fields: Partial<Condition> = {}): Condition {
  return { type, status, heartbeatAt: 0, transitionAt: 0, ...fields };
}

/** A node that has posted this Ready status; null for none. */
export function nodeWith(ready: ConditionStatus | null, fields: Partial<ObservedNode> = {}): ObservedNode {
  return {
    node: "node-1",
    uid: "uid-1",
    resourceVersion: "1",
    createdAt: 1_000,
    labels: {},
    unschedulable: false,
    taints: [],
    conditions: ready === null ? [] : [condition("Ready", ready)],
    ...fields,
  };
}

/** A taint. */
export function taint(key: string, effect: string, fields: Partial<Taint> = {}): Taint {
  return { key, effect, ...fields };
}
