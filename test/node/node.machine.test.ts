/** The node machine: every state × every event, and its drawing. */
import { describe, expect, test } from "vitest";
import { type EvictionStatus, evictionStatusSchema, type Readiness, readinessSchema } from "../../protocols/judged.ts";
import {
  EVICTION_EVENTS,
  INITIAL_NODE_STATE,
  type NodeEvent,
  nodeMachineMermaid,
  nodeState,
  READINESS_EVENTS,
  stepNode,
} from "../../services/node/node.machine.ts";

const READINESS_AFTER: Readonly<Record<(typeof READINESS_EVENTS)[number], Readiness>> = {
  readyMissing: "starting",
  readyTrue: "ready",
  readyFalse: "notReady",
  readyUnknown: "unknown",
};

const EVICTION_AFTER: Readonly<
  Record<EvictionStatus, Readonly<Record<(typeof EVICTION_EVENTS)[number], EvictionStatus>>>
> = {
  unmarked: { evictionDue: "toBeEvicted", evictionDone: "evicted", evictionCancelled: "unmarked" },
  toBeEvicted: { evictionDue: "toBeEvicted", evictionDone: "evicted", evictionCancelled: "unmarked" },
  evicted: { evictionDue: "toBeEvicted", evictionDone: "evicted", evictionCancelled: "unmarked" },
};

const STATES = readinessSchema.options.flatMap((readiness) =>
  evictionStatusSchema.options.map((eviction) => nodeState(readiness, eviction)),
);

describe("every state × every event", () => {
  test("a readiness event moves the readiness to what was posted and leaves the eviction alone", () => {
    for (const state of STATES) {
      for (const event of READINESS_EVENTS) {
        expect(stepNode(state, event)).toEqual({ readiness: READINESS_AFTER[event], eviction: state.eviction });
      }
    }
  });

  test("an eviction event moves the eviction and leaves the readiness alone", () => {
    for (const state of STATES) {
      for (const event of EVICTION_EVENTS) {
        const eviction = EVICTION_AFTER[state.eviction][event];
        expect(stepNode(state, event)).toEqual({ readiness: state.readiness, eviction });
      }
    }
  });
});

test("a node begins starting and unmarked", () => {
  expect(INITIAL_NODE_STATE).toEqual({ readiness: "starting", eviction: "unmarked" });
});

test("equal states are one object, so a hundred thousand nodes share twelve", () => {
  const reached = new Set<object>();
  for (const state of STATES) {
    for (const event of [...READINESS_EVENTS, ...EVICTION_EVENTS] as NodeEvent[]) reached.add(stepNode(state, event));
  }
  expect(reached.size).toBe(12);
});

test("the drawing shows both regions with every transition", () => {
  const drawing = nodeMachineMermaid();
  expect(drawing.startsWith("stateDiagram-v2\n")).toBe(true);
  expect(drawing).toContain("  state readiness {\n    [*] --> starting\n");
  expect(drawing).toContain("    unknown --> ready: readyTrue\n");
  expect(drawing).toContain("    toBeEvicted --> unmarked: evictionCancelled\n");
  expect(drawing.match(/-->/g)).toHaveLength(20);
});
