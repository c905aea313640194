/** The node machine: every state × every event, including what must not happen, and its drawing. */
import { describe, expect, test } from "vitest";
import { type EvictionStatus, evictionStatusSchema, type Readiness, readinessSchema } from "../../protocols/judged.ts";
import {
  HEARTBEAT_STATES,
  type HeartbeatState,
  INITIAL_NODE_STATE,
  isSilent,
  judgedReadiness,
  NODE_EVENTS,
  type NodeAction,
  type NodeEvent,
  type NodeState,
  nodeMachine,
  nodeState,
  READINESS_EVENTS,
  stepNode,
} from "../../services/node/node.machine.ts";
import { machineMermaid } from "../../services/structures/machine-mermaid.ts";

const STATES = readinessSchema.options.flatMap((readiness) =>
  HEARTBEAT_STATES.flatMap((heartbeat) =>
    evictionStatusSchema.options.map((eviction) => nodeState(readiness, heartbeat, eviction)),
  ),
);

/** The target of each event by state of a region. An event without a target changes nothing. */
type Matrix<S extends string> = Readonly<Record<S, Partial<Record<NodeEvent, S>>>>;

const API_SHOWS = {
  readyMissing: "starting",
  readyTrue: "ready",
  readyFalse: "notReady",
  readyUnknown: "unknown",
} as const;
const READINESS: Matrix<Readiness> = { starting: API_SHOWS, ready: API_SHOWS, notReady: API_SHOWS, unknown: API_SHOWS };

const HEARTBEAT: Matrix<HeartbeatState> = {
  fresh: { graceOver: "silent", graceOverBlind: "overdue", readyUnknown: "confirmed" },
  overdue: { heartbeat: "fresh", graceRuns: "fresh", graceOver: "silent", readyUnknown: "confirmed" },
  silent: {
    heartbeat: "fresh",
    graceRuns: "recalled",
    verdictSettled: "settled",
    verdictRefuted: "fresh",
    readyUnknown: "confirmed",
  },
  settled: {
    heartbeat: "fresh",
    graceRuns: "fresh",
    verdictRequested: "silent",
    verdictRefuted: "fresh",
    readyUnknown: "confirmed",
  },
  recalled: { graceOver: "silent", verdictSettled: "fresh", readyUnknown: "confirmed" },
  confirmed: { readyMissing: "fresh", readyTrue: "fresh", readyFalse: "fresh" },
};

const EVICTION: Matrix<EvictionStatus> = {
  unmarked: { evictionDue: "toBeEvicted", evictionFound: "evicted" },
  toBeEvicted: { drainGranted: "evicted", evictionFound: "evicted", evictionCancelled: "unmarked" },
  evicted: { evictionDue: "toBeEvicted", evictionCancelled: "unmarked" },
};

const isDown = (state: NodeState) => ["notReady", "unknown"].includes(judgedReadiness(state));

describe("every state × every event", () => {
  test("the readiness is what the API shows", () => {
    for (const state of STATES) {
      for (const event of NODE_EVENTS) {
        const { readiness } = stepNode(state, event).state;
        expect([state, event, readiness]).toEqual([state, event, READINESS[state.readiness][event] ?? state.readiness]);
      }
    }
  });

  test("heartbeat follows its matrix in all other states", () => {
    for (const state of STATES) {
      for (const event of NODE_EVENTS) {
        const { heartbeat } = stepNode(state, event).state;
        expect([state, event, heartbeat]).toEqual([state, event, HEARTBEAT[state.heartbeat][event] ?? state.heartbeat]);
      }
    }
  });

  test("eviction follows its matrix, and is due only if down", () => {
    for (const state of STATES) {
      for (const event of NODE_EVENTS) {
        const isForbidden = event === "evictionDue" && !isDown(state);
        const expected = isForbidden ? state.eviction : (EVICTION[state.eviction][event] ?? state.eviction);
        expect([state, event, stepNode(state, event).state.eviction]).toEqual([state, event, expected]);
      }
    }
  });
});

