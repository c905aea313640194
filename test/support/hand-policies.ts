/** Node policies that a test changes by hand. It asserts nothing. */
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { type FrozenInterval, NO_POLICIES, type PolicySet } from "../../protocols/policy-set.ts";
import type { Policies, Stop } from "../../protocols/ports.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";

/** The fields of a policy without its selector. */
export type PolicyFields = Omit<NodePolicySpec, "selector">;

const ZONES = { key: "topology.kubernetes.io/zone", operator: "In" as const, values: ["a", "b"] };
const SELECTOR = { matchExpressions: [ZONES] };

/** The policies of a test, of the nodes of zones a and b: at most one, unless two are to conflict. */
export class HandPolicies implements Policies {
  #set: PolicySet | null = NO_POLICIES;
  readonly #followers = new Set<(cause: string | null) => void>();

  constructor(fields: PolicyFields | null = null) {
    this.put(fields);
  }

  current(): PolicySet | null {
    return this.#set;
  }

  follow(changed: (cause: string | null) => void): Stop {
    this.#followers.add(changed);
    return () => this.#followers.delete(changed);
  }

  /** Puts the policy in force, with when it froze its nodes and the outages that are remembered; null for none. */
  put(
    fields: PolicyFields | null,
    frozen: readonly FrozenInterval[] = [],
    outages: readonly FrozenInterval[] | null = null,
  ): void {
    const policies = fields === null ? [] : [nodePolicyOf("pool", { selector: SELECTOR, ...fields }, frozen)];
    const isNone = policies.length === 0 && outages === null;
    this.#change(isNone ? NO_POLICIES : policySet(policies, undefined, outages));
  }

  /** Adds a second policy that selects the same nodes as the first. Then neither applies. */
  putConflicting(fields: PolicyFields, other: PolicyFields): void {
    const named = Object.entries({ pool: fields, "pool-too": other });
    this.#change(policySet(named.map(([name, each]) => nodePolicyOf(name, { selector: SELECTOR, ...each }))));
  }

  /** Makes the policies unknown. */
  forget(): void {
    this.#change(null);
  }

  #change(set: PolicySet | null): void {
    this.#set = set;
    for (const changed of this.#followers) changed(null);
  }
}
