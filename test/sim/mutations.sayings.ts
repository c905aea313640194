/** Known bugs of comparisons as changes of the source, which the simulator must catch. */
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
];
