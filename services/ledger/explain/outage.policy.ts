/** Sentences about a pod whose countdown is or was paused because no node could be heard. */

import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode, TaintId } from "../../../protocols/objects.ts";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import { apiTime } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";
import { UNKNOWN_START_AT } from "../../domain/paused-time/outages.ts";
import { lineageOf, taintStartAt } from "../../domain/taint-swap.ts";
import { isSameTaint } from "../../domain/toleration.ts";
import type { ExplainContext } from "./explain-context.ts";
import { type Sentence, sentence } from "./sentences.ts";

/** That a pod stays while an outage lasts. */
export function outageSentence(pod: string, { fromAt }: FrozenInterval): Sentence {
  if (fromAt === UNKNOWN_START_AT) return sentence("podOutageUndated", { pod });
  return sentence("podOutage", { pod, at: apiTime(fromAt) });
}

/** What the last outage, which is over, has added to the countdown of a pod; nothing where it has met none. */
export function outageSentences(
  judged: BodyOf<"judged.pod"> | null,
  node: ObservedNode | null,
  { outagesOf, observedOutages }: Pick<ExplainContext, "outagesOf" | "observedOutages">,
): Sentence[] {
  if (judged?.outage == null || judged.outage.toAt === null) return [];
  const { fromAt, toAt } = judged.outage;
  const to = apiTime(toAt);
  if (fromAt === UNKNOWN_START_AT) {
    const observed = observedOutages.find((outage) => outage.toAt === toAt && outage.fromAt !== UNKNOWN_START_AT);
    if (observed === undefined) return [sentence("podOutageUnknown", { to })];
    return [sentence("podOutageUnwritten", { from: apiTime(observed.fromAt), to })];
  }
  const notBeforeAt = node === null ? null : outagesOf(node).notBeforeAt;
  if (notBeforeAt !== null && judged.deadlineAt === notBeforeAt)
    return [sentence("podOutageGrace", { to, span: spanText(notBeforeAt - toAt) })];
  const pausedFromAt = Math.max(fromAt, countingFromAt(judged, node) ?? fromAt);
  return [sentence("podOutageOver", { from: apiTime(fromAt), to, span: spanText(toAt - pausedFromAt) })];
}

/** When a taint that its node carries began, and what that continues; null where the node does not show it. */
export function presentStart(
  taint: TaintId | null,
  node: ObservedNode | null,
): { readonly startAt: number; readonly lineage: ReturnType<typeof lineageOf> } | null {
  const present = taint === null ? undefined : node?.taints.find((each) => isSameTaint(each, taint));
  if (node === null || present === undefined) return null;
  const startAt = taintStartAt(present, node);
  return startAt === null ? null : { startAt, lineage: lineageOf(present, startAt, node) };
}

/** Since when the countdown of a pod runs, by the observed taints; null where they do not show it. */
function countingFromAt({ taint }: BodyOf<"judged.pod">, node: ObservedNode | null): number | null {
  const start = presentStart(taint, node);
  return start === null ? null : (start.lineage?.since ?? start.startAt);
}
