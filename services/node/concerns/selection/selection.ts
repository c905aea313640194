/** Which policies select one node, and what they replace of the settings that hold for all nodes. */
import { CONFLICT_MAX } from "../../../../protocols/judged.ts";
import type { BodyOf } from "../../../../protocols/messages.ts";
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { NodePolicy, PolicyOfNode, PolicySet } from "../../../../protocols/policy-set.ts";
import type { Profile } from "../../../../protocols/profile.ts";
import { selectingPolicies } from "../../../domain/node-policy.ts";
import { domainKeyOf } from "../../../domain/zone-key.ts";

/** The policies of one node, as last known. */
export class Selection {
  /** Null for none, undefined while that has never been known. */
  policy: NodePolicy | null | undefined;
  /** The policies that select it. Each of them may block its evictions, even if several conflict and none applies. */
  selecting: readonly NodePolicy[] = [];
  /** Whether its policy is known now. */
  isKnown = false;
  #conflict: readonly string[] = [];

  constructor(policy: null | undefined) {
    this.policy = policy;
  }

  /**
   * Applies the policies in force. An unknown one counts as the last known one. If several select the node, none
   * applies.
   */
  resolve(resolved: PolicyOfNode, set: PolicySet | null): void {
    this.isKnown = set !== null && resolved.kind !== "unknown";
    if (set === null || resolved.kind === "unknown") return;
    this.selecting = selectingPolicies(resolved, set);
    this.policy = resolved.kind === "policy" ? resolved.policy : null;
    this.#conflict = resolved.kind === "conflict" ? resolved.names : [];
  }

  /** Whether several policies select the node. */
  get isConflict(): boolean {
    return this.#conflict.length > 0;
  }

  /** The key of the disruption domain the node belongs to: its zone, or its zone and policy. */
  domainOf({ labels }: Pick<ObservedNode, "labels">): string {
    return domainKeyOf(labels, this.policy ?? null);
  }

  /** How long the node may be silent. */
  graces(profile: Profile): Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs"> {
    const { nodeMonitorGraceMs, nodeStartupGraceMs } = this.policy ?? {};
    return {
      nodeMonitorGraceMs: nodeMonitorGraceMs ?? profile.nodeMonitorGraceMs,
      nodeStartupGraceMs: nodeStartupGraceMs ?? profile.nodeStartupGraceMs,
    };
  }

  /** Its policy, or the conflicting ones, of which none applies. */
  get judged(): Pick<BodyOf<"judged.node">, "policy" | "conflict"> {
    if (this.isConflict) return { conflict: this.#conflict.slice(0, CONFLICT_MAX) };
    return this.policy == null ? {} : { policy: this.policy.name };
  }
}
