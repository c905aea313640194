/** How many nodes a limit allows. Percentages are rounded as where the field comes from, so numbers carry over. */
import type { NodeCount } from "../../../protocols/policy-set.ts";

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
