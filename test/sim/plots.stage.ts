/** The parts of plots. It knows no rule of Vigil. */
import type { Random, Stop, Timer } from "../../protocols/ports.ts";
import { between, oneOf } from "./chance.ts";
import { JOINING_NODE_FAULTS } from "./faults/joining-nodes.ts";
import { NODE_FAULTS } from "./faults/nodes.ts";
import { type CheckedNode, isPaced } from "./invariants.ts";
import type { SimulatedKubelet } from "./kubelet.ts";
import type { Reach } from "./meddler.ts";
import type { SimulatedProcess } from "./process.ts";
import type { FaultClass, Swarm, ZonePlan } from "./swarm.ts";

/** One plot. */
export interface Plot {
  /** The last class of fault when the plot was added. A seed that draws up to an earlier one does not draw the plot. */
  readonly latest?: FaultClass;
  /** The share of the seeds that it gets of those that no plot before it has; absent for the usual one. */
  readonly share?: number;
  /** The drawn swarm, changed to make the plot possible. */
  readonly stage: (swarm: Swarm, random: Random) => Swarm;
  /** Starts the plot in a calm cluster. The returned function ends it. */
  readonly play: (reach: Reach, random: Random) => Stop;
}

/** A second, in milliseconds. */
export const SECOND = 1000;

/** Faults by which a node may count differently than the plot intends. */
export const CHANGES_OF_NODES: ReadonlySet<string> = new Set(Object.keys({ ...NODE_FAULTS, ...JOINING_NODE_FAULTS }));
/** Faults of people and pods, which slow down no process. */
export const BYSTANDERS: ReadonlySet<FaultClass> = new Set<FaultClass>([
  "podChurn",
  "tolerationEdits",
  "cordons",
  "smallBounds",
]);

/** A zone of this many nodes, labelled as the swarm's own zones are. */
export function zone(number: number, nodes: number, { zones }: Swarm): ZonePlan {
  return { name: `zone-${number}`, labels: zones[0]?.labels === "beta" ? "beta" : "stable", nodes };
}

/** The faults of a swarm that are compatible with a plot. */
export function only({ faults }: Swarm, allowed: ReadonlySet<FaultClass>): ReadonlySet<FaultClass> {
  return new Set([...faults].filter((name) => allowed.has(name)));
}

/** The kubelets of a zone. */
export function kubeletsOf({ world }: Reach, number: number): SimulatedKubelet[] {
  return [...world.kubelets.values()].filter(({ name }) => name.startsWith(`zone-${number}-`));
}

/** Spans of seconds, from the shortest to the longest. */
interface Deaths {
  readonly livesSeconds: readonly [least: number, most: number];
  readonly deadSeconds: readonly [least: number, most: number];
}

/**
 * After the first NoExecute taint, kills and restarts processes, one at a time and chosen by chance, again and again.
 */
export function dyingAgain({ world, processes }: Reach, random: Random, { livesSeconds, deadSeconds }: Deaths): Stop {
  let timer: Timer;
  const after = ([least, most]: readonly [number, number], act: () => void): void => {
    timer = world.clock.after(between(random, least * SECOND, most * SECOND), act);
  };
  const isBegun = (): boolean => world.objects<CheckedNode>("nodes").some(({ spec }) => spec?.taints?.some(isPaced));
  const wait = (): void => after([1, 1], () => (isBegun() ? live() : wait()));
  const live = (): void => after(livesSeconds, () => die(oneOf(random, processes)));
  const die = (process: SimulatedProcess): void => {
    process.kill();
    after(deadSeconds, () => {
      process.start();
      live();
    });
  };
  wait();
  return () => timer.cancel();
}
