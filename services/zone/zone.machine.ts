/**
 * The life of one zone as a statechart of two regions:
 *
 * - `cluster`: what all zones together show (R6.7). It is `unsynced` until the whole cluster was seen once, which is
 *   when the zone is taken over, and `stale` while it is not seen. Nodes are tainted or drained only while it is
 *   `spared`.
 * - `disruption`: the state of the zone. Its own count (R6.1) makes it Initial, Normal, PartialDisruption or
 *   FullDisruption, but only in view. It is `Halted` as long as every zone is down (R6.10): our taints are taken back
 *   until none stands. Neither the zone's count nor an unclear cluster ends a halt. When it ends, the grace of every
 *   node restarts (R6.11).
 *
 * The chart has no context, so a state value says everything that decides; counts and buckets belong to the actor,
 * which chooses the event. What a step calls for beside the new state is its actions.
 */
import { or, setup, stateIn, transition } from "xstate";
import type { ZoneState } from "../../protocols/judged.ts";
import { type ChartStep, ChartSteps } from "../platform/structures/chart-steps.ts";
import type { AllZonesState, Damage } from "./zone.policy.ts";

/** What all zones together show, that this process does not see enough of them, or what the zone's own count shows. */
export type ZoneEvent = AllZonesState | "stale" | Damage;

/** What the zone knows of the cluster. */
export type ClusterState = "unsynced" | AllZonesState | "stale";

/** The state of a zone; `Halted` is full disruption in which nothing is granted (R6.10). */
export type DisruptionState = ZoneState | "Halted";

/** What a step calls for. */
export type ZoneAction = "takeOver" | "stopGrants" | "takeTaintsBack" | "restartGraces";

/** Where a zone is in both regions. Equal values are the same object. */
export interface ZoneStateValue {
  readonly cluster: ClusterState;
  readonly disruption: DisruptionState;
}

const nothing = (): void => {};

/** What all zones together show, whatever was known before. */
const seen = { spared: "spared", unclear: "unclear", disrupted: "disrupted" } as const;
/** The zone's own count, which decides only if all it counts is seen. */
const counted = {
  empty: { target: "Initial", guard: "isInView" },
  normal: { target: "Normal", guard: "isInView" },
  partial: { target: "PartialDisruption", guard: "isInView" },
  full: { target: "FullDisruption", guard: "isInView" },
} as const;
/** A request may have been lost or refused, so taking the taints back is repeated. */
const repeated = { actions: "takeTaintsBack" } as const;

/** The chart. */
export const zoneMachine = setup({
  types: { events: {} as { type: ZoneEvent } },
  actions: { takeOver: nothing, stopGrants: nothing, takeTaintsBack: nothing, restartGraces: nothing },
  guards: { isInView: or([stateIn({ cluster: "spared" }), stateIn({ cluster: "unclear" })]) },
}).createMachine({
  id: "zone",
  type: "parallel",
  states: {
    cluster: {
      initial: "unsynced",
      states: {
        unsynced: { on: seen, exit: "takeOver" },
        spared: { on: { ...seen, stale: "stale" }, exit: "stopGrants" },
        unclear: { on: { ...seen, stale: "stale" } },
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
          entry: "takeTaintsBack",
          on: { spared: "Initial", disrupted: repeated, unclear: repeated },
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

/** The state of a zone nobody has heard of yet (R2.18). */
export const INITIAL_ZONE_STATE: ZoneStateValue = zoneStateValue("unsynced", "Initial");

/** What follows from an event. */
export function stepZone(state: ZoneStateValue, event: ZoneEvent): ChartStep<ZoneStateValue, ZoneAction> {
  return chart.step(state, event);
}

/** The state as it is announced: a halted zone is a fully disrupted one (R6.10). */
export function announcedState({ disruption }: ZoneStateValue): ZoneState {
  return disruption === "Halted" ? "FullDisruption" : disruption;
}

/** Where the next owner of a zone begins: in the state that was announced last, a halt included (decision 18). */
export function inheritedState(announced: { readonly state: ZoneState; readonly halted: boolean }): ZoneStateValue {
  return zoneStateValue("unsynced", announced.halted ? "Halted" : announced.state);
}
