/** The node policies: how many of their nodes are in trouble, and what each policy blocks. */
import { byId, cell, element, explained, replaceRows, rowHead, timeOf } from "/elements.js";

/** What a policy blocks, and why. */
function holdsOf({ name, holds, freeze, evictions, conflicts }) {
  const frozen =
    freeze === null ? [] : [freeze.untilAt === null ? "frozen" : ["frozen until ", timeOf(freeze.untilAt)]];
  const limits = holds.map(({ policy, field, nodes }) => {
    const whose = policy === name ? "" : ` of ${policy || "the cluster"}`;
    return `${field}${whose}: ${nodes} ${nodes === 1 ? "node" : "nodes"}`;
  });
  const pods =
    evictions === undefined || evictions.waiting === 0 ? [] : [`${evictions.waiting} pods wait for their turn`];
  const both = conflicts === 0 ? [] : [`${conflicts} nodes have another policy too`];
  const all = [...frozen, ...limits, ...pods, ...both];
  return all.length === 0 ? ["–"] : all.flatMap((words, index) => (index === 0 ? words : ["; ", words].flat()));
}

function breakerCell({ breaker }) {
  if (breaker === null) return cell("Breaker", "quiet", "–");
  const until = breaker.state === "open" && breaker.resetAt !== null ? [" until ", timeOf(breaker.resetAt)] : [];
  return cell("Breaker", breaker.state === "open" ? "harm" : "", breaker.state, ...until);
}

/** Shows the policies of a snapshot. */
export function showPolicies(policies) {
  byId("policies-none").hidden = policies.length > 0;
  const rows = policies.map((policy) => {
    const { name, mode, nodes, unhealthy, budget } = policy;
    const held = holdsOf(policy);
    return element(
      "tr",
      "",
      rowHead(name === "" ? "(all nodes)" : explained("policy", name, name)),
      cell("Mode", mode === null || mode === "Enforce" ? "" : "care", mode ?? "–"),
      cell("Nodes", "", String(nodes)),
      cell("Unhealthy", unhealthy > 0 ? "care" : "", String(unhealthy)),
      breakerCell(policy),
      cell("Budget left", "", budget === null ? "–" : `${budget.left} of ${budget.nodes}`),
      cell("Held back", held[0] === "–" ? "quiet" : "care", ...held),
    );
  });
  replaceRows(byId("policies"), rows);
}
