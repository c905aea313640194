/** What the simulator's history of nodes knows of their taints. */
import { expect, test } from "vitest";
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
