/**
 * One zone as a statechart of two regions:
 *
 * - `cluster`: what all zones together show (R6.7). It is `unsynced` until the whole cluster has been seen once. The
 *   actor then takes the zone over. It is `stale` while the cluster is not seen. Nodes are tainted or drained only
 *   while it is `healthy`.
 * - `disruption`: the state of the zone, decided by the zone's own count (R6.1) while the cluster is in view. It is
 *   `Halted` while every zone is down (R6.10): the actor requests the removal of our taints until none is present. Only
 *   a zone that is up ends a halt, and then the grace of every node restarts (R6.11).
 *
 * The chart has no context: its state value holds everything that decides. The actor keeps counts and buckets and
 * chooses the events.
 */
import { or, setup, stateIn, transition } from "xstate";
import type { ZoneState } from "../../protocols/judged.ts";
import { type ChartStep, ChartSteps } from "../structures/chart-steps.ts";
import type { AllZonesState, Damage } from "./zone.policy.ts";

/** What all zones together show, that this process no longer sees them, or what the zone's own count shows. */
export type ZoneEvent = AllZonesState | "stale" | Damage;

/** The states of the cluster region. */
export type ClusterState = "unsynced" | AllZonesState | "stale";

/** The states of the disruption region. `Halted` is full disruption without grants (R6.10). */
export type DisruptionState = ZoneState | "Halted";

/** What the actor does after a step. */
export type ZoneAction = "takeOver" | "stopGrants" | "removeTaints" | "restartGraces";

/** The state of both regions. Equal values are the same object. */
export interface ZoneStateValue {
  readonly cluster: ClusterState;
  readonly disruption: DisruptionState;
}

const nothing = (): void => {};

const seen = { healthy: "healthy", notKnown: "notKnown", disrupted: "disrupted" } as const;
/** The zone's own count decides only while all its nodes are seen. */
const counted = {
  empty: { target: "Initial", guard: "isInView" },
  normal: { target: "Normal", guard: "isInView" },
  partial: { target: "PartialDisruption", guard: "isInView" },
  full: { target: "FullDisruption", guard: "isInView" },
} as const;
/** Repeated, because a request may have been lost or refused. */
const repeated = { actions: "removeTaints" } as const;

/** The chart. */
export const zoneMachine = setup({
  types: { events: {} as { type: ZoneEvent } },
  actions: { takeOver: nothing, stopGrants: nothing, removeTaints: nothing, restartGraces: nothing },
  guards: { isInView: or([stateIn({ cluster: "healthy" }), stateIn({ cluster: "notKnown" })]) },
}).createMachine({
  id: "zone",
  type: "parallel",
  states: {
    cluster: {
      initial: "unsynced",
      states: {
        unsynced: { on: seen, exit: "takeOver" },
        healthy: { on: { ...seen, stale: "stale" }, exit: "stopGrants" },
        notKnown: { on: { ...seen, stale: "stale" } },
        disrupted: { on: { ...seen, stale: "stale" } },
        stale: { on: seen },
      },
    },
    disruption: {
      initial: "Initial",
      states: {
        Initial: { on: { ...counted, disrupted: "Halted" } },
        Normal: { on: { ...counted, disrupted: "Halted" } },
        PartialDisruption: { on: { ...counted, disrupted: "Halted" } },
        FullDisruption: { on: { ...counted, disrupted: "Halted" } },
        Halted: {
          entry: "removeTaints",
          on: { healthy: "Initial", disrupted: repeated, notKnown: repeated },
          exit: "restartGraces",
        },
      },
    },
  },
});

const chart = new ChartSteps<ZoneStateValue, ZoneEvent, ZoneAction>((value, type) =>
  transition(zoneMachine, zoneMachine.resolveState({ value: { ...value } }), { type }),
);

/** The one object for a state. */
export function zoneStateValue(cluster: ClusterState, disruption: DisruptionState): ZoneStateValue {
  return chart.state({ cluster, disruption });
}

/** The state of a new zone (R2.18). */
export const INITIAL_ZONE_STATE: ZoneStateValue = zoneStateValue("unsynced", "Initial");

/** The next state and its actions. */
export function stepZone(state: ZoneStateValue, event: ZoneEvent): ChartStep<ZoneStateValue, ZoneAction> {
  return chart.step(state, event);
}

/** The state to publish: a halted zone is fully disrupted (R6.10). */
export function announcedState({ disruption }: ZoneStateValue): ZoneState {
  return disruption === "Halted" ? "FullDisruption" : disruption;
}

/** The initial state of a zone's next owner: the last announced one, including a halt (decision 11). */
export function inheritedState(announced: { readonly state: ZoneState; readonly halted: boolean }): ZoneStateValue {
  return zoneStateValue("unsynced", announced.halted ? "Halted" : announced.state);
}
