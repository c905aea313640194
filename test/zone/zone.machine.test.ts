/** The zone machine: every state × every event, including what must not happen. */
import { describe, expect, test } from "vitest";
import {
  announcedState,
  type ClusterState,
  type DisruptionState,
  INITIAL_ZONE_STATE,
  inheritedState,
  stepZone,
  type ZoneAction,
  type ZoneEvent,
  type ZoneStateValue,
  zoneMachine,
  zoneStateValue,
} from "../../services/zone/zone.machine.ts";

/** The target of each event by state of a region. An event without a target changes nothing. */
type Matrix<S extends string> = Readonly<Record<S, Partial<Record<ZoneEvent, S>>>>;

const SEEN = { healthy: "healthy", notKnown: "notKnown", disrupted: "disrupted" } as const;
const CLUSTER: Matrix<ClusterState> = {
  unsynced: SEEN,
  healthy: { ...SEEN, stale: "stale" },
  notKnown: { ...SEEN, stale: "stale" },
  disrupted: { ...SEEN, stale: "stale" },
  stale: SEEN,
};

const BY_COUNT = { empty: "Initial", normal: "Normal", partial: "PartialDisruption", full: "FullDisruption" } as const;
const DISRUPTION: Matrix<DisruptionState> = {
  Initial: { ...BY_COUNT, disrupted: "Halted" },
  Normal: { ...BY_COUNT, disrupted: "Halted" },
  PartialDisruption: { ...BY_COUNT, disrupted: "Halted" },
  FullDisruption: { ...BY_COUNT, disrupted: "Halted" },
  Halted: { healthy: "Initial" },
};

const EVENTS = zoneMachine.events as readonly ZoneEvent[];
const CLUSTERS = Object.keys(CLUSTER) as ClusterState[];
const DISRUPTIONS = Object.keys(DISRUPTION) as DisruptionState[];
const STATES = CLUSTERS.flatMap((cluster) => DISRUPTIONS.map((disruption) => zoneStateValue(cluster, disruption)));
const STEPS = STATES.flatMap((before) => EVENTS.map((event) => ({ before, event, ...stepZone(before, event) })));

const isCount = (event: ZoneEvent) => event in BY_COUNT;
const isInView = ({ cluster }: ZoneStateValue) => cluster === "healthy" || cluster === "notKnown";

/** The steps with this action. */
const callingFor = (action: ZoneAction) => STEPS.filter(({ actions }) => actions.includes(action));

describe("every state × every event", () => {
  test("the cluster is what all zones show, stale once seen", () => {
    for (const { before, event, state } of STEPS) {
      expect([before, event, state.cluster]).toEqual([before, event, CLUSTER[before.cluster][event] ?? before.cluster]);
    }
  });

  test("a count decides until all zones are down (R6.8, R6.10)", () => {
    for (const { before, event, state } of STEPS) {
      const isForbidden = isCount(event) && !isInView(before);
      const expected = isForbidden ? before.disruption : (DISRUPTION[before.disruption][event] ?? before.disruption);
      expect([before, event, state.disruption]).toEqual([before, event, expected]);
    }
  });
});

describe("in the chart", () => {
  test("only a zone that is up ends a halt (decision 11)", () => {
    const ends = STEPS.filter(({ before, state }) => before.disruption === "Halted" && state.disruption !== "Halted");
    expect([...new Set(ends.map(({ event }) => event))]).toEqual(["healthy"]);
  });

  test("only every zone known to be down begins one", () => {
    const begins = STEPS.filter(({ before, state }) => before.disruption !== "Halted" && state.disruption === "Halted");
    expect([...new Set(begins.map(({ event }) => event))]).toEqual(["disrupted"]);
  });

  test("no zone is halted while the cluster is healthy", () => {
    const granting = STEPS.filter(
      ({ before }) => before.cluster !== "healthy" || before.disruption !== "Halted",
    ).filter(({ state }) => state.cluster === "healthy" && state.disruption === "Halted");
    expect(granting).toEqual([]);
  });

  test("a count changes nothing while the cluster is not in view", () => {
    const changed = STEPS.filter(({ before, event, state }) => isCount(event) && !isInView(before) && state !== before);
    expect(changed).toEqual([]);
  });
});

describe("the actions of a step", () => {
  test("take the zone over once, when the cluster is first seen", () => {
    const took = callingFor("takeOver");
    expect(took).toHaveLength(DISRUPTIONS.length * Object.keys(SEEN).length);
    expect(took.every(({ before, state }) => before.cluster === "unsynced" && state.cluster !== "unsynced")).toBe(true);
  });

  test("stop grants when the cluster is no longer healthy", () => {
    const left = STEPS.filter(({ before, state }) => before.cluster === "healthy" && state.cluster !== "healthy");
    expect(callingFor("stopGrants")).toEqual(left);
  });

  test("take taints back as a halt begins or is confirmed (R6.10)", () => {
    const isHalting = ({ before, event }: (typeof STEPS)[number]) =>
      event === "disrupted" || (event === "notKnown" && before.disruption === "Halted");
    expect(callingFor("removeTaints")).toEqual(STEPS.filter(isHalting));
  });

  test("restart every grace only when a halt ends (R6.11)", () => {
    const ends = STEPS.filter(({ before, state }) => before.disruption === "Halted" && state.disruption !== "Halted");
    expect(callingFor("restartGraces")).toEqual(ends);
  });
});

test("a zone begins unsynced and Initial (R2.18)", () => {
  expect(INITIAL_ZONE_STATE).toEqual({ cluster: "unsynced", disruption: "Initial" });
});

test("equal states are one object: all zones share 25", () => {
  expect(new Set(STEPS.map(({ state }) => state)).size).toBeLessThanOrEqual(STATES.length);
  expect(STEPS.every(({ state }) => STATES.includes(state))).toBe(true);
});

test("a halted zone is announced as fully disrupted (R6.10)", () => {
  const announced = DISRUPTIONS.map((disruption) => announcedState(zoneStateValue("healthy", disruption)));
  expect(announced).toEqual(["Initial", "Normal", "PartialDisruption", "FullDisruption", "FullDisruption"]);
});

test("the next owner of a zone continues the announced state", () => {
  const inherited = DISRUPTIONS.map((disruption) => {
    const state = announcedState(zoneStateValue("disrupted", disruption));
    return inheritedState({ state, halted: disruption === "Halted" });
  });
  expect(inherited).toEqual(DISRUPTIONS.map((disruption) => ({ cluster: "unsynced", disruption })));
});
