/** What the simulator's history of nodes knows of their taints. */
import { expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import type { CheckedNode } from "./invariants.ts";
import { NodeHistory } from "./node-history.ts";
import { drawSwarm } from "./swarm.ts";

test("a taint with a new value and stamp counts from its appearance", () => {
  const clock = new VirtualClock();
  const swarm = { ...drawSwarm(1), plot: null, faults: new Set([]) };
  const history = new NodeHistory(swarm, clock);
  const taint = { key: "example.com/level", effect: "NoExecute" };
  const stamped = (value: string): CheckedNode => ({
    metadata: { name: "n1", uid: "1" },
    spec: { taints: [{ ...taint, value, timeAdded: apiTime(clock.wallMs()) }] },
  });
  const appearedAt = clock.wallMs();
  const high = stamped("high");
  history.note("n1", null, high);
  expect(history.standing("n1", taint).isStampVoid).toBeUndefined();
  clock.advance(100_000);
  const ten = stamped("10");
  history.note("n1", high, ten);
  expect(history.standing("n1", taint)).toMatchObject({ seenAt: appearedAt, isStampVoid: true });
  history.note("n1", ten, null);
  history.note("n1", null, ten);
  expect(history.standing("n1", taint).isStampVoid).toBeUndefined();
});

test("a taint without a stamp that was away within a gap counts from before it", () => {
  const clock = new VirtualClock();
  const history = new NodeHistory({ ...drawSwarm(1), plot: null, faults: new Set(["standstills"]) }, clock);
  const taint = { key: "example.com/maintenance", effect: "NoExecute" };
  const node = (...taints: (typeof taint)[]): CheckedNode => ({ metadata: { name: "n1", uid: "1" }, spec: { taints } });
  const appearedAt = clock.wallMs();
  history.note("n1", null, node(taint));
  clock.advance(100_000);
  const gap = { fromAt: clock.wallMs(), untilAt: Number.POSITIVE_INFINITY };
  clock.advance(60_000);
  history.note("n1", node(taint), node());
  clock.advance(200_000);
  history.note("n1", node(), node(taint));
  expect(history.standing("n1", taint).seenAt).toBe(clock.wallMs());
  history.interrupted(shardOf("n1"), gap);
  expect(history.standing("n1", taint)).toMatchObject({ seenAt: appearedAt, addedAt: clock.wallMs() });
});
