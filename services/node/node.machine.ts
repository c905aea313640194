/**
 * The life of one node as a statechart: its readiness beside its eviction. Which event is due is decided in the
 * policies.
 */
import { setup, transition } from "xstate";
import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import { machineMermaid } from "../runtime/machine-mermaid.ts";

/** What can happen to a node's readiness: the Ready condition that counts now. */
export const READINESS_EVENTS = ["readyMissing", "readyTrue", "readyFalse", "readyUnknown"] as const;
/** What can happen to a node's eviction: it becomes due, it was carried out, it is no longer wanted. */
export const EVICTION_EVENTS = ["evictionDue", "evictionDone", "evictionCancelled"] as const;

/** The name of an event of the node machine. */
export type NodeEvent = (typeof READINESS_EVENTS)[number] | (typeof EVICTION_EVENTS)[number];

/** Where a node stands in both regions. Equal states are the same object. */
export interface NodeState {
  readonly readiness: Readiness;
  readonly eviction: EvictionStatus;
}

/** The chart. It has no context and no guard, so a state value says all there is. */
export const nodeMachine = setup({ types: { events: {} as { type: NodeEvent } } }).createMachine({
  id: "node",
  type: "parallel",
  states: {
    readiness: {
      initial: "starting",
      states: {
        starting: { on: { readyTrue: "ready", readyFalse: "notReady", readyUnknown: "unknown" } },
        ready: { on: { readyMissing: "starting", readyFalse: "notReady", readyUnknown: "unknown" } },
        notReady: { on: { readyMissing: "starting", readyTrue: "ready", readyUnknown: "unknown" } },
        unknown: { on: { readyMissing: "starting", readyTrue: "ready", readyFalse: "notReady" } },
      },
    },
    eviction: {
      initial: "unmarked",
      states: {
        unmarked: { on: { evictionDue: "toBeEvicted", evictionDone: "evicted" } },
        toBeEvicted: { on: { evictionDone: "evicted", evictionCancelled: "unmarked" } },
        evicted: { on: { evictionDue: "toBeEvicted", evictionCancelled: "unmarked" } },
      },
    },
  },
});

const states = new Map<string, NodeState>();
const steps = new Map<string, NodeState>();

/** The one object for a state. */
export function nodeState(readiness: Readiness, eviction: EvictionStatus): NodeState {
  const key = `${readiness}|${eviction}`;
  const known = states.get(key);
  if (known !== undefined) return known;
  const state = Object.freeze({ readiness, eviction });
  states.set(key, state);
  return state;
}

/** The state of a node nobody has heard of yet. */
export const INITIAL_NODE_STATE: NodeState = nodeState("starting", "unmarked");

/** The state after an event. Each of the chart's few steps is computed once and remembered. */
export function stepNode(state: NodeState, event: NodeEvent): NodeState {
  const key = `${state.readiness}|${state.eviction}|${event}`;
  const known = steps.get(key);
  if (known !== undefined) return known;
  const [{ value }] = transition(nodeMachine, nodeMachine.resolveState({ value: { ...state } }), { type: event });
  const next = nodeState(value.readiness, value.eviction);
  steps.set(key, next);
  return next;
}

/** The chart as a Mermaid diagram. */
export function nodeMachineMermaid(): string {
  return machineMermaid(nodeMachine.config);
}
