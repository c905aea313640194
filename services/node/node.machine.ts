/**
 * The life of one node as a statechart of three regions:
 *
 * - `readiness`: the Ready condition as the API shows it.
 * - `heartbeat`: what has become of the node's signs of life. A node whose grace runs out falls `silent`, but only while
 *   everything that could show a heartbeat is seen; otherwise it is `overdue` and waits for that. A silent node is
 *   requested to be Unknown. It leaves that state when the API shows Unknown (`confirmed`), on a heartbeat or after a
 *   live read that found one (`fresh`), or when its grace begins again (`recalled`: its writer may still be trying).
 * - `eviction`: whether its pods are to go. Only a node that is down can become `toBeEvicted`, and `evicted` follows
 *   either from that or from what stands on the node already.
 *
 * The chart has no context, so a state value says everything that decides; instants and stamps belong to the actor,
 * which chooses the event. What a step calls for beside the new state is its actions.
 */
import { or, setup, stateIn, transition } from "xstate";
import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import { type ChartStep, ChartSteps } from "../platform/structures/chart-steps.ts";

/** What the API shows of the Ready condition. */
export const READINESS_EVENTS = ["readyMissing", "readyTrue", "readyFalse", "readyUnknown"] as const;
/** What happens to a node's heartbeat and to the verdict about its absence. */
const HEARTBEAT_EVENTS = [
  /** A heartbeat that is news. */
  "heartbeat",
  /** The grace is over, and everything that could show a heartbeat is seen. */
  "graceOver",
  /** The grace is over, but a heartbeat may have gone unseen. */
  "graceOverUnseen",
  /** The grace is not over, though it may have been before: it was restarted, or is longer now. */
  "graceRuns",
  /** The request to make the node Unknown was published. */
  "verdictRequested",
  /** The writer is done with that request, one way or the other. */
  "verdictSettled",
  /** The writer's live read found a heartbeat. */
  "verdictRefuted",
] as const;
/** What happens to a node's eviction. */
const EVICTION_EVENTS = [
  /** Its pods are to go. */
  "evictionDue",
  /** The zone admitted it: its pods go now. */
  "drainGranted",
  /** A NoExecute taint of ours stands on it, whoever set it. */
  "evictionFound",
  /** Its pods may stay. */
  "evictionCancelled",
] as const;
/** All events of the node machine. */
export const NODE_EVENTS = [...READINESS_EVENTS, ...HEARTBEAT_EVENTS, ...EVICTION_EVENTS] as const;

/** The name of an event of the node machine. */
export type NodeEvent = (typeof NODE_EVENTS)[number];

/** What has become of a node's heartbeat. */
export const HEARTBEAT_STATES = ["fresh", "overdue", "silent", "settled", "recalled", "confirmed"] as const;
/** What has become of a node's heartbeat. */
export type HeartbeatState = (typeof HEARTBEAT_STATES)[number];

/** What a step calls for: a verdict is counted, the review waits until the view is whole, the grace begins again. */
export type NodeAction = "countVerdict" | "awaitSight" | "restartGrace";

/** Where a node stands in all regions. Equal states are the same object. */
export interface NodeState {
  readonly readiness: Readiness;
  readonly heartbeat: HeartbeatState;
  readonly eviction: EvictionStatus;
}

const nothing = (): void => {};

/** A node is found silent. */
const found = { target: "silent", actions: "countVerdict" } as const;
/** Whether a node is silent cannot be found out yet. */
const unseen = { graceOverUnseen: { actions: "awaitSight" } } as const;
/** A live read found a heartbeat where none was seen. */
const refuted = { target: "fresh", actions: "restartGrace" } as const;

/** The chart. */
export const nodeMachine = setup({
  types: { events: {} as { type: NodeEvent } },
  actions: { countVerdict: nothing, awaitSight: nothing, restartGrace: nothing },
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
        fresh: {
          on: {
            graceOver: found,
            graceOverUnseen: { target: "overdue", actions: "awaitSight" },
            readyUnknown: "confirmed",
          },
        },
        overdue: {
          on: { heartbeat: "fresh", graceRuns: "fresh", graceOver: found, ...unseen, readyUnknown: "confirmed" },
        },
        silent: {
          on: {
            heartbeat: "fresh",
            verdictRefuted: refuted,
            graceRuns: "recalled",
            verdictSettled: "settled",
            ...unseen,
            readyUnknown: "confirmed",
          },
        },
        settled: {
          on: {
            heartbeat: "fresh",
            verdictRefuted: refuted,
            graceRuns: "fresh",
            verdictRequested: "silent",
            ...unseen,
            readyUnknown: "confirmed",
          },
        },
        recalled: { on: { graceOver: found, verdictSettled: "fresh", ...unseen, readyUnknown: "confirmed" } },
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

/** The state of a node nobody has heard of yet. */
export const INITIAL_NODE_STATE: NodeState = nodeState("starting", "fresh", "unmarked");

/** What follows from an event. */
export function stepNode(state: NodeState, event: NodeEvent): ChartStep<NodeState, NodeAction> {
  return chart.step(state, event);
}

/** Whether a node was found silent and the API does not show it yet. */
export function isSilent({ heartbeat }: Pick<NodeState, "heartbeat">): boolean {
  return heartbeat === "silent" || heartbeat === "settled";
}

/** A node's readiness as it is judged: unknown from the moment it is found silent, whatever the API shows. */
export function judgedReadiness(state: NodeState): Readiness {
  return isSilent(state) ? "unknown" : state.readiness;
}
