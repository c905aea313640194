/** The cluster and the fleet of a run with node policies. It plays nothing. */
import { type Random, SERVICE_NAMES } from "../../../protocols/ports.ts";
import { between, oneOf } from "../chance.ts";
import { BYSTANDERS, only, SECOND, zone } from "../plots.stage.ts";
import type { FaultClass, Swarm } from "../swarm.ts";
import { POLICY_MEMORIES, type PolicyMemory, type PolicyTheme } from "./pools.ts";

/** A storm and what follows lasts minutes, in which its policy must not change. */
const STORMS_SECONDS = 45;
/** Each is drawn in proportion to its entries here. */
const THEMES: readonly PolicyTheme[] = ["any", "any", "any", "rates", "evictions", "storms", "conditions"];
/** Faults of nodes. Without them no pod is evicted. */
const OF_NODES: readonly FaultClass[] = ["death", "zoneDeath", "notReady"];
/** Further faults under which the checks of policies are still exact. */
const OTHERS: ReadonlySet<FaultClass> = new Set<FaultClass>([
  ...BYSTANDERS,
  ...(["zoneDeath", "flapping", "loss", "doubling", "lateness", "crashes", "rollouts", "apiRefusals"] as const),
  ...(["lostReplies", "watchCuts", "compaction", "apiTimeouts", "nodeChurn", "cacheSyncLag"] as const),
  ...(["wrongClocks", "clockSteps", "clockDrift", "moments", "forgedProofs"] as const),
]);
/** Faults under which times are still exact: wrong clocks of machines count for nothing. */
const EXACT: ReadonlySet<FaultClass> = new Set<FaultClass>([...BYSTANDERS, "wrongClocks", "flapping", "forgedProofs"]);

/** In how many runs people prove nodes down. */
const PROVING_SHARE = 0.4;

/** The share of runs with a split bus in which watches lag, so the sides observe different nodes. */
const LAGGING_SHARE = 0.5;
/** How far a watch may lag behind then. */
const LAG_MAX_MS = 4_000;

/** In how many runs policies have remediations. */
const REMEDIATING_SHARE = 0.3;

/** In how many runs with small bounds waves of failures fill them. */
const WAVES_SHARE = 0.4;

/** In how many of the runs without a memory or waves a failure is previewed. */
const PREVIEWED_SHARE = 0.1;

/** In how many of the others a zone is lost. */
const LOST_ZONE_SHARE = 0.06;

/** In how many runs each pair of durations is said in both orders. */
const BOTH_ORDERS_SHARE = 0.5;

/** Acts of people that most runs leave out, and those that no run leaves out. */
const NEVER_SECONDS = 1000;
const NEVER_EVER_SECONDS = 1_000_000;
/** How often people act in a run about a memory. Their freezes create the memory of freezes. */
const PEOPLE_SECONDS: Readonly<Record<PolicyMemory, number>> = {
  breaker: NEVER_SECONDS,
  storm: NEVER_SECONDS,
  flapping: NEVER_SECONDS,
  rates: NEVER_SECONDS,
  freezes: 8,
  holds: NEVER_SECONDS,
};
/** In how many runs a memory is written and read while processes die. */
const MEMORIES_SHARE = 0.3;

/** The share of them in which the memory is that of maintenance: drawn separately, and last of all. */
const HOLDS_SHARE = 0.2;
const DRAWN_MEMORIES = POLICY_MEMORIES.filter((memory) => memory !== "holds");

/** What a run with policies may draw. A seed from before that does not draw it. */
interface PolicyDraws {
  /** Whether pairs of durations may be said in both orders. */
  readonly mayHaveBothOrders: boolean;
  /** Whether the run may be about one of the memories. */
  readonly mayHaveMemories: boolean;
  /** Whether the run may preview a failure. */
  readonly mayBePreviewed: boolean;
  /** Whether the run may lose a zone. */
  readonly mayLoseZone: boolean;
}

/** A run as drawn, with policies. */
export function withPolicies(
  drawn: Swarm,
  chance: (what: string) => Random,
  { mayHaveBothOrders, mayHaveMemories, mayBePreviewed, mayLoseZone }: PolicyDraws,
): Swarm {
  const memories = chance("policies/memories");
  if (mayHaveMemories && memories() < MEMORIES_SHARE) {
    const other = oneOf(memories, DRAWN_MEMORIES);
    const memory = chance("policies/holds")() < HOLDS_SHARE ? "holds" : other;
    return withMemory(policiesDrawn(drawn, chance, false), memory);
  }
  const isWaves = drawn.faults.has("smallBounds") && chance("policies/waves")() < WAVES_SHARE;
  const hasBothOrders = mayHaveBothOrders && chance("policies/orders")() < BOTH_ORDERS_SHARE;
  const swarm = policiesDrawn(drawn, chance, hasBothOrders);
  if (isWaves) return withWaves(swarm);
  if (mayBePreviewed && chance("policies/previews")() < PREVIEWED_SHARE) return withPreview(swarm);
  return mayLoseZone && chance("policies/lostZone")() < LOST_ZONE_SHARE ? withLostZone(swarm) : swarm;
}

/** The course of a run with policies that has only the disturbance it is about. */
const CALM = { isProving: false, isRemediating: false, isSplit: false, isExact: true, isChaos: false } as const;

