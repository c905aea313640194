/**
 * What a node needs about the out-of-service taint. The taint is added when the node meets every condition of
 * services/domain/out-of-service.ts and nothing blocks it. It is removed when the node is Ready again or its proof was
 * withdrawn, and nothing blocks that. Pure.
 */
import type { BodyOf } from "../../../../protocols/messages.ts";
import { Annotation } from "../../../../protocols/names.ts";
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { FrozenInterval, NodePolicy } from "../../../../protocols/policy-set.ts";
import { readyConditionOf } from "../../../domain/node-conditions.ts";
import { outOfServiceStage, ownOutOfServiceTaint } from "../../../domain/out-of-service.ts";
import type { OutageTime } from "../../../domain/paused-time/outages.ts";

/** How far a node is from the taint, as it is published; undefined for a node that is not on its way. */
export type OutOfServiceReport = BodyOf<"judged.node">["outOfService"];

/** What is known of a node when its out-of-service taint is decided. */
export interface OutOfServiceSituation {
  readonly node: ObservedNode;
  readonly policy: Pick<NodePolicy, "outOfService"> | null;
  /** When the node was and is frozen, merged. */
  readonly frozen: readonly FrozenInterval[];
  /** The outages that pause `after`; absent for none. */
  readonly outages?: OutageTime;
  /** What else blocks it; null for nothing. */
  readonly blockedBy: string | null;
  readonly wallMs: number;
}

/** How far a node is from the taint. */
export function outOfServiceReport(situation: OutOfServiceSituation): OutOfServiceReport {
  const { node, policy, frozen, outages, blockedBy, wallMs } = situation;
  const settings = policy?.outOfService ?? null;
  if (settings === null) return undefined;
  const stage = outOfServiceStage(node, settings, frozen, wallMs, outages);
  if (stage === null) {
    const isKept = isReady(node) && !settings.removeWhenReady && ownOutOfServiceTaint(node) !== null;
    return isKept ? { state: "kept" } : undefined;
  }
  if (stage.state === "unproved") return { state: "unproved", acceptsManual: settings.proofs.includes("Manual") };
  if (stage.state === "waits") {
    return Number.isFinite(stage.fromAt) ? { state: "waits", fromAt: stage.fromAt } : { state: "waits" };
  }
  return stage.state === "due" && blockedBy !== null ? { state: "held", heldBy: blockedBy } : { state: stage.state };
}

/**
 * Whether to remove Vigil's own taint: its proof was withdrawn, or the node is Ready again. A policy with
 * `removeWhenReady: false` leaves it to a user. So may a policy that is not known yet.
 */
export function isTaintOver(node: ObservedNode, keepsReady: boolean): boolean {
  if (ownOutOfServiceTaint(node) === null) return false;
  return node.provedDown === undefined || (isReady(node) && !keepsReady);
}

/** The annotations that a Ready node has no use for; null for none. A taint and its record are removed in one patch. */
export function endedRecords(node: ObservedNode, keepsReady: boolean): Readonly<Record<string, null>> | null {
  if (!isReady(node) || keepsReady) return null;
  const isRecordAlone = node.outOfServiceAt !== undefined && ownOutOfServiceTaint(node) === null;
  const ended = {
    ...(node.provedDown === undefined ? {} : { [Annotation.provedDown]: null }),
    ...(isRecordAlone ? { [Annotation.outOfService]: null } : {}),
  };
  return Object.keys(ended).length === 0 ? null : ended;
}

function isReady(node: Pick<ObservedNode, "conditions">): boolean {
  return readyConditionOf(node)?.status === "True";
}
