/** What a node's actor remembers of the Ready condition: a verdict that shadow mode did not send is set apart. */
import { expect, test } from "vitest";
import type { Condition, NodeShadow, ObservedNode } from "../../protocols/objects.ts";
import { ReadyRecord } from "../../services/node/ready-record.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { condition, nodeWith, taint } from "./node-fixtures.ts";

const S = 1000;

function recordOf(found: ObservedNode) {
  const clock = new VirtualClock();
  const beganMs = clock.monotonicMs();
  const startAt = clock.wallMs();
  const record = new ReadyRecord(found, clock);
  const take = (afterS: number, node: ObservedNode): void => {
    clock.advance(afterS * S);
    record.take(node);
  };
  /** Since when the node is ready or not ready, and when that changed, in seconds after the start. */
  const history = (isShadowed: boolean): unknown => {
    const { sinceMs, transitionsAt } = record.history(isShadowed);
    return [(sinceMs - beganMs) / S, transitionsAt.map((at) => (at - startAt) / S)];
  };
  return { record, take, history, clock };
}

/** A node that is down, and whose owner has added its taint. */
function taintedNode(): ObservedNode {
  return nodeWith("False", { taints: [taint("node.kubernetes.io/not-ready", "NoSchedule")] });
}

/** A node that the API shows as Ready since some instant, and shadow mode as silent. */
function shownSilent(fields: Partial<ObservedNode> = {}): ObservedNode {
  const conditions: Condition[] = [condition("Ready", "Unknown", { transitionAt: 1 })];
  const verdict: NodeShadow["verdict"] = { at: 1, leaseRenewedAt: 0, statusHeartbeatAt: 0, conditions };
  return nodeWith("Unknown", { ...fields, conditions, shadow: { verdict } });
}

test("an unsent verdict and its end are transitions in shadow mode alone", () => {
  const { record, take, history } = recordOf(taintedNode());
  take(10, nodeWith("True"));
  take(10, shownSilent());
  expect(record.sentTransitionsAt).toHaveLength(1);
  take(10, nodeWith("True"));
  expect(history(true)).toEqual([30, [10, 20, 30]]);
  expect(record.sentTransitionsAt).toHaveLength(1);
  expect(history(false)).toEqual([10, [10]]);
});

test("an unsent verdict that is over counts no more when shadow mode begins again", () => {
  const { take, history } = recordOf(nodeWith("True"));
  take(10, shownSilent());
  take(10, nodeWith("True"));
  history(false);
  expect(history(true)).toEqual([20, []]);
});

test("what the kubelet reports after an unsent verdict is a transition of the API", () => {
  const { take, history } = recordOf(nodeWith("True"));
  take(10, shownSilent());
  take(10, nodeWith("False"));
  expect(history(true)).toEqual([20, [10]]);
  expect(history(false)).toEqual([20, [20]]);
});

test("a node that is found with an unsent verdict has its recorded transitions", () => {
  const recorded = { readyTransitionsAt: [new VirtualClock().wallMs() - 90 * S] };
  const { record, take, history } = recordOf(shownSilent(recorded));
  expect(record.sentTransitionsAt).toEqual(recorded.readyTransitionsAt);
  take(10, nodeWith("True", recorded));
  expect(history(true)).toEqual([10, [-90, 10]]);
  expect(history(false)).toEqual([10, [-90]]);
});

test("a transition that another process saw a second earlier counts once", () => {
  const startAt = new VirtualClock().wallMs();
  const { record, take } = recordOf(nodeWith("True"));
  take(11, nodeWith("Unknown"));
  take(0, nodeWith("Unknown", { readyTransitionsAt: [startAt + 10 * S] }));
  expect(record.sentTransitionsAt).toEqual([startAt + 10 * S]);
});

test("a transition that another process saw a second later counts once", () => {
  const startAt = new VirtualClock().wallMs();
  const { record, take } = recordOf(nodeWith("True"));
  const later = { readyTransitionsAt: [startAt + 11 * S] };
  take(10, nodeWith("Unknown"));
  take(1, nodeWith("Unknown", later));
  expect(record.sentTransitionsAt).toEqual([startAt + 10 * S]);
  // The record that this process corrects is still there when the node is Ready.
  take(20, nodeWith("True", later));
  expect(record.sentTransitionsAt).toEqual([startAt + 10 * S, startAt + 31 * S]);
});

test("a restart of all timeouts changes nothing about what the API shows", () => {
  const { record, take, history, clock } = recordOf(taintedNode());
  take(10, nodeWith("True"));
  take(10, nodeWith("True"));
  record.restart(clock.monotonicMs());
  expect(history(true)).toEqual([20, [10]]);
  expect(history(false)).toEqual([10, [10]]);
});
