/** Known bugs of what people are told, as changes of the source, which the simulator must catch. */
import type { Mutation } from "./mutations.list.ts";

/** The bugs. */
export const SAYING_MUTATIONS: readonly Mutation[] = [
  {
    name: "what the API shows without an author is another controller's",
    file: "services/ledger/compare/comparison.ts",
    from: 'return isShadow || (isBeside && step === "noExecute") ? "others" : "unknown";',
    to: 'return isShadow || isBeside ? "unknown" : "others";',
  },
  {
    name: "what a refused verdict asked for is written",
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
