/**
 * Known bugs of explanations, comparisons and previews as changes of the source. The simulator must catch those of
 * comparisons and of previews. A unit test or a seed must catch one of each kind of guess: an effect before its
 * receipt, the end of one limit, a last branch, a cut instant or a new date, a permit that counts as used.
 */
import type { Mutation } from "./mutations.list.ts";

/** The bugs. */
export const SAYING_MUTATIONS: readonly Mutation[] = [
  {
    name: "a change without an author is another client's",
    file: "services/ledger/compare/comparison.ts",
    from: 'return isShadow || (isBeside && step === "noExecute") ? "others" : "unknown";',
    to: 'return isShadow || isBeside ? "unknown" : "others";',
  },
  {
    name: "a refused verdict counts as written",
    file: "services/ledger/compare/comparison.ts",
    from: 'const isTaken = (isWritten || outcome === "shadowed")',
    to: 'const isTaken = (isWritten || outcome === "refused")',
  },
  {
    name: "a deletion that failed counts as done",
    file: "services/ledger/compare/comparison.ts",
    from: 'const isWritten = outcome === "ok" && change !== "";',
    to: 'const isWritten = outcome !== "refused" && change !== "";',
  },
  {
    name: "accepted change awaited that the node showed first",
    file: "services/ledger/state/node-requests.ts",
    from: "if (body.detail === SHOWN_BY_NODE || isShownBy(observed, body)) {",
    to: "if (body.detail === SHOWN_BY_NODE) {",
    showsInTest: "test/ledger/state/either-order.test.ts",
  },
  {
    name: "until is the end of the first hold",
    file: "services/zone/limits/limit-round.ts",
    from: "const BLOCKS_FOLLOWED_MAX = 200;",
    to: "const BLOCKS_FOLLOWED_MAX = 0;",
    showsInTest: "test/zone/limits/limits.actor.test.ts",
  },
  {
    name: "a pod that stays tolerates its taints",
    file: "services/cli/preview/pod-reasons.policy.ts",
    from: "return isTolerated ? ",
    to: "return isTolerated || evicting === undefined ? ",
    showsInTest: "test/ledger/explain/not-known.test.ts",
  },
  {
    name: "a node that waits is held by its breaker",
    file: "services/cli/preview/preview.policy.ts",
    from: "(hold === null ? null : `",
    to: '(hold === null ? policy && "circuitBreaker of ".concat(policy.name) : `',
    showsIn: "previewedPolicies",
  },
  {
    name: "last heartbeat of a preview is that of its list",
    file: "services/sandbox/virtual/snapshot-objects.ts",
    from: "([node, lease]) => [node, lease.renewedAt]",
    to: "([node]) => [node, clock.wallMs()]",
    showsIn: "previewedFailure",
  },
  {
    name: "a change at its stamp, which is cut to seconds",
    file: "services/ledger/compare/node-failure.policy.ts",
    from: "if (stampAt === null || (wasSeenWithout && shownAt - stampAt <= SHOWN_WITHIN_MS)) return shownAt;",
    to: "if (stampAt === null) return shownAt;",
    showsInTest: "test/ledger/compare/who-wrote.test.ts",
  },
  {
    name: "a permit leaves less of a budget",
    file: "services/domain/limited-policies.ts",
    from:
      '  condemned,\n}: Pick<BodyOf<"judged.limits">, "budget" | "condemned">): number | null {\n' +
      "  return budget === undefined ? null : Math.max(0, budget - condemned);",
    to:
      '  condemned,\n  permits,\n}: Pick<BodyOf<"judged.limits">, "budget" | "condemned" | "permits">): number | null {\n' +
      "  return budget === undefined ? null : Math.max(0, budget - condemned - permits.length);",
    showsInTest: "test/policy/policy-status.policy.test.ts",
  },
];
