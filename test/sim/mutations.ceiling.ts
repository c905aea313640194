/** Known bugs of the operator's ceiling on policies as changes of the source, which the simulator must catch. */
import type { Mutation } from "./mutations.list.ts";

/** The bugs. */
export const CEILING_MUTATIONS: readonly Mutation[] = [
  {
    name: "ceiling on policies of one more",
    file: "services/zone/limits/limits.policy.ts",
    from: "  if (admitted + permitted >= most) {\n",
    to: "  if (admitted + permitted > most) {\n",
    showsUnderAttack: "nothing",
  },
  {
    name: "ceiling on policies without its window",
    file: "services/zone/limits/limits.policy.ts",
    from: "  if (newly < most) return null;\n",
    to: "  if (newly < 2 * most) return null;\n",
    showsUnderAttack: "nothing",
  },
  {
    name: "second taint of a node past the ceiling on policies",
    file: "services/zone/limits/zone-limits.ts",
    from: "if (node.isAdmitted && policy !== POLICY_CEILING && needsAnotherTaint(node)) return true;",
    to: "if (node.isAdmitted && needsAnotherTaint(node)) return true;",
    showsUnderAttack: "nothing",
  },
  {
    name: "window of the ceiling forgotten with the last policy",
    file: "services/policy/limit-memory.ts",
    from: "    if (policy !== POLICY_CEILING) return false;\n",
    to: '    if (policy !== "") return false;\n',
    showsUnderAttack: "relaunches",
  },
];
