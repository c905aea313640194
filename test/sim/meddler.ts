/** The reach of a fault, how often it acts, and how a lasting one ends. It causes no fault itself. */
import type { Clock, Random, Stop, Timer } from "../../protocols/ports.ts";
import { between, oneOf } from "./chance.ts";
import { CALM_WIRE } from "./faulty-wire.ts";
import type { CALM_LINKS, Network } from "./network.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Step } from "./simulate.ts";
import type { World } from "./world.ts";

/** The prefix of a step that is a fault. */
export const FAULT = "fault";

/** A step for an act of a class. */
export function stepOf(fault: string, atMs: number): Step {
  return { atMs, writer: "", what: `${FAULT} ${fault}` };
}

/** Everything a fault can reach. */
export interface Reach {
  readonly world: World;
  readonly network: Network;
  readonly processes: readonly SimulatedProcess[];
  /** Counts a situation that the run is meant to reach. */
  readonly count: (situation: string) => void;
  /** Called for each act of a class, for the description of the run. */
  readonly struck: (fault: string) => void;
}

/** One class of fault. */
export interface Meddler {
  /** Mean pause between two acts, in seconds. */
  readonly everySeconds: number;
  /** Causes the fault. The returned function ends a fault that would otherwise last. */
  readonly act: (reach: Reach, random: Random) => Stop | undefined;
}

/** Undoes something after a while, or at once when the faults end first. */
export function lasting(reach: Reach, random: Random, mostSeconds: number, undo: Stop): Stop {
  return lastingFor(reach, between(random, 1, mostSeconds), undo);
}

/** Undoes something after this many seconds, or at once when the faults end first. */
export function lastingFor({ world }: Reach, seconds: number, undo: Stop): Stop {
  let done = false;
  const once = (): void => {
    if (done) return;
    done = true;
    timer.cancel();
    undo();
  };
  const timer: Timer = world.clock.after(seconds * 1000, once);
  return once;
}

/** This long after the faults ended, everything that was to return has returned. */
const BACK_WITHIN_MS = 25_000;

/** Runs an action of the world after a while; when the faults end first, soon after that. */
export function later(
  { world }: Reach,
  random: Random,
  [leastSeconds, mostSeconds]: readonly [number, number],
  act: () => void,
): Stop {
  const delayMs = between(random, leastSeconds, mostSeconds) * 1000;
  const dueMs = world.clock.monotonicMs() + delayMs;
  const timer = world.clock.after(delayMs, () => world.asWorld(act));
  return () => {
    const leftMs = dueMs - world.clock.monotonicMs();
    if (leftMs <= BACK_WITHIN_MS) return;
    timer.cancel();
    world.clock.after(leftMs % BACK_WITHIN_MS, () => world.asWorld(act));
  };
}

/** Acts again and again. Each pause is drawn when the act before it is over. */
export function repeatedly(clock: Clock, pauseMs: () => number, act: () => void): Stop {
  let timer: Timer;
  const plan = (): void => {
    timer = clock.after(pauseMs(), () => {
      act();
      plan();
    });
  };
  plan();
  return () => timer.cancel();
}

/** Makes all links worse for a while. */
export function withLinks(reach: Reach, random: Random, change: Partial<typeof CALM_LINKS>): Stop {
  const { network } = reach;
  network.faults = { ...network.faults, ...change };
  const back = Object.fromEntries(Object.keys(change).map((name) => [name, 0]));
  return lasting(reach, random, 60, () => {
    network.faults = { ...network.faults, ...back };
  });
}

/** Makes one process's connection to the API server worse for a while. */
export function withWire(reach: Reach, random: Random, change: Partial<typeof CALM_WIRE>): Stop {
  const process = oneOf(random, reach.processes);
  process.wireFaults = { ...CALM_WIRE, ...change };
  return lasting(reach, random, 60, () => {
    process.wireFaults = CALM_WIRE;
  });
}
