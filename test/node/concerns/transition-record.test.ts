/** What a node's actor remembers of the Ready condition: since when it is as it is, and its transitions before. */
import { expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { ReadyRecord } from "../../../services/node/concerns/taint-delay/transition-record.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { nodeWith, taint } from "../node-fixtures.ts";

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
  const history = (): unknown => {
    const { sinceMs, transitionsAt } = record.history();
    return [(sinceMs - beganMs) / S, transitionsAt.map((at) => (at - startAt) / S)];
  };
  return { record, take, history, clock };
}

/** A node that is down, and whose owner has added its taint. */
function taintedNode(): ObservedNode {
  return nodeWith("False", { taints: [taint("node.kubernetes.io/not-ready", "NoSchedule")] });
}

test("each change to or from Ready is a transition", () => {
  const { take, history } = recordOf(taintedNode());
  take(10, nodeWith("True"));
  take(10, nodeWith("True"));
  take(10, nodeWith("Unknown"));
  take(10, nodeWith("False"));
  expect(history()).toEqual([40, [10, 30]]);
});

test("a node has the transitions that its annotation records", () => {
  const recorded = { readyTransitionsAt: [new VirtualClock().wallMs() - 90 * S] };
  const { take, history } = recordOf(nodeWith("True", recorded));
  take(10, nodeWith("False", recorded));
  expect(history()).toEqual([10, [-90, 10]]);
});

test("a transition that another process saw a second earlier counts once", () => {
  const { take, history } = recordOf(nodeWith("True"));
  take(11, nodeWith("Unknown"));
  take(0, nodeWith("Unknown", { readyTransitionsAt: [new VirtualClock().wallMs() + 10 * S] }));
  expect(history()).toEqual([11, [10]]);
});

test("a transition that another process saw a second later counts once", () => {
  const { take, history } = recordOf(nodeWith("True"));
  const later = { readyTransitionsAt: [new VirtualClock().wallMs() + 11 * S] };
  take(10, nodeWith("Unknown"));
  take(1, nodeWith("Unknown", later));
  expect(history()).toEqual([10, [10]]);
  // The record that this process corrects is still there when the node is Ready.
  take(20, nodeWith("True", later));
  expect(history()).toEqual([31, [10, 31]]);
});

test("a restart of all timeouts is no transition", () => {
  const { record, take, history, clock } = recordOf(taintedNode());
  take(10, nodeWith("True"));
  take(10, nodeWith("True"));
  record.restart(clock.monotonicMs());
  expect(record.timeoutFromMs).toBe(clock.monotonicMs());
  expect(history()).toEqual([10, [10]]);
});
