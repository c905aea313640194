/** The plots of quiet runs: nodes fail and recover on a plan, one fault happens, and all else is exact. */
import type { Random, Stop } from "../../protocols/ports.ts";
import { between, oneOf } from "./chance.ts";
import { SILENT_FOR_GOOD_MS } from "./fault-bounds.ts";
import type { SimulatedKubelet } from "./kubelet.ts";
import { later, type Reach } from "./meddler.ts";
import { kubeletsOf, type Plot, SECOND, zone } from "./plots.stage.ts";
import { failOneRequest } from "./quiet/failed-request.ts";
import { beginLastingFault } from "./quiet/lasting-fault.ts";
import type { Swarm } from "./swarm.ts";

/** How many nodes of a zone are down at a time: with three, a rate could fall to nothing (R6.5). */
const DOWN_MAX = 2;
const GRACE_SECONDS = 20;
/** From one node's recovery to the next one's failure. */
const PAUSE_SECONDS = [4, 15] as const;

/** How a node fails: `steps` of what its kubelet does, each after a time that depends on the grace. */
type Course = "silent" | "notReady" | "notReadyThenSilent" | "silentThenNotReady";
const COURSES: readonly Course[] = ["silent", "silent", "notReady", "notReadyThenSilent", "silentThenNotReady"];

/** The plots by name. */
export const QUIET_PLOTS = {
  /** One request of Vigil fails. */
  oneFailedRequest: {
    latest: "silentWatches",
    stage: (swarm, random) => quiet(swarm, random),
    play: (reach, random) => {
      const takeBack = failOneRequest(reach, random);
      const hasten = failing(reach, random);
      return () => {
        takeBack();
        hasten();
      };
    },
  },

  /** A fault begins that is never repaired. */
  lastingFault: {
    latest: "silentWatches",
    stage: (swarm, random) => ({ ...quiet(swarm, random), hindrance: { watchLagMs: SILENT_FOR_GOOD_MS } }),
    play: (reach, random) => {
      const beginning = reach.world.clock.after(between(random, 5, 40) * SECOND, () =>
        reach.world.asWorld(() => beginLastingFault(reach, random)),
      );
      const hasten = failing(reach, random);
      return () => {
        beginning.cancel();
        hasten();
      };
    },
  },
} satisfies Record<string, Plot>;

/** Whether a run is quiet: nothing but its one fault delays anything. */
export function isQuiet({ plot }: Swarm): boolean {
  return plot !== null && Object.hasOwn(QUIET_PLOTS, plot);
}

/** A small cluster without other faults. Its zones keep their rates. */
function quiet(swarm: Swarm, random: Random): Swarm {
  return {
    ...swarm,
    zones: [1, 2].slice(0, between(random, 1, 2)).map((number) => zone(number, between(random, 4, 6), swarm)),
    podsPerNode: between(random, 1, 3),
    toleration: oneOf(random, ["short", "unequal"]),
    processes: swarm.processes.slice(0, 2),
    profile: {
      ...swarm.profile,
      evictionMode: "taint",
      nodeEvictionsPerSecond: 1,
      nodeMonitorGraceMs: GRACE_SECONDS * SECOND,
      nodeStartupGraceMs: GRACE_SECONDS * SECOND,
      pulsePeriodMs: 6 * SECOND,
      pulseTimeoutMs: 20 * SECOND,
    },
    faults: new Set(),
    safetyMs: between(random, 110, 150) * SECOND,
  };
}

/** Lets nodes fail and recover, at most so many of a zone at a time. */
function failing(reach: Reach, random: Random): Stop {
  const hastened = [1, 2].flatMap((number) => {
    const kubelets = kubeletsOf(reach, number);
    return Array.from({ length: DOWN_MAX }, (_, turn) => {
      const inTurn = kubelets.filter((_kubelet, index) => index % DOWN_MAX === turn);
      return failingInTurn(reach, random, inTurn);
    });
  });
  return () => {
    for (const hasten of hastened.flat()) hasten();
  };
}

/** Lets nodes fail and recover, one after the other. */
function failingInTurn(reach: Reach, random: Random, kubelets: readonly SimulatedKubelet[]): Stop[] {
  let seconds = between(random, 2, 20);
  return kubelets.flatMap((kubelet) => {
    const steps = stepsOf(kubelet, random);
    const hastened = steps.map(({ afterSeconds, act }) => {
      seconds += afterSeconds;
      return later(reach, random, [seconds, seconds], act);
    });
    seconds += between(random, ...PAUSE_SECONDS);
    return hastened;
  });
}

interface FailureStep {
  readonly afterSeconds: number;
  readonly act: () => void;
}

function stepsOf(kubelet: SimulatedKubelet, random: Random): FailureStep[] {
  const course = oneOf(random, COURSES);
  const downSeconds = oneOf(random, [between(random, 1, GRACE_SECONDS), between(random, 25, 60)]);
  const step = (afterSeconds: number, act: () => void): FailureStep => ({ afterSeconds, act });
  const silence = (): void => kubelet.stop();
  const reports = (ready: "True" | "False") => (): void => {
    kubelet.say(ready);
    kubelet.start();
  };
  if (course === "silent") return [step(0, silence), step(downSeconds, reports("True"))];
  if (course === "notReady") return [step(0, reports("False")), step(downSeconds, reports("True"))];
  const back = step(between(random, 25, 50), reports("True"));
  if (course === "notReadyThenSilent") return [step(0, reports("False")), step(between(random, 1, 15), silence), back];
  return [step(0, silence), step(between(random, 22, 40), reports("False")), back];
}
