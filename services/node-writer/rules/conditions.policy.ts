/** The conditions that Vigil sets to Unknown on a silent node. */
import type { BodyOf } from "../../../protocols/messages.ts";
import { ConditionType, FORCED_CONDITIONS, SilentReason } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";

/** Why no service of Vigil sets these conditions; null if one may. */
export function allowsConditions({ conditions }: Pick<BodyOf<"asked.condition">, "conditions">): string | null {
  for (const { type, status, reason, message, heartbeatAt } of conditions) {
    if (!FORCED_CONDITIONS.includes(type)) return `condition ${type} is not one that Vigil sets`;
    if (status !== "Unknown") return `Vigil sets ${type} to Unknown only, not to ${status}`;
    const expected = heartbeatAt === null ? SilentReason.stopped : SilentReason.never;
    if (reason !== expected.reason || message !== expected.message) return `Vigil does not give ${type} this reason`;
  }
  return null;
}

/** Why the live node refutes a verdict: its kubelet has posted since, or another grace counts; null if it does not. */
export function foundedVerdict(request: BodyOf<"asked.condition">, live: ObservedNode): string | null {
  const ready = readyConditionOf(live);
  const postedAt = ready?.heartbeatAt ?? null;
  if (postedAt !== null && postedAt !== request.basis.statusHeartbeatAt)
    return "the kubelet has posted its status since";
  if ((ready !== null) === restsOnReady(request)) return null;
  return "the Ready condition was added or removed since, so another grace period counts";
}

/** Whether the requester saw a Ready condition, which decides the grace period. */
function restsOnReady({ conditions }: BodyOf<"asked.condition">): boolean {
  return !conditions.some(({ type, heartbeatAt }) => type === ConditionType.ready && heartbeatAt !== null);
}
