/**
 * Whether a node's judgement contradicts its observation. It does for a moment while a write is under way, and for long
 * only when a message was lost.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "./node-conditions.ts";
import { isSwappable } from "./taint-swap.ts";
import { isCounted, partsOfDomain, zoneKeyOf } from "./zone-key.ts";

type Judgement = BodyOf<"judged.node">;

/** Whether a judgement contradicts anything observed of a node of its name: uid, status, zone or exclusion. */
export function contradicts(
  judged: Pick<Judgement, "uid" | "ready" | "eviction" | "zone" | "counted">,
  observed: ObservedNode,
  evictionMode: Profile["evictionMode"],
): boolean {
  return (
    judged.uid !== observed.uid ||
    partsOfDomain(judged.zone).zone !== zoneKeyOf(observed.labels) ||
    judged.counted !== isCounted(observed.labels) ||
    contradictsStatus(judged, observed, evictionMode)
  );
}

/**
 * Whether it contradicts the observed Ready status or the eviction: in taint mode a node is evicted if and only if it
 * carries our taint.
 */
export function contradictsStatus(
  judged: Pick<Judgement, "ready" | "eviction">,
  observed: Pick<ObservedNode, "conditions" | "taints">,
  evictionMode: Profile["evictionMode"],
): boolean {
  return (
    judged.ready !== (readyConditionOf(observed)?.status ?? null) ||
    (evictionMode === "taint" && (judged.eviction === "evicted") !== observed.taints.some(isSwappable))
  );
}
