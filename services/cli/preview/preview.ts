/** What a preview answers. Spans are in milliseconds after the start. */
import type { DownProofKind } from "../../../protocols/names.ts";
import type { Profile } from "../../../protocols/profile.ts";
import type { DisruptionState } from "../../zone/zone.machine.ts";

/** A zone whose state or count changes. */
export interface PreviewedZone {
  readonly zone: string;
  readonly size: number;
  readonly before: { readonly state: DisruptionState; readonly notReady: number };
  readonly after: { readonly state: DisruptionState; readonly notReady: number; readonly taintsPerSecond: number };
  /** How many of its nodes wait at the end, without any prospect of being admitted. */
  readonly waiting: number;
}

/** A remediation of a silent node, made unless the one before it has succeeded. */
export interface PreviewedRemediation {
  readonly kind: string;
  readonly createdAfterMs: number;
  /** Null for never: it is only logged and explained, or a freeze has no end. */
  readonly timesOutAfterMs: number | null;
  /** Set where it is only logged and explained. */
  readonly isDryRun?: true;
}

/** What the policy of a silent node does about its machine. */
export interface PreviewedRecovery {
  readonly remediations?: readonly PreviewedRemediation[];
  /** The taint by one of these proofs, at the earliest then; null while a freeze has no end. */
  readonly outOfService?: { readonly fromAfterMs: number | null; readonly proofs: readonly DownProofKind[] };
}

/** A node that something happens to, in the order in which it happens. */
export interface PreviewedNodeReport extends PreviewedRecovery {
  readonly node: string;
  readonly zone: string;
  /** Its policy; null for none. */
  readonly policy: string | null;
  /** The policies that select it where several do, so that none applies. */
  readonly conflict?: readonly string[];
  /** Null for a node that does not become Unknown within the preview. */
  readonly unknownAfterMs: number | null;
  /** When it is tainted NoExecute, or drained in direct mode; null when it is not. */
  readonly admittedAfterMs: number | null;
  /** What holds it back at the end: a freeze, or a field of a policy; null for nothing. */
  readonly heldBy: string | null;
  readonly pods: number;
  readonly podsDeleted: number;
  /** Set for a node that the fault does not touch, because it is down or tainted already. */
  readonly isDownAlready?: true;
}

/** A pod of such a node. */
export interface PreviewedPodReport {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  /** Null for a pod that stays, as far as is known. */
  readonly deletedAfterMs: number | null;
  /**
   * Set where a rate of evictions makes the instant unknown: the pod goes then at the earliest. `deletedAfterMs` is the
   * same, or null where the pod may stay as well.
   */
  readonly earliestAfterMs?: number;
  /** Set where the policy evicts through the Eviction API. */
  readonly evictedBy?: "Evict" | "EvictThenDelete";
  /** When it goes although a disruption budget refuses, where it is not known whether one does. */
  readonly latestAfterMs?: number;
  readonly why: string;
}

/** The answer of `vigil preview`. */
export interface Preview {
  readonly fault: string;
  /** When the cluster was read, epoch milliseconds. */
  readonly at: number;
  readonly zones: readonly PreviewedZone[];
  readonly nodes: readonly PreviewedNodeReport[];
  readonly pods: readonly PreviewedPodReport[];
  /** When the last of all this has happened, at the earliest where a pod has only that; 0 if nothing does. */
  readonly overAfterMs: number;
  /** The grace and the rates where no policy sets others, and where they come from. */
  readonly assumes: Pick<
    Profile,
    "nodeMonitorGraceMs" | "nodeEvictionsPerSecond" | "secondaryNodeEvictionsPerSecond"
  > & { readonly source: string };
  /** What could not be read of node policies and disruption budgets, so that it counts as missing. */
  readonly unread: readonly string[];
}
