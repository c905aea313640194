/**
 * How much time the clocks of processes have lost since a node was tainted. The monotonic clock of a suspended machine
 * stops, and so do its countdowns: it may request the deletion of a pod that much later. Example: a pod is due 300 s
 * after its taint; the machine is suspended for 60 s meanwhile; its deletion may be requested after 360 s.
 */
import type { World } from "./world.ts";

/** A process with its own clock. */
export interface Timed {
  readonly name: string;
  /** The time that has passed by its own clock, which may have been suspended. */
  readonly ownMs: number;
}

/** The parts of a run that are needed to compare clocks. */
export interface LostTimeRun {
  readonly world: { readonly clock: Pick<World["clock"], "monotonicMs"> };
  readonly processes: () => readonly Timed[];
}

/** The lost time of all processes. */
export class LostTime {
  readonly #run: LostTimeRun;
  /** What each process had lost when a node got its first NoExecute taint, by node and process. */
  readonly #before = new Map<string, ReadonlyMap<string, number>>();

  constructor(run: LostTimeRun) {
    this.#run = run;
  }

  /** The node carries a NoExecute taint. Others that it may have got since the first one change nothing. */
  tainted(node: string): void {
    if (!this.#before.has(node)) this.#before.set(node, this.#now());
  }

  /** The node carries no NoExecute taint, so no countdown runs on it. */
  untainted(node: string): void {
    this.#before.delete(node);
  }

  /** The most that a process has lost since the node was tainted; 0 for a node without a taint. */
  sinceTaintMs(node: string): number {
    const before = this.#before.get(node);
    if (before === undefined) return 0;
    const lost = [...this.#now()].map(([process, lostMs]) => lostMs - (before.get(process) ?? 0));
    return Math.max(0, ...lost);
  }

  #now(): ReadonlyMap<string, number> {
    const nowMs = this.#run.world.clock.monotonicMs();
    return new Map(this.#run.processes().map(({ name, ownMs }) => [name, nowMs - ownMs]));
  }
}
