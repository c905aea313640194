/** Budgets: how many nodes of a policy may carry a NoExecute taint at once, always or while a schedule applies. */
import type { Budget, NodeCount } from "../../../protocols/policy-set.ts";
import { CronSchedule, scheduleProblem } from "../../domain/cron-schedule.ts";

/** A budget with its schedule parsed. */
export interface ScheduledBudget {
  readonly nodes: NodeCount;
  /** Null for a budget that always applies, such as one whose schedule this process cannot read. */
  readonly window: { readonly schedule: CronSchedule; readonly durationMs: number } | null;
}

/** What the budgets of a policy allow at one instant. */
export interface Allowance {
  /** The fewest nodes that a budget in force allows; infinite without one. */
  readonly nodes: number;
  /** When the budget that allows the fewest ends, in epoch milliseconds; null when it does not end by itself. */
  readonly untilAt: number | null;
}

/** Parses the schedules of budgets. */
export function scheduledBudgets(budgets: readonly Budget[]): readonly ScheduledBudget[] {
  return budgets.map(({ nodes, window }) => {
    if (window === null) return { nodes, window };
    const { schedule, timeZone, durationMs } = window;
    // The policy service accepted it, but may know more time zones.
    if (scheduleProblem(schedule, timeZone) !== null) return { nodes, window: null };
    return { nodes, window: { schedule: new CronSchedule(schedule, timeZone), durationMs } };
  });
}

/**
 * What the budgets allow for so many selected nodes: the most restrictive one in force counts. A budget with a schedule
 * is in force from each run for its duration, the first instant included and the last one excluded (as in Karpenter).
 * Example: a budget of 0 runs at 22:00 for 8 h, and one of 10 % applies always. From 22:00:00 until before 06:00:00 no
 * node may be admitted, otherwise 2 of 19.
 */
export function allowanceOf(budgets: readonly ScheduledBudget[], selected: number, wallMs: number): Allowance {
  let fewest: Allowance = { nodes: Number.POSITIVE_INFINITY, untilAt: null };
  for (const budget of budgets) {
    const force = forceOf(budget, wallMs);
    if (force === null) continue;
    const nodes = nodesAllowed(budget.nodes, selected, "up");
    const endsLater = nodes === fewest.nodes && isLater(force.untilAt, fewest.untilAt);
    if (nodes < fewest.nodes || endsLater) fewest = { nodes, untilAt: force.untilAt };
  }
  return fewest;
}

/** Whether a budget is in force, and until when; null when it is not. */
function forceOf({ window }: ScheduledBudget, wallMs: number): Pick<Allowance, "untilAt"> | null {
  if (window === null) return { untilAt: null };
  const { schedule, durationMs } = window;
  const runAt = schedule.nextAfter(wallMs - durationMs);
  return runAt === null || runAt > wallMs ? null : { untilAt: endOf(schedule, runAt, durationMs) };
}

/** When a budget ends that has run at `runAt`. A run before the end of the last one extends it. */
function endOf(schedule: CronSchedule, runAt: number, durationMs: number): number | null {
  let untilAt = runAt + durationMs;
  for (let runs = 0; runs < RUNS_FOLLOWED_MAX; runs++) {
    const nextAt = schedule.nextAfter(untilAt - durationMs);
    if (nextAt === null || nextAt > untilAt) return untilAt;
    untilAt = nextAt + durationMs;
  }
  return null;
}

/** How many overlapping runs are followed to find a budget's end. With more of them no end is published. */
const RUNS_FOLLOWED_MAX = 8;

function isLater(left: number | null, right: number | null): boolean {
  return right !== null && (left === null || left > right);
}

/**
 * The number of nodes that a count means for a policy that selects so many. `down`: maxUnhealthy, as in Cluster API,
 * where 40 % of 6 machines are 2. `up`: budgets, as in Karpenter, where 10 % of 19 nodes are 2, and breakers, so that a
 * share of a small pool is at least one node.
 */
export function nodesAllowed(count: NodeCount, selected: number, rounding: "up" | "down"): number {
  if ("nodes" in count) return count.nodes;
  const hundredths = count.percentage * selected;
  return rounding === "up" ? Math.ceil(hundredths / 100) : Math.floor(hundredths / 100);
}