describe("in the chart", () => {
  const reached = (isReached: (before: NodeState, event: NodeEvent, after: NodeState) => boolean) =>
    STATES.flatMap((state) =>
      NODE_EVENTS.filter((event) => isReached(state, event, stepNode(state, event).state)).map((event) => [
        state,
        event,
      ]),
    );

  test("only the end of a grace in a synced view finds a node silent", () => {
    const found = (before: NodeState, event: NodeEvent, after: NodeState) =>
      event !== "graceOver" && !isSilent(before) && isSilent(after);
    expect(reached(found)).toEqual([]);
  });

  test("no node that is up becomes evicted", () => {
    const marked = (before: NodeState, _: NodeEvent, after: NodeState) =>
      before.eviction !== "toBeEvicted" && after.eviction === "toBeEvicted" && !isDown(before);
    expect(reached(marked)).toEqual([]);
  });

  test("no drain is granted to a node that was not due", () => {
    const drained = (before: NodeState, event: NodeEvent, after: NodeState) =>
      event === "drainGranted" && before.eviction !== "toBeEvicted" && after.eviction !== before.eviction;
    expect(reached(drained)).toEqual([]);
  });

  test("no node whose Unknown the API shows is found silent again", () => {
    const found = ({ heartbeat }: NodeState, _: NodeEvent, after: NodeState) =>
      heartbeat === "confirmed" && isSilent(after);
    expect(reached(found)).toEqual([]);
  });
});

test("a verdict is counted once, and a refuted one restarts the grace", () => {
  const actionsOf = (heartbeat: HeartbeatState, event: NodeEvent): readonly NodeAction[] =>
    stepNode(nodeState("ready", heartbeat, "unmarked"), event).actions;
  expect(actionsOf("fresh", "graceOver")).toEqual(["countVerdict"]);
  expect(actionsOf("silent", "graceOver")).toEqual([]);
  expect(actionsOf("fresh", "graceOverBlind")).toEqual(["awaitSync"]);
  expect(actionsOf("silent", "graceOverBlind")).toEqual(["awaitSync"]);
  expect(actionsOf("silent", "verdictRefuted")).toEqual(["restartGrace"]);
  expect(actionsOf("fresh", "verdictRefuted")).toEqual([]);
});

test("a silent node counts as unknown before the API shows it", () => {
  const { state } = stepNode(nodeState("ready", "fresh", "unmarked"), "graceOver");
  expect([state.readiness, judgedReadiness(state)]).toEqual(["ready", "unknown"]);
});

test("a node begins starting, fresh and unmarked", () => {
  expect(INITIAL_NODE_STATE).toEqual({ readiness: "starting", heartbeat: "fresh", eviction: "unmarked" });
});

test("equal states are one object: all nodes share 72", () => {
  const reached = new Set<object>(STATES.flatMap((state) => NODE_EVENTS.map((event) => stepNode(state, event).state)));
  expect(reached.size).toBe(72);
});

test("the drawing has three regions, each transition with its guard and actions", () => {
  const drawing = machineMermaid(nodeMachine.config);
  expect(drawing.startsWith("stateDiagram-v2\n")).toBe(true);
  expect(drawing).toContain("  state readiness {\n    [*] --> starting\n");
  expect(drawing).toContain("    fresh --> silent: graceOver / countVerdict\n");
  expect(drawing).toContain("    unmarked --> toBeEvicted: evictionDue [isDown]\n");
  const transitions = [HEARTBEAT, EVICTION].flatMap((matrix) => Object.values(matrix).flatMap(Object.keys));
  // Each region has an initial state; a readiness never leads to itself.
  const readiness = readinessSchema.options.length * (READINESS_EVENTS.length - 1);
  expect(drawing.match(/-->/g)).toHaveLength(transitions.length + readiness + 3);
});
