/**
 * Why the pods of a preview are deleted or stay, by what its services published. A reason that they do not show is not
 * known, and is said to be.
 */
import type { ObservedPod, Taint } from "../../../protocols/objects.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { RATE_FIELDS } from "../../domain/eviction-rates.ts";
import { listText } from "../../domain/format.ts";
import {
  evictionOf,
  hasCompleted,
  taintName,
  unreadableText,
  unreadableTolerationOf,
} from "../../domain/toleration.ts";
import type { RecordedPod } from "./preview-record.ts";

/** What is known besides of a pod that stays. */
export interface StayContext {
  /** The NoExecute taints of its node at the end. */
  readonly taints: readonly Taint[];
  /** What holds back its deletion, or its node; null for nothing that is known. */
  readonly held: string | null;
  readonly profile: Pick<Profile, "tolerationComparisonOperators">;
}

/** Why a pod is evicted; no taint decides about the pod of a drained node. */
export function evictionReason({ evicting }: RecordedPod, { evictionMode }: Pick<Profile, "evictionMode">): string {
  const taint = evicting?.toleratedTaint ?? evicting?.taint ?? null;
  if (taint === null) return evictionMode === "direct" ? "its node is drained" : "not known";
  const seconds = Math.max(0, evicting?.tolerationSeconds ?? 0);
  return `does not tolerate ${taintName(taint)}${seconds === 0 ? "" : ` for more than ${seconds} s`}`;
}

/** Why a pod stays until the end of the preview. */
export function reasonToStay(
  { pod, evicting }: RecordedPod & { readonly pod: ObservedPod },
  { taints, held, profile }: StayContext,
): string {
  if (hasCompleted(pod)) return `has completed (${pod.phase})`;
  if (pod.deletionAt !== null) return "is terminating already";
  if (pod.mirror === true) return "mirrors a static pod";
  if (taints.length === 0) {
    if (pod.owner === "DaemonSet") return "belongs to a DaemonSet";
    return `its node is not admitted for eviction${held === null ? "" : `: ${held}`}`;
  }
  if (evicting !== undefined && held !== null) return `held back by ${held}`;
  const rules = { comparisonOperators: profile.tolerationComparisonOperators };
  const unreadable = unreadableTolerationOf(taints, pod.tolerations, rules);
  if (unreadable !== null)
    return `may tolerate ${taintName(unreadable.taint)}: ${unreadableText(unreadable.toleration)}`;
  const counted = taints.map((taint) => ({ taint, since: pod.boundAt }));
  const isTolerated = evictionOf(counted, pod.tolerations, pod.boundAt, rules) === null;
  return isTolerated ? `tolerates ${listText(taints.map(taintName))}` : "not known";
}

/** The rate of a policy that a pod waits for which no queue names. */
export function rateText({ name, evictions }: Pick<NodePolicy, "name" | "evictions">): string {
  const rates = [evictions?.perMinuteMax ?? null, evictions?.perNamespacePerMinuteMax ?? null];
  const fields = RATE_FIELDS.filter((_field, index) => rates[index] !== null);
  return fields.length === 1 ? `${fields[0]} of ${name}` : `a rate of evictions of ${name}, which one is not known`;
}
