/** A known outage in the simulation: its cluster, its script, and its result. */
import type { Stop } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { CALM_WIRE } from "./faulty-wire.ts";
import type { SimulatedKubelet } from "./kubelet.ts";
import type { Reach } from "./meddler.ts";
import { simulate, type Verdict } from "./simulate.ts";
import { SIMULATED_SERVICES } from "./simulated-services.ts";

const SECOND = 1000;
/** How long the reads of node and pod, the status patch and the deletion last. */
const REQUESTS_OF_A_DELETION = 4;

/** An outage. */
export interface Scenario {
  /** How many nodes each zone has. */
  readonly zones: readonly number[];
  readonly podsPerNode?: number;
  /** How many processes Vigil has, each with every service. */
  readonly processes?: number;
  readonly profile?: Partial<Profile>;
  readonly seconds: number;
  /** The longest time of a request under way, in milliseconds. */
  readonly latencyMaxMs?: number;
  /** The script, started in a calm cluster. The returned function is called at the end. */
  readonly script: (stage: Stage) => Stop | undefined;
}

/** What a script controls. */
export class Stage {
  readonly reach: Reach;

  constructor(reach: Reach) {
    this.reach = reach;
  }

  /** The nodes' kubelets, of one zone or of all. */
  kubelets(zone?: number): SimulatedKubelet[] {
    const all = [...this.reach.world.kubelets.values()];
    return zone === undefined ? all : all.filter(({ name }) => name.startsWith(`zone-${zone}-`));
  }

  /** Runs an action of the world after a while. */
  at(seconds: number, act: () => void): void {
    this.reach.world.clock.after(seconds * SECOND, () => this.reach.world.asWorld(act));
  }

  /** Silences kubelets at once and lets them return within half a minute after a while. */
  silence(kubelets: readonly SimulatedKubelet[], seconds: number): void {
    for (const [index, kubelet] of kubelets.entries()) {
      kubelet.stop();
      this.at(seconds + (30 * index) / kubelets.length, () => kubelet.start());
    }
  }
}

/** Plays a scenario, with every invariant checked and the one right state required after it. */
export function play({
  zones,
  podsPerNode = 2,
  processes = 1,
  profile = {},
  seconds,
  latencyMaxMs = CALM_WIRE.latencyMaxMs,
  script,
}: Scenario): Verdict {
  const swarm = {
    seed: 1,
    plot: null,
    toleration: "any" as const,
    zones: zones.map((nodes, index) => ({ name: `zone-${index + 1}`, labels: "stable" as const, nodes })),
    podsPerNode,
    processes: Array.from({ length: processes }, () => [...SIMULATED_SERVICES]),
    profile: { ...STANDARD_PROFILE, pulsePeriodMs: 2 * SECOND, pulseTimeoutMs: 8 * SECOND, ...profile },
    faults: new Set<never>(),
    safetyMs: seconds * SECOND,
  };
  const meddling = (reach: Reach): Stop => {
    for (const process of reach.processes) process.wireFaults = { ...CALM_WIRE, latencyMaxMs };
    return script(new Stage(reach)) ?? (() => {});
  };
  return simulate(1, swarm, { meddling, roundTripMs: REQUESTS_OF_A_DELETION * (latencyMaxMs + 5) });
}
