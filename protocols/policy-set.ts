/**
 * The node policies in force, as the services of a process see them: parsed, in whole units, and complete. An unset
 * field is null and means upstream's behaviour.
 */
import type { DownProofKind } from "./names.ts";
import type { PlainValues } from "./node-policy.ts";
import type { ConditionStatus } from "./objects.ts";

/** How a node is chosen by one label. An operator without values has an empty list. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values: readonly string[];
}

/** A number of nodes, or a share of the nodes that the policy selects. */
export type NodeCount = { readonly nodes: number } | { readonly percentage: number };

/** A user who has frozen a policy. Instants are epoch milliseconds; null where they are not given. */
export interface PauseRequest {
  readonly name: string;
  readonly reason: string | null;
  readonly sinceAt: number | null;
  readonly untilAt: number | null;
}

/** The requests that freeze nodes, and when the nodes were and are frozen. */
export interface Freezes {
  readonly pauseRequests: readonly PauseRequest[];
  /** Past and present, and what is planned; in order and apart. Epoch milliseconds of the API's clock. */
  readonly frozen: readonly FrozenInterval[];
}

/** Time in which nodes are frozen: from an instant up to, but not including, another; null for an end not yet known. */
export interface FrozenInterval {
  readonly fromAt: number;
  readonly toAt: number | null;
}

/**
 * When new admissions for eviction trip the breaker: either limit, within the duration. Example with at most 3 nodes
 * within 10 min: three are admitted at 12:00. A fourth node trips the breaker at 12:09, but not at 12:11.
 */
export interface CircuitBreaker {
  readonly percentage: number | null;
  readonly nodesMax: number | null;
  readonly durationMs: number;
  /** When a tripped breaker closes by itself; null for never. */
  readonly resetAfterMs: number | null;
  /**
   * Whether it also keeps the pods of silent nodes from being marked not ready. Then it trips, too, once more nodes
   * have gone down within the duration than it lets be admitted.
   */
  readonly holdsReadiness: boolean;
}

/** How many nodes may be disrupted at once, always or while a schedule applies. */
export interface Budget {
  readonly nodes: NodeCount;
  /** Null for a budget that always applies. */
  readonly window: { readonly schedule: string; readonly timeZone: string | null; readonly durationMs: number } | null;
}

/** How pods are evicted. */
export interface EvictionSettings {
  readonly method: "Delete" | "Evict" | "EvictThenDelete";
  readonly deleteAfterMs: number | null;
  readonly perMinuteMax: number | null;
  readonly perNamespacePerMinuteMax: number | null;
}

/** A condition that becomes a taint of its node once it has had this status for the duration. */
export interface UnhealthyCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly durationMs: number;
  /** With the value of the rule, or `OWN_TAINT_VALUE`: either says that the taint is Vigil's. */
  readonly taint: { readonly key: string; readonly effect: string; readonly value: string };
}

/** When a node is declared out of service. */
export interface OutOfServiceSettings {
  /** How long it has to be silent. */
  readonly afterMs: number;
  /** The proofs that count, of which it needs one. */
  readonly proofs: readonly DownProofKind[];
  readonly removeWhenReady: boolean;
}

/** One attempt to repair a node: an object of the remediation API of medik8s, made from a template. */
export interface Remediation {
  /** How long it may take before the next one follows. */
  readonly timeoutMs: number;
  readonly template: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
  /** Whether it is only logged and explained. */
  readonly dryRun: boolean;
}

/** Conditions that freeze a node while it has one of them with status True. */
export interface Maintenance {
  readonly hold: readonly string[];
  /** How long each of them freezes it at most, from its first observation. */
  readonly atMostMs: number;
}

/** One policy. Fields that no service honours yet are absent. */
export interface NodePolicy extends Freezes, PlainValues {
  readonly name: string;
  /** Why fields of its object count as unset, a line for each of the first ones; absent for none. */
  readonly refused?: readonly string[];
  /** All of them must match; without any, every node is selected. */
  readonly selector: readonly LabelRequirement[];
  readonly mode: "Enforce" | "Freeze";
  readonly maxUnhealthy: NodeCount | null;
  readonly circuitBreaker: CircuitBreaker | null;
  readonly flapping: { readonly transitions: number; readonly windowMs: number; readonly holdDownMs: number } | null;
  readonly unhealthyConditions: readonly UnhealthyCondition[];
  readonly maintenance: Maintenance | null;
  readonly evictions: EvictionSettings | null;
  readonly budgets: readonly Budget[];
  /** In order, each until it succeeds or its timeout is over. */
  readonly remediations: readonly Remediation[];
  readonly outOfService: OutOfServiceSettings | null;
}

/** All policies at one instant. */
export interface PolicySet {
  readonly policies: readonly NodePolicy[];
  /** A checksum of what the policies need of a node and the observer otherwise drops; 0 when there is nothing. */
  readonly labelsChecksum: number;
  /** The label keys among that, sorted. */
  readonly labelKeys: readonly string[];
  /** The types of conditions among that, sorted. */
  readonly conditionTypes: readonly string[];
  /** The freezes of all nodes, whatever their policies. */
  readonly everywhere: Freezes;
  /** The outages that are remembered, in order and apart; null where no process remembers any. */
  readonly outages: readonly FrozenInterval[] | null;
}

/** What policies need of a node and the observer otherwise drops. */
export type PolicyKeys = Pick<PolicySet, "labelKeys" | "conditionTypes" | "labelsChecksum">;

/**
 * Which policy a node has. `unknown`: the policies, or the node's labels that they select by, have not arrived; nothing
 * harmful may be requested. `conflict`: several policies select the node, so none of them applies.
 */
export type PolicyOfNode =
  | { readonly kind: "none" }
  | { readonly kind: "policy"; readonly policy: NodePolicy }
  | { readonly kind: "conflict"; readonly names: readonly string[] }
  | { readonly kind: "unknown" };

/** Nothing frozen. */
export const NO_FREEZES: Freezes = { pauseRequests: [], frozen: [] };

/** The set without any policy. */
export const NO_POLICIES: PolicySet = {
  policies: [],
  labelsChecksum: 0,
  labelKeys: [],
  conditionTypes: [],
  everywhere: NO_FREEZES,
  outages: null,
};
