/** The concern of `unhealthyConditions`: taints that are added and removed with conditions of the node. */

import type { Profile } from "../../../../protocols/profile.ts";
import type { Concern, Finding, PolicyView } from "../concern.ts";
import { type ConditionPlan, conditionPlanOf, NO_CONDITION_PLAN, NO_RULES } from "./condition-taints.policy.ts";

/** Decides about the conditions of one node. */
export class Conditions implements Concern {
  readonly #profile: Pick<Profile, "evictionMode">;
  #judged: ConditionPlan["judged"] = [];

  constructor({ profile }: { readonly profile: Pick<Profile, "evictionMode"> }) {
    this.#profile = profile;
  }

  /** While the policy of the node is not known, what was decided last stays open. */
  review(view: PolicyView): Finding {
    const { add, remove, annotations, judged, nextAt } = view.isKnown ? this.#planOf(view) : NO_CONDITION_PLAN;
    if (view.isKnown) this.#judged = judged;
    const { nowMs, wallMs } = view.at;
    return {
      ...(this.#judged.length === 0 ? {} : { judged: { conditions: [...this.#judged] } }),
      taints: { add, remove },
      ...(annotations === null ? {} : { annotations }),
      nextMs: nowMs + Math.max(0, nextAt - wallMs),
    };
  }

  #planOf({ node, policy, selecting, observations, outages, at }: PolicyView): ConditionPlan {
    // If several policies select the node, no rule applies.
    const rules = selecting.length > 1 ? null : (policy ?? NO_RULES);
    const { evictionMode } = this.#profile;
    return conditionPlanOf({ node, rules, observations, evictionMode, outages, now: at });
  }
}
