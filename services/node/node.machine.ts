/**
 * One node as a statechart of three regions:
 *
 * - `readiness`: the Ready condition as the API shows it.
 * - `heartbeat`: the verdict on the node's heartbeats. When the grace passes, the node becomes `silent`. While this
 *   process is blind a heartbeat may have gone unseen, so the node is only `overdue` until the view is synced. For a
 *   silent node the actor requests Ready=Unknown. The node leaves `silent` when the API shows Unknown (`confirmed`),
 *   when a heartbeat arrives or a live read finds one (`fresh`), or when its grace is extended while the writer may
 *   still be trying (`recalled`). It is `settled` when the writer has finished and the API does not show Unknown.
 * - `eviction`: whether the node's pods must go. Only a node that is down becomes `toBeEvicted`. It becomes `evicted`
 *   from there, or at once when the node already carries our taint.
 *
 * The chart has no context: its state value is everything that decides. The actor keeps instants and stamps and chooses
 * the events.
 */
import { or, setup, stateIn, transition } from "xstate";
import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import { type ChartStep, ChartSteps } from "../structures/chart-steps.ts";

/** The events of the readiness region. */
export const READINESS_EVENTS = ["readyMissing", "readyTrue", "readyFalse", "readyUnknown"] as const;
/** All events of the node machine (docs/machines.md says when each occurs). */
export const NODE_EVENTS = [
  ...READINESS_EVENTS,
  "heartbeat",
  /** The grace has passed in a synced view. */
  "graceOver",
  /** The grace has passed, but a heartbeat may have gone unseen. */
  "graceOverBlind",
  /** The grace has not passed. It may have passed before it was restarted or became longer. */
  "graceRuns",
  "verdictRequested",
  /** The writer has finished with the request for Unknown, with or without success. */
  "verdictSettled",
  /** The writer's live read found a heartbeat. */
  "verdictRefuted",
  "evictionDue",
  "drainGranted",
  /** The node carries a NoExecute taint of ours, no matter which process set it. */
  "evictionFound",
  "evictionCancelled",
] as const;

/** The name of an event of the node machine. */
export type NodeEvent = (typeof NODE_EVENTS)[number];

/** The states of the heartbeat region. */
export const HEARTBEAT_STATES = ["fresh", "overdue", "silent", "settled", "recalled", "confirmed"] as const;
/** A state of the heartbeat region. */
export type HeartbeatState = (typeof HEARTBEAT_STATES)[number];

/** What the actor does after a step: count a verdict, review again once the view is synced, restart the grace. */
export type NodeAction = "countVerdict" | "awaitSync" | "restartGrace";

/** The state of all regions. Equal states are the same object. */
export interface NodeState {
  readonly readiness: Readiness;
  readonly heartbeat: HeartbeatState;
  readonly eviction: EvictionStatus;
}

const nothing = (): void => {};

const found = { target: "silent", actions: "countVerdict" } as const;
const blind = { graceOverBlind: { actions: "awaitSync" } } as const;
const shown = { readyUnknown: "confirmed" } as const;
/** What ends a verdict that the API does not show yet. */
const verdict = {
  heartbeat: "fresh",
  verdictRefuted: { target: "fresh", actions: "restartGrace" },
  ...blind,
  ...shown,
} as const;

/** The chart. */
export const nodeMachine = setup({
  types: { events: {} as { type: NodeEvent } },
  actions: { countVerdict: nothing, awaitSync: nothing, restartGrace: nothing },
  guards: {
    isDown: or([
      stateIn({ readiness: "notReady" }),
      stateIn({ readiness: "unknown" }),
      stateIn({ heartbeat: "silent" }),
      stateIn({ heartbeat: "settled" }),
    ]),
  },
}).createMachine({
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
    heartbeat: {
      initial: "fresh",
      states: {
        fresh: { on: { graceOver: found, graceOverBlind: { target: "overdue", actions: "awaitSync" }, ...shown } },
        overdue: { on: { heartbeat: "fresh", graceRuns: "fresh", graceOver: found, ...blind, ...shown } },
        silent: { on: { ...verdict, graceRuns: "recalled", verdictSettled: "settled" } },
        settled: { on: { ...verdict, graceRuns: "fresh", verdictRequested: "silent" } },
        recalled: { on: { graceOver: found, verdictSettled: "fresh", ...blind, ...shown } },
        confirmed: { on: { readyMissing: "fresh", readyTrue: "fresh", readyFalse: "fresh" } },
      },
    },
    eviction: {
      initial: "unmarked",
      states: {
        unmarked: { on: { evictionDue: { target: "toBeEvicted", guard: "isDown" }, evictionFound: "evicted" } },
        toBeEvicted: { on: { drainGranted: "evicted", evictionFound: "evicted", evictionCancelled: "unmarked" } },
        evicted: { on: { evictionDue: { target: "toBeEvicted", guard: "isDown" }, evictionCancelled: "unmarked" } },
      },
    },
  },
});

const chart = new ChartSteps<NodeState, NodeEvent, NodeAction>((value, type) =>
  transition(nodeMachine, nodeMachine.resolveState({ value: { ...value } }), { type }),
);

/** The one object for a state. */
export function nodeState(readiness: Readiness, heartbeat: HeartbeatState, eviction: EvictionStatus): NodeState {
  return chart.state({ readiness, heartbeat, eviction });
}

/** The state of a new node. */
export const INITIAL_NODE_STATE: NodeState = nodeState("starting", "fresh", "unmarked");

/** The next state and its actions. */
export function stepNode(state: NodeState, event: NodeEvent): ChartStep<NodeState, NodeAction> {
  return chart.step(state, event);
}

/** Whether a node was found silent and the API does not show Unknown yet. */
export function isSilent({ heartbeat }: Pick<NodeState, "heartbeat">): boolean {
  return heartbeat === "silent" || heartbeat === "settled";
}

/** The readiness to publish: unknown as soon as the node is found silent, even before the API shows it. */
export function judgedReadiness(state: NodeState): Readiness {
  return isSilent(state) ? "unknown" : state.readiness;
}
