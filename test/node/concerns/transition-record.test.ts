/** When the Ready condition of a node changed, as this process and the node's annotation know. */
import { expect, test } from "vitest";
import type { ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import { TransitionRecord } from "../../../services/node/concerns/taint-delay/transition-record.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { condition, nodeWith, taint } from "../node-fixtures.ts";

const S = 1000;

function recordOf(found: ObservedNode) {
  const clock = new VirtualClock();
  const startAt = clock.wallMs();
  const record = new TransitionRecord(found, clock);
  const take = (afterS: number, node: ObservedNode): void => {
    clock.advance(afterS * S);
    record.record(node);
  };
  /** The transitions, in seconds after the start. */
  const transitions = (): readonly number[] => record.transitionsAt.map((at) => (at - startAt) / S);
  return { take, transitions };
}

test("each change to or from Ready is a transition", () => {
  const { take, transitions } = recordOf(
    nodeWith("False", { taints: [taint("node.kubernetes.io/not-ready", "NoSchedule")] }),
  );
  for (const status of ["True", "True", "Unknown", "False"] as const) take(10, nodeWith(status));
  expect(transitions()).toEqual([10, 30]);
});

test("a node has the transitions that its annotation records", () => {
  const recorded = { readyTransitionsAt: [new VirtualClock().wallMs() - 90 * S] };
  const { take, transitions } = recordOf(nodeWith("True", recorded));
  take(10, nodeWith("False", recorded));
  expect(transitions()).toEqual([-90, 10]);
});

test("a transition that another process saw a second earlier counts once", () => {
  const { take, transitions } = recordOf(nodeWith("True"));
  take(11, nodeWith("Unknown"));
  take(0, nodeWith("Unknown", { readyTransitionsAt: [new VirtualClock().wallMs() + 10 * S] }));
  expect(transitions()).toEqual([10]);
});

test("a transition that another process saw a second later counts once", () => {
  const { take, transitions } = recordOf(nodeWith("True"));
  const later = { readyTransitionsAt: [new VirtualClock().wallMs() + 11 * S] };
  take(10, nodeWith("Unknown"));
  take(1, nodeWith("Unknown", later));
  expect(transitions()).toEqual([10]);
  // The record that this process corrects is still there when the node is Ready.
  take(20, nodeWith("True", later));
  expect(transitions()).toEqual([10, 31]);
});

/** A node with this status since a second after the start, and other fields. */
function nodeSince(second: number, ready: ConditionStatus, fields: Partial<ObservedNode> = {}): ObservedNode {
  const transitionAt = new VirtualClock().wallMs() + second * S;
  return nodeWith(null, { ...fields, conditions: [condition("Ready", ready, { transitionAt })] });
}

test("a failure after a recovery that only another process saw counts", () => {
  const startAt = new VirtualClock().wallMs();
  const found = nodeSince(0, "False", { taints: [taint("node.kubernetes.io/not-ready", "NoSchedule")] });
  const { take, transitions } = recordOf(found);
  take(60, nodeSince(55, "False", { readyTransitionsAt: [startAt + 30 * S] }));
  expect(transitions()).toEqual([30, 55]);
});

test("a late record of a recovery makes no transition between two failures", () => {
  const startAt = new VirtualClock().wallMs();
  const found = nodeSince(0, "Unknown", { taints: [taint("node.kubernetes.io/unreachable", "NoSchedule")] });
  const { take, transitions } = recordOf(found);
  take(60, nodeSince(55, "False", { readyTransitionsAt: [startAt - 20 * S] }));
  expect(transitions()).toEqual([-20]);
});
