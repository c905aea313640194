/** Whether somebody may say that the machine of a node is off: never of a node that may be alive. Pure. */
import type { ConditionStatus } from "../../../protocols/objects.ts";
import { API_TIME_STEP_MS } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";

/** What live reads show of a node. Instants are epoch milliseconds of the API server's clock. */
export interface LiveNode {
  readonly name: string;
  /** The status of its Ready condition; null without one. */
  readonly ready: ConditionStatus | null;
  /** From when a proof of its silence counts; null while the API does not show it as silent. */
  readonly provableFrom: number | null;
  /** When its kubelet renewed its lease last; null without a lease. */
  readonly leaseRenewedAt: number | null;
}

/** Why a node is not proved to be down, in one line; null if it may be. */
export function proofRefusal(live: LiveNode, graceMs: number, nowAt: number): string | null {
  const { name, ready, provableFrom, leaseRenewedAt } = live;
  if (ready === "True") return `node ${name} is alive: its Ready condition is True`;
  const renewedMs = leaseRenewedAt === null ? Number.POSITIVE_INFINITY : nowAt - leaseRenewedAt;
  if (renewedMs < graceMs) {
    const ago = renewedMs < 0 ? "just now" : `${spanText(renewedMs)} ago`;
    return `node ${name} is alive: its kubelet renewed its lease ${ago}, within its grace of ${spanText(graceMs)}`;
  }
  if (provableFrom !== null) return null;
  const shown = ready === null ? "it has no Ready condition" : `its Ready condition is ${ready}`;
  const fix = "try again once it is Unknown, because an older proof does not count";
  return `node ${name} is not found silent yet: ${shown}; ${fix}`;
}

/** The instant of a proof: later than the silence that the reads have shown, although that has whole seconds. */
export function provedAt(provableFrom: number | null, nowAt: number): number {
  return Math.min(Math.max(nowAt, provableFrom ?? nowAt), nowAt + API_TIME_STEP_MS);
}
