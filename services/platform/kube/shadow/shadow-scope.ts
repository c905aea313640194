/** Which writes are not sent: all of them in shadow mode, or those to the nodes of policies with `mode: Shadow`. */
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { PolicyKeys } from "../../../../protocols/policy-set.ts";
import { type ObjectRef, type Policies, type Stop, Urgency, type WriteRequest } from "../../../../protocols/ports.ts";
import { hasShadowPolicies, isInShadow } from "../../../domain/policy-shadow.ts";

/** A node as far as policies select it. */
export type LabelledNode = Pick<ObservedNode, "labels" | "policyLabels">;

/** What happens to a write: `unknown` fails, because the policy of its node is not known. */
export type Sending = "sent" | "unsent" | "unknown";

/** Which nodes are in shadow mode. */
export interface ShadowScope {
  /** Whether any node may be. */
  isActive(): boolean;
  /** Whether a node is; null while its policy is not known. */
  includes(node: LabelledNode): boolean | null;
  /** Whether a write is sent. `nodeOf` finds a node as it was last seen. */
  sending(request: Pick<WriteRequest, "ref" | "urgency">, nodeOf: (name: string) => readonly LabelledNode[]): Sending;
  /** What policies need of nodes. */
  policyKeys(): PolicyKeys | null;
  /** Calls back whenever other nodes may be in shadow mode. */
  follow(changed: () => void): Stop;
}

/** Shadow mode of a whole process. */
export const EVERY_NODE: ShadowScope = {
  isActive: () => true,
  includes: () => true,
  sending: () => "unsent",
  policyKeys: () => null,
  follow: () => () => {},
};

/** The nodes of policies with `mode: Shadow`. */
export function shadowPolicyScope(policies: Policies): ShadowScope {
  const includes = (node: LabelledNode): boolean | null => isInShadow(node, policies.current());
  return {
    isActive: () => hasShadowPolicies(policies.current()),
    includes,
    sending: (request, nodeOf) => {
      const set = policies.current();
      const name = nodeNameOf(request.ref);
      if (name === null) return "sent";
      // Another process may know a policy already, and request what must not be written. Healing goes on.
      if (set === null) return isHarmful(request) ? "unknown" : "sent";
      if (!hasShadowPolicies(set)) return "sent";
      const known = nodeOf(name).map(includes);
      if (known.includes(true)) return "unsent";
      return known.includes(false) ? "sent" : "unknown";
    },
    policyKeys: () => policies.current(),
    follow: (changed) => policies.follow(() => changed()),
  };
}

/**
 * The node that a write is about: empty for a pod whose node its writer does not name, null for anything else that is
 * about none.
 */
function nodeNameOf({ kind, name, node }: ObjectRef): string | null {
  if (kind === "Node") return name;
  if (kind === "CustomResource") return node ?? null;
  return kind === "Pod" ? (node ?? "") : null;
}

/** A verdict, a pod marked not ready, and an eviction. A taint that evicts is refused until the policies are known. */
function isHarmful({ urgency }: Pick<WriteRequest, "urgency">): boolean {
  return urgency === Urgency.status || urgency === Urgency.readiness || urgency === Urgency.eviction;
}
