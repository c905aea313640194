/**
 * The floor between the two storeys of the node service. The core judges nodes as upstream does; a concern is one
 * thing that policies add. The core shows each concern the node (`NodeView`) and carries out what it finds
 * (`Finding`).
 *
 *   node.actor ──NodeView──▶ concerns ──Finding──▶ node.actor ──▶ judged.node, asked.taint, asked.label
 *
 * A node that no policy selects has no concerns.
 */

import type { Readiness } from "../../../protocols/judged.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode, TaintId } from "../../../protocols/objects.ts";
import type { FrozenInterval, NodePolicy } from "../../../protocols/policy-set.ts";
import type { Instant } from "../../domain/instant.ts";
import type { OutageTime } from "../../domain/paused-time/outages.ts";
import type { ConditionObservations } from "./conditions/condition-observations.ts";

/** The outages that the observer of a shard has found. */
export type ObservedOutages = readonly FrozenInterval[];

/** A change of a node's annotations; null removes one. */
export type AnnotationChange = Readonly<Record<string, string | null>>;

/** A node as its actor shows it. */
export interface NodeView {
  readonly node: ObservedNode;
  readonly readiness: Readiness;
  /** Since when the node has this readiness, epoch milliseconds. */
  readonly since: number;
  /** When its Ready condition last changed, on the monotonic clock. */
  readonly readySinceMs: number;
  /** Where a timeout of that condition begins: then, or at the end of a halt after it, on the monotonic clock. */
  readonly timeoutFromMs: number;
  /** When its silence has lasted for its grace, monotonic; infinity while the API does not show Unknown. */
  readonly quietFromMs: number;
  readonly leaseRenewedAt: number | null;
  /** Whether the process sees the shard of the node. */
  readonly isSynced: boolean;
  readonly outages: ObservedOutages;
  readonly at: Instant;
}

/** The same with what is known of the node's policies. */
export interface PolicyView extends Omit<NodeView, "outages"> {
  /** The key of its disruption domain: its zone, or its zone and policy. */
  readonly zone: string;
  /** Its last known policy; null for none, undefined while that has never been known. */
  readonly policy: NodePolicy | null | undefined;
  /** The policies that select it. If there are several, none of them applies. */
  readonly selecting: readonly NodePolicy[];
  /** Whether its policy is known now. */
  readonly isKnown: boolean;
  /** Since when this process has seen the conditions that these policies name. */
  readonly observations: ConditionObservations;
  /** The outages that count for the node. */
  readonly outages: OutageTime;
}

/** A change of a node's taints as one request makes it, and what the request rests on. */
export type RequestedTaintChange = Pick<BodyOf<"asked.taint">, "add" | "remove" | "why" | "outOfService">;

/** The changes that a concern needs of the taints of a node. */
export interface TaintFinding {
  readonly add: readonly (TaintId & { readonly value?: string | undefined })[];
  readonly remove: readonly TaintId[];
  /** Whether to keep a taint that nothing else requires any more. */
  keeps(taint: TaintId): boolean;
  /** A change that waits until the taints need no other change; null for none. */
  readonly alone: RequestedTaintChange | null;
}

/** What a concern finds; what is absent changes nothing. */
export interface Finding {
  readonly judged?: Partial<BodyOf<"judged.node">>;
  readonly taints?: Partial<TaintFinding>;
  readonly annotations?: AnnotationChange;
  /** When to review the node again, on the monotonic clock. */
  readonly nextMs?: number;
  /** Reviews the node again once the shard is synced, or with each message about limits. */
  readonly waitsFor?: "sync" | "limits";
  /** Until when a delay of its policy keeps the node from waiting for eviction, on the monotonic clock. */
  readonly evictableFromMs?: number;
  /** Set while the pods of the silent node are not marked not ready. */
  readonly keepsPodsReady?: true;
}

/** One thing that policies add to a node. It remembers what it needs between two reviews. */
export interface Concern {
  review(view: PolicyView): Finding;
}

/** What all concerns of a node find together. */
export interface Findings {
  readonly judged: Partial<BodyOf<"judged.node">>;
  readonly taints: TaintFinding;
  readonly annotations: AnnotationChange | null;
  /** Infinity where no time leads to a review. */
  readonly nextMs: number;
  readonly waitsFor: ReadonlySet<NonNullable<Finding["waitsFor"]>>;
  /** Null where no policy delays evictions. */
  readonly evictableFromMs: number | null;
  readonly keepsPodsReady: boolean;
}

/** Nothing is found, as for each node without concerns. */
export const NOTHING_FOUND: Findings = {
  judged: {},
  taints: { add: [], remove: [], keeps: () => false, alone: null },
  annotations: null,
  nextMs: Number.POSITIVE_INFINITY,
  waitsFor: new Set(),
  evictableFromMs: null,
  keepsPodsReady: false,
};

/** Several findings as one. */
export function together(findings: readonly Finding[]): Findings {
  const taints = findings.flatMap((each) => each.taints ?? []);
  const annotations = findings.map((each) => each.annotations).filter((each) => each !== undefined);
  const evictableFromMs = findings.flatMap((each) => each.evictableFromMs ?? []);
  return {
    judged: Object.assign({}, ...findings.map((each) => each.judged)),
    taints: {
      add: taints.flatMap(({ add = [] }) => add),
      remove: taints.flatMap(({ remove = [] }) => remove),
      keeps: (taint) => taints.some((each) => each.keeps?.(taint) === true),
      alone: taints.find((each) => each.alone != null)?.alone ?? null,
    },
    annotations: annotations.length === 0 ? null : Object.assign({}, ...annotations),
    nextMs: Math.min(Number.POSITIVE_INFINITY, ...findings.flatMap((each) => each.nextMs ?? [])),
    waitsFor: new Set(findings.flatMap((each) => each.waitsFor ?? [])),
    evictableFromMs: evictableFromMs.length === 0 ? null : Math.max(...evictableFromMs),
    keepsPodsReady: findings.some((each) => each.keepsPodsReady === true),
  };
}
