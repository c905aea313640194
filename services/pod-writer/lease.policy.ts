/** Decides from the lease of a silent node whether it may have come back, so that its pods have to wait. */
import type { BodyOf } from "../../protocols/messages.ts";
import { TaintKey } from "../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import { apiTime } from "../domain/api-time.ts";
import { readyConditionOf, refutesSilence } from "../domain/node-conditions.ts";

/** What is known of the lease of a silent node. */
export interface KnownLease {
  /** Its last renewal, by the kubelet's clock; null without a lease. */
  readonly leaseRenewedAt: number | null;
  /** When a renewal after the verdict was read, on the monotonic clock; minus infinity for never. */
  readonly changedMs: number;
}

interface LiveLease {
  readonly renewedAt: number | null;
  readonly readAtMs: number;
  /** Renewals after this instant are less than a grace old. */
  readonly freshSinceAt: number;
}

/** Whether a node was found silent: its Ready condition is Unknown. */
export function isFoundSilent(node: ObservedNode): boolean {
  return readyConditionOf(node)?.status === "Unknown";
}

/** Whether the Ready condition is what the kubelet reported: it is present and not Unknown. */
export function isReported(node: ObservedNode): boolean {
  return readyConditionOf(node) !== null && !isFoundSilent(node);
}

/** Whether an eviction rests on the silence of its node: by the taint for that, or without a taint (direct mode). */
export function restsOnSilence(node: ObservedNode, taint: Taint | null): boolean {
  return taint === null ? isFoundSilent(node) : taint.key === TaintKey.unreachable && !isReported(node);
}

/** Whether a request is expected to rest on silence, so that the lease is read together with the node. */
export function mayRestOnSilence({ mode, taint }: BodyOf<"asked.eviction">): boolean {
  return mode === "direct" || taint?.key === TaintKey.unreachable;
}

/**
 * What is known after a live read. A renewal other than the known one was made since. At the first read there is none
 * to compare with. A renewal stamped later than the verdict is either newer or by a clock that is ahead, so it counts
 * as newer. Example: the verdict is of 10:00:00, and its first read shows a renewal of 09:59:05. A read at 10:04:10
 * shows 10:04:05: the kubelet is back, and its pods wait for a grace after that read. Without a Ready condition the
 * node was not found silent: a renewal within the last grace counts. A lease that is gone is not renewed.
 */
export function leaseAfter(
  known: KnownLease | null,
  { renewedAt, readAtMs, freshSinceAt }: LiveLease,
  node: ObservedNode,
): KnownLease {
  const ready = readyConditionOf(node);
  const foundAt = ready === null ? freshSinceAt : (ready.transitionAt ?? Number.POSITIVE_INFINITY);
  const isRenewed = known === null ? renewedAt !== null && renewedAt > foundAt : refutesSilence(known, renewedAt);
  const leaseRenewedAt = renewedAt ?? known?.leaseRenewedAt ?? null;
  return { leaseRenewedAt, changedMs: isRenewed ? readAtMs : (known?.changedMs ?? Number.NEGATIVE_INFINITY) };
}

/** Why pods of a silent node wait: its lease was renewed less than a grace ago. Null if they do not. */
export function renewalProblem(
  node: string,
  { leaseRenewedAt, changedMs }: KnownLease,
  { nowMs, graceMs }: { readonly nowMs: number; readonly graceMs: number },
): string | null {
  if (leaseRenewedAt === null || nowMs - changedMs >= graceMs) return null;
  return `node ${node} may be alive: its lease was renewed at ${apiTime(leaseRenewedAt)}`;
}
