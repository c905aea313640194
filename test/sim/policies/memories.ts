/**
 * What policies make Vigil remember. Nodes fail, so a memory is written. Processes are killed at its write and at its
 * next read (`restartTwice`). Then other nodes fail, for which that memory matters.
 */
import type { Random, Stop, Timer } from "../../../protocols/ports.ts";
import type { JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { between, oneOf } from "../chance.ts";
import type { SimulatedKubelet } from "../kubelet.ts";
import type { Reach } from "../meddler.ts";
import { restartTwice } from "../memories.ts";
import { SECOND } from "../plots.stage.ts";
import { reportCondition } from "./agent-conditions.ts";
import { HOLD_TYPE } from "./condition-checks.ts";
import { POOL_LABEL, POOLS, type PolicyMemory, poolLabels } from "./pools.ts";

/** Until a new owner of the limits has settled, and has seen all nodes. */
const SETTLED_SECONDS = 45;

/** One memory: what the policies say, how many nodes of each pool fail, for how long, and how long a round lasts. */
interface MemoryPlay {
  readonly fields: readonly JsonObject[];
  readonly failing: number;
  /** How often they change between ready and not ready; 0 for nodes that fall silent. */
  readonly flaps: number;
  readonly seconds: readonly [least: number, most: number];
  readonly roundSeconds: number;
  /** How long after its failure a node is in maintenance, and for how long; absent for never. */
  readonly maintained?: {
    readonly afterSeconds: readonly [number, number];
    readonly forSeconds: readonly [number, number];
  };
  /** After how long the next write of the memory is waited for; absent for at once. */
  readonly armSeconds?: readonly [least: number, most: number];
}

const GRACE = { nodeMonitorGracePeriod: "20s", nodeEvictionRate: 1, unhealthyZoneThreshold: 1 } as const;

const PLAYS: Readonly<Record<PolicyMemory, MemoryPlay>> = {
  breaker: {
    fields: [2, 3].map((maxNodes) => {
      return { ...GRACE, circuitBreaker: { maxNodes, duration: "900s", resetAfter: "20s" } };
    }),
    failing: 2,
    flaps: 0,
    seconds: [35, 50],
    roundSeconds: 110,
  },
  storm: {
    fields: [
      { ...GRACE, circuitBreaker: { maxNodes: 1, duration: "20s", resetAfter: "150s" } },
      { ...GRACE, circuitBreaker: { maxNodes: 2, duration: "30s", resetAfter: "90s" }, stormCooldownDuration: "60s" },
      { ...GRACE, maxUnhealthy: 2, stormCooldownDuration: "90s" },
    ],
    failing: 4,
    flaps: 0,
    seconds: [60, 220],
    roundSeconds: 170,
  },
  flapping: {
    fields: [
      { ...GRACE, flapping: { transitions: 3, window: "120s", holdDown: "60s" } },
      { ...GRACE, flapping: { transitions: 2, window: "60s", holdDown: "90s" } },
    ],
    failing: 3,
    flaps: 3,
    seconds: [6, 20],
    roundSeconds: 110,
  },
  rates: {
    fields: [1, 2].map((maxPerMinute) => ({ ...GRACE, evictions: { maxPerMinute } })),
    failing: 4,
    flaps: 0,
    seconds: [320, 380],
    roundSeconds: 120,
  },
  // A freeze matters to a countdown that began before it and ends after the restart.
  freezes: {
    fields: [{ ...GRACE }],
    failing: 3,
    flaps: 0,
    seconds: [150, 190],
    roundSeconds: 170,
    armSeconds: [45, 80],
  },
  // So does maintenance, as long as the node is down. If it begins before the verdict, the node is not admitted.
  holds: {
    fields: ["60s", "90s"].map((atMost) => ({ ...GRACE, maintenance: { hold: [HOLD_TYPE], atMost } })),
    failing: 3,
    flaps: 0,
    maintained: { afterSeconds: [6, 60], forSeconds: [30, 50] },
    seconds: [150, 190],
    roundSeconds: 200,
    armSeconds: [30, 60],
  },
};

/** The fields of a policy in a run about a memory. */
export function memoryFieldsOf(random: Random, memory: PolicyMemory): JsonObject {
  return oneOf(random, PLAYS[memory].fields);
}

/** Starts the rounds of a run about a memory. The returned function ends them; nodes come back by themselves. */
export function strikeMemory(reach: Reach, random: Random): Stop {
  const { world } = reach;
  const memory = world.swarm.policies?.memory;
  if (memory === undefined) return () => {};
  const { failing, flaps, maintained, seconds, roundSeconds, armSeconds = [0, 0] } = PLAYS[memory];
  const timers = new Set<Timer>();
  const failed = new Set<SimulatedKubelet>();
  let stopRestarts: Stop = () => {};
  const after = (delaySeconds: number, act: () => void): void => {
    timers.add(world.clock.after(delaySeconds * SECOND, () => world.asWorld(act)));
  };
  const flap = (kubelet: SimulatedKubelet, left: number): void => {
    kubelet.say(left % 2 === 0 ? "True" : "False");
    if (left > 0) after(between(random, ...seconds), () => flap(kubelet, left - 1));
  };
  const fail = (kubelet: SimulatedKubelet): void => {
    failed.add(kubelet);
    if (flaps > 0) {
      flap(kubelet, 2 * flaps - 1);
      return;
    }
    kubelet.stop();
    if (maintained !== undefined) {
      const fromSeconds = between(random, ...maintained.afterSeconds);
      const toSeconds = fromSeconds + between(random, ...maintained.forSeconds);
      after(fromSeconds, () => reportCondition(world, kubelet, HOLD_TYPE, "True"));
      after(toSeconds, () => reportCondition(world, kubelet, HOLD_TYPE, "False"));
    }
    after(between(random, ...seconds), () => kubelet.start());
  };
  const round = (): void => {
    stopRestarts();
    after(between(random, ...armSeconds), () => {
      stopRestarts = restartTwice(reach, random, memory);
    });
    for (const pool of POOLS) {
      for (const kubelet of shuffled(ofPool(reach, pool), random).slice(0, failing)) {
        if (kubelet.alive) fail(kubelet);
      }
    }
    after(roundSeconds, round);
  };
  after(SETTLED_SECONDS, round);
  return () => {
    for (const timer of timers) timer.cancel();
    stopRestarts();
    for (const kubelet of failed) kubelet.start();
    for (const kubelet of failed) kubelet.say("True");
    if (maintained !== undefined) for (const kubelet of failed) reportCondition(world, kubelet, HOLD_TYPE, "False");
  };
}

/** The kubelets of a pool. */
export function ofPool({ world }: Reach, pool: string): SimulatedKubelet[] {
  return [...world.kubelets.values()].filter(({ name }) => {
    const number = Number(/n(\d+)$/.exec(name)?.[1] ?? 0);
    return poolLabels(number)[POOL_LABEL] === pool;
  });
}

/** All in an order of chance. */
export function shuffled<T>(all: readonly T[], random: Random): T[] {
  return all
    .map((each) => ({ each, rank: random() }))
    .sort((left, right) => left.rank - right.rank)
    .map(({ each }) => each);
}
