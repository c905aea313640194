/** The pages of the reference that follow from the code. `npm run fix` writes them, test/docs.test.ts compares them. */
import { consolePage } from "./console-page.ts";
import { decisionsPage } from "./decisions-page.ts";
import { nodePolicyPage } from "./node-policy-page.ts";
import { verbsPage } from "./verbs-page.ts";

/** How to make each page, by its path. */
export const GENERATED_PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  "docs/decisions/README.md": decisionsPage,
  "docs/reference/console.md": consolePage,
  "docs/reference/node-policy.md": nodePolicyPage,
  "docs/reference/verbs.md": verbsPage,
};
