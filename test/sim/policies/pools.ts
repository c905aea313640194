/** What a run with node policies has beside others: the pools of its nodes, and bounds of what policies say. */

/**
 * What the policies of a run mostly say: anything; rates and nothing else that blocks nodes; how many pods may be
 * evicted in a minute; what trips a breaker and what follows, for so long that it shows; or which conditions become
 * taints and block evictions; or a breaker with a long window that waves of failures fill, over restarts; or the rate
 * of a zone that is lost; or all that decides when the nodes and pods of a previewed failure go.
 */
export type PolicyTheme = "any" | "rates" | "evictions" | "storms" | "conditions" | "waves" | "lostZone" | "previews";

/** What a policy makes Vigil remember over a restart. */
export const POLICY_MEMORIES = ["breaker", "storm", "flapping", "rates", "freezes", "holds"] as const;
/** What a policy makes Vigil remember over a restart. */
export type PolicyMemory = (typeof POLICY_MEMORIES)[number];

/** How a run with policies is disturbed, and what its policies say. */
export interface PolicyPlan {
  readonly theme: PolicyTheme;
  /**
   * Processes are killed when this memory is written or read; absent in most runs. It also selects what the policies
   * say.
   */
  readonly memory?: PolicyMemory;
  /** Whether policies let nodes be declared out of service, and people say which machines are off. */
  readonly isProving: boolean;
  /** Whether policies have remediations, and controllers carry them out. */
  readonly isRemediating: boolean;
  /** Whether nothing slows down a message, a request or a clock. Then times are exact. */
  readonly isExact: boolean;
  /** Whether processes are killed and started again. */
  readonly isRestarted: boolean;
  /** Whether the bus is split now and then. Each side then has its own owners for everything. */
  readonly isSplit: boolean;
  /** Whether messages are lost and requests are slow. */
  readonly isChaos: boolean;
  /** Whether policies say durations in the rarer order too, such as a holdDown that is longer than its window. */
  readonly hasBothOrders: boolean;
  /** Mean pause between two changes by people, in seconds. */
  readonly everySeconds: number;
}

/** The label by which policies select nodes. */
export const POOL_LABEL = "example.com/pool";
/** The pools; every third node is in none. */
export const POOLS = ["a", "b"] as const;

/** The label of a node's pool, by its number in its zone. */
export function poolLabels(number: number): Record<string, string> {
  const pool = [undefined, ...POOLS][number % (POOLS.length + 1)];
  return pool === undefined ? {} : { [POOL_LABEL]: pool };
}

/** The longest grace that a policy of a run sets, in milliseconds. */
export const GRACE_MAX_MS = 60_000;
