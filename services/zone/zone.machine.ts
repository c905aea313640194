/**
 * The life of a zone: which disruption state it is in, and whether the all-zones rule halts it. What that means for its
 * pace is decided in zone.policy.ts.
 */
import { setup, transition } from "xstate";
import type { ZoneState } from "../../protocols/judged.ts";
import type { Damage } from "./zone.policy.ts";

/** What happens to a zone: its own damage by count (R6.1), or that every zone is fully disrupted (R6.10). */
export type ZoneEvent = { readonly type: Damage | "everyZoneDown" };

/** The states of a zone's life; `Halted` is full disruption in which nothing is granted (R6.10). */
export type ZoneLife = ZoneState | "Halted";

/**
 * The machine of one zone. It has no context and no guard, so that a state's name is all there is to know: `Initial`
 * until it has a counted node (R2.18), then by its own count alone, and `Halted` as long as every zone is down: our
 * taints are taken back and nothing is granted (R6.10). What does not name another state leaves it where it is.
 */
export const zoneMachine = setup({ types: { events: {} as ZoneEvent } }).createMachine({
  id: "zone",
  initial: "Initial",
  states: {
    Initial: {
      on: { normal: "Normal", partial: "PartialDisruption", full: "FullDisruption", everyZoneDown: "Halted" },
    },
    Normal: {
      on: { empty: "Initial", partial: "PartialDisruption", full: "FullDisruption", everyZoneDown: "Halted" },
    },
    PartialDisruption: {
      on: { empty: "Initial", normal: "Normal", full: "FullDisruption", everyZoneDown: "Halted" },
    },
    FullDisruption: {
      on: { empty: "Initial", normal: "Normal", partial: "PartialDisruption", everyZoneDown: "Halted" },
    },
    Halted: {
      on: { empty: "Initial", normal: "Normal", partial: "PartialDisruption", full: "FullDisruption" },
    },
  },
});

/** Where a zone's life begins. */
export const FIRST_ZONE_LIFE: ZoneLife = "Initial";

const steps = new Map<string, ZoneLife>();

/** The state after an event; computed once for each pair, since the machine is pure and has no context. */
export function nextZoneLife(life: ZoneLife, event: ZoneEvent): ZoneLife {
  const pair = `${life} ${event.type}`;
  const known = steps.get(pair);
  if (known !== undefined) return known;
  const [{ value }] = transition(zoneMachine, zoneMachine.resolveState({ value: life }), event);
  steps.set(pair, value);
  return value;
}

/** The state as it is announced: a halted zone is a fully disrupted one (R6.10). */
export function announcedState(life: ZoneLife): ZoneState {
  return life === "Halted" ? "FullDisruption" : life;
}

/** The state that an announcement tells of. */
export function lifeAnnounced({ state, halted }: { readonly state: ZoneState; readonly halted: boolean }): ZoneLife {
  return halted ? "Halted" : state;
}
