/**
 * Whether dead nodes are found in time during faults. Where only processes and their paths fail, a silent node is
 * Unknown a grace after its last heartbeat or after the last disturbance.
 */
import { MOVE_PAUSE_MS } from "../../services/platform/fleet/offer.policy.ts";
import { type GracesOf, mostMs } from "./graces.ts";
import { BrokenInvariant } from "./invariants.ts";
import type { NodeStates } from "./node-states.ts";
import { isUnhindered, RECOVERY_MS } from "./promptness.ts";
import type { FaultClass } from "./swarm.ts";
import type { World } from "./world.ts";
import { countsOf, ratesOf } from "./zone-rates.ts";

/** The time from a verdict to its write: a request, a lease read, a patch. */
const WAY_MS = 3_000;
/** Faults of single processes, from which other processes or they themselves recover within a known time. */
const OF_PROCESSES: ReadonlySet<FaultClass> = new Set<FaultClass>(["crashes", "rollouts", "apiCuts"]);

/** The parts of a run in which silent nodes are checked. */
export interface SilenceWorld {
  readonly world: World;
  readonly states: NodeStates;
  readonly graces: GracesOf;
  /** Whether the only faults are those of the swarm and its plot. */
  readonly isDrawn: boolean;
}

/** A process that died or lost its path to the API server; `lastDeathMs` is on the world's monotonic clock. */
export interface LostProcess {
  readonly name: string;
  readonly lastDeathMs: number;
}

/** Checks silent nodes. Instants are on the world's wall clock, unless stated otherwise. */
export class SilentNodes {
  readonly #world: World;
  readonly #states: NodeStates;
  readonly #graces: GracesOf;
  readonly #applies: boolean;
  /** May lie ahead: until then a process may keep what it cannot do. */
  #disturbedMs = Number.NEGATIVE_INFINITY;
  /** When each process was lost last, on the monotonic clock. */
  readonly #lostMs = new Map<string, number>();

  constructor({ world, states, graces, isDrawn }: SilenceWorld) {
    const { swarm } = world;
    const others = [...swarm.faults].filter((name) => !OF_PROCESSES.has(name));
    this.#world = world;
    this.#states = states;
    this.#graces = graces;
    this.#applies = isDrawn && isUnhindered({ ...swarm, faults: new Set(others) });
  }

  /** A process died or started, or its path was cut or repaired. */
  disturbed(): void {
    this.#disturbedMs = Math.max(this.#disturbedMs, this.#world.clock.wallMs());
  }

  /**
   * A process was lost. One that was cut off before may just have offered its services again, and does not withdraw
   * them for MOVE_PAUSE_MS (decision 17). One that starts anew has no such past.
   */
  lost({ name, lastDeathMs }: LostProcess): void {
    const { clock } = this.#world;
    const wasCutOff = (this.#lostMs.get(name) ?? Number.NEGATIVE_INFINITY) > lastDeathMs;
    this.#lostMs.set(name, clock.monotonicMs());
    if (wasCutOff) this.#disturbedMs = Math.max(this.#disturbedMs, clock.wallMs() + MOVE_PAUSE_MS);
  }

  /** A node changed: a halt may be over before the next look (seed 922418796). */
  nodeChanged(): void {
    if (this.#applies && this.#isHalted()) this.disturbed();
  }

  /** Checks every node; `isServed` is whether each service runs in some undisturbed process. */
  look(isServed: boolean): void {
    if (!this.#applies) return;
    const world = this.#world;
    if (!isServed || this.#isHalted()) this.disturbed();
    const { clock, kubelets, signs } = world;
    const nowMs = clock.wallMs();
    for (const { name, alive } of kubelets.values()) {
      const state = this.#states.now(name);
      if (alive || state === null || state.zone === null || state.ready === "Unknown") continue;
      const lastMs = Math.max(signs.lastBy(name, nowMs), state.fromMs, this.#disturbedMs + RECOVERY_MS);
      // A node may lose its Ready condition at any time, and then has the grace of one that starts.
      const graces = this.#graces(name, nowMs - WAY_MS);
      const startupMs = state.ready === null ? mostMs(graces, "startupMs") : 0;
      const graceMs = Math.max(mostMs(graces, "monitorMs"), startupMs);
      const lateMs = nowMs - lastMs - graceMs - WAY_MS;
      if (lateMs > 0) throw new BrokenInvariant(`${name} is silent and was not made Unknown for ${lateMs} ms too long`);
    }
  }

  /** Whether all zones are down. When a halt ends, every node has its full grace again (R6.11). */
  #isHalted(): boolean {
    return ratesOf(countsOf(this.#states.present()), this.#world.swarm) === null;
  }
}