/** The same run about one memory, which nothing else disturbs. */
function withMemory(drawn: Swarm, memory: PolicyMemory): Swarm {
  const { hindrance: _, ...swarm } = drawn;
  const { policies } = swarm;
  if (policies === undefined) return drawn;
  return {
    ...swarm,
    zones: [zone(1, 8, swarm), zone(2, 8, swarm)],
    podsPerNode: ["rates", "freezes", "holds"].includes(memory) ? 3 : 1,
    processes: swarm.processes.slice(0, 2),
    // A new owner of the limits waits for a few times this.
    profile: { ...swarm.profile, evictionMode: "taint", pulsePeriodMs: 4 * SECOND, pulseTimeoutMs: 14 * SECOND },
    faults: only(swarm, new Set(["smallBounds"])),
    safetyMs: 400 * SECOND,
    policies: { ...policies, ...CALM, isRestarted: true, theme: "any", memory, everySeconds: PEOPLE_SECONDS[memory] },
  };
}

/** The same run with a failure that is previewed, which nothing else disturbs. */
function withPreview(drawn: Swarm): Swarm {
  const { hindrance: _, ...swarm } = drawn;
  const { policies } = swarm;
  if (policies === undefined) return drawn;
  return {
    ...swarm,
    zones: [zone(1, 7, swarm), zone(2, 4, swarm)],
    processes: swarm.processes.slice(0, 2),
    profile: { ...swarm.profile, pulsePeriodMs: 4 * SECOND, pulseTimeoutMs: 14 * SECOND },
    faults: new Set(),
    safetyMs: 330 * SECOND,
    policies: {
      ...policies,
      ...CALM,
      isRestarted: false,
      hasBothOrders: false,
      theme: "previews",
      everySeconds: NEVER_EVER_SECONDS,
    },
  };
}

/** The same run with waves of failures, which nothing else disturbs. */
function withWaves(drawn: Swarm): Swarm {
  const { hindrance: _, ...swarm } = drawn;
  const { policies } = swarm;
  if (policies === undefined) return drawn;
  return {
    ...swarm,
    zones: [zone(1, 8, swarm), zone(2, 8, swarm)],
    podsPerNode: 1,
    // A new owner of the limits waits for a few times this.
    profile: { ...swarm.profile, evictionMode: "taint", pulsePeriodMs: 4 * SECOND, pulseTimeoutMs: 14 * SECOND },
    faults: new Set(["smallBounds"] as const),
    safetyMs: 400 * SECOND,
    policies: { ...policies, ...CALM, isRestarted: false, theme: "waves", everySeconds: NEVER_SECONDS },
  };
}

/** The same run with a zone that is lost. Processes die now and then, and nothing else disturbs it. */
function withLostZone(drawn: Swarm): Swarm {
  const { hindrance: _, ...swarm } = drawn;
  const { policies } = swarm;
  if (policies === undefined) return drawn;
  return {
    ...swarm,
    zones: [zone(1, 9, swarm), zone(2, 5, swarm)],
    podsPerNode: 1,
    processes: swarm.processes.slice(0, 2),
    profile: { ...swarm.profile, evictionMode: "taint" },
    faults: new Set(),
    safetyMs: 240 * SECOND,
    policies: { ...policies, ...CALM, hasBothOrders: false, theme: "lostZone", everySeconds: NEVER_EVER_SECONDS },
  };
}

function policiesDrawn(drawn: Swarm, chance: (what: string) => Random, hasBothOrders: boolean): Swarm {
  const random = chance("policies");
  const { hindrance: _, ...swarm } = drawn;
  const isSplit = random() < 0.25;
  const isExact = !isSplit && random() < 0.6;
  const isRestarted = random() < (isSplit ? 0.2 : 0.5);
  const isChaos = !isExact && (!isSplit || random() < 0.3);
  const changesSeconds = oneOf(random, isSplit ? [20, 60] : [7, 7, 20, 45]);
  const theme = oneOf(chance("policies/theme"), THEMES);
  const everySeconds = theme === "storms" ? Math.max(changesSeconds, STORMS_SECONDS) : changesSeconds;
  const evictionMode = random() < 0.2 ? "direct" : "taint";
  const faults = only(swarm, isChaos ? OTHERS : EXACT);
  return {
    ...swarm,
    plot: null,
    zones: [zone(1, between(random, 5, 8), swarm), zone(2, between(random, 3, 5), swarm)],
    podsPerNode: 3,
    toleration: "short",
    processes: Array.from({ length: between(random, isSplit ? 2 : 1, 3) }, () => [...SERVICE_NAMES]),
    profile: { ...swarm.profile, evictionMode, nodeEvictionsPerSecond: oneOf(random, [0.5, 1]) },
    faults: new Set([...faults, ...OF_NODES, ...(isSplit && isChaos ? (["partitions"] as const) : [])]),
    // A split slows down what the checks of an undisturbed run expect.
    ...(isSplit && { hindrance: { watchLagMs: chance("policies/lags")() < LAGGING_SHARE ? LAG_MAX_MS : 0 } }),
    safetyMs: between(random, 200, isSplit ? 450 : 270) * SECOND,
    policies: {
      theme,
      isProving: chance("policies/proofs")() < PROVING_SHARE,
      isRemediating: chance("policies/remediations")() < REMEDIATING_SHARE,
      isExact,
      isRestarted,
      isSplit,
      isChaos,
      hasBothOrders,
      everySeconds,
    },
  };
}
