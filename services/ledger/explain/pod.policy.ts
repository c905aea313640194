/**
 * Why a pod is to go or may stay: from the pod as it was just read, the record of that uid, and the state of its node.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode, ObservedPod, TaintId } from "../../../protocols/objects.ts";
import { apiTime } from "../../domain/api-time.ts";
import { listText, spanText } from "../../domain/format.ts";
import { lineOf, taintStartAt } from "../../domain/taint-swap.ts";
import {
  type Eviction,
  evictionOf,
  hasCompleted,
  noExecuteTaints,
  type StandingTaint,
  taintName,
} from "../../domain/toleration.ts";
import type { NodeFacts } from "../facts.ts";
import type { PodRead } from "../live-pods.ts";
import { type PodFacts, targetOf } from "../pods.ts";
import { type Grounds, presentNode } from "./grounds.ts";
import { requestSentences } from "./request.policy.ts";
import { type Sentence, say } from "./sentences.ts";
import { turnTaint } from "./turn.policy.ts";

/** A pod that is there. */
type PresentPod = Extract<PodRead, { kind: "present" }>;

/** A pod that is bound to a node. */
type BoundPod = NonNullable<PresentPod["bound"]>;

/** What is said of a pod, and the node of which more is to be said; null without one. */
export interface PodSaid {
  readonly sentences: readonly Sentence[];
  readonly node: string | null;
}

/** What is said of a pod; `pod` is its `namespace/name`, `named` the record that last bore that name. */
export function podSaid(pod: string, read: PodRead, named: PodFacts | undefined, grounds: Grounds): PodSaid {
  if (read.kind === "present") return presentSaid(pod, read, grounds.facts.pods.get(read.uid), grounds);
  if (read.kind === "absent") return { sentences: [say("podGone", { pod }), ...oursSentences(named)], node: null };
  const unread = say("podUnread", { pod, why: read.why.replace(/\.$/, "") });
  const node = named === undefined ? null : (targetOf(named)?.node ?? null);
  const known = named === undefined ? [] : recordSentences(pod, named, grounds);
  return { sentences: [unread, ...(known.length === 0 ? [say("podUnnamed", { pod })] : known)], node };
}

function presentSaid(pod: string, read: PresentPod, record: PodFacts | undefined, grounds: Grounds): PodSaid {
  const { bound, terminatingSince } = read;
  const node = bound?.node ?? null;
  if (terminatingSince !== null) {
    const span = spanText(grounds.now - terminatingSince);
    const terminating = say("podTerminating", { pod, since: apiTime(terminatingSince), span });
    return { sentences: [terminating, ...oursSentences(record), ...stayingSentences(read, grounds)], node };
  }
  if (bound === null) return { sentences: [say("podUnbound", { pod })], node };
  const isScheduled = record !== undefined && record.order !== "done" && !mayStay(bound, grounds);
  const scheduled = isScheduled ? recordSentences(pod, record, grounds) : [];
  return { sentences: scheduled.length > 0 ? scheduled : sparedSentences(pod, bound, grounds), node };
}

/**
 * Whether the pod as it was read may stay, whatever was published of it before: it has completed, or tolerates all, or
 * the drain of its node was called off.
 */
function mayStay({ node, pod }: BoundPod, grounds: Grounds): boolean {
  const known = presentNode(node, grounds);
  if (grounds.profile.evictionMode === "direct") return known?.judged?.eviction === "unmarked";
  const observed = known?.observed ?? null;
  return hasCompleted(pod) || (observed !== null && evictionFrom(observed, pod, grounds) === null);
}

/** That it was Vigil that deleted the pod of this record. */
function oursSentences(record: PodFacts | undefined): Sentence[] {
  const isOurs = record?.order === "done" && record.last?.outcome === "ok";
  return isOurs && record.last !== null ? [say("podOurs", { at: apiTime(record.last.at) })] : [];
}

/** Why a terminating pod is still there. */
function stayingSentences({ bound, finalizers }: PresentPod, grounds: Grounds): Sentence[] {
  const held = finalizers.length === 0 ? [] : [say("podFinalizers", { finalizers: listText(finalizers) })];
  if (bound === null) return held;
  const { node } = bound;
  const known = presentNode(node, grounds);
  if (known === undefined) return [...held, absentNodeSentence(node, grounds)];
  if (known.judged?.readiness === "unknown") return [...held, say("podNodeSilent", { node })];
  return held.length > 0 ? held : [say("podEnding", { node })];
}

function absentNodeSentence(node: string, { ignorance }: Grounds): Sentence {
  const why = ignorance(node);
  return why === null ? say("podNodeGone", { node }) : say("podUnobserved", { node, why });
}

/** What is said of a pod that is to go: when, why, and what came of the last request; nothing of one that is not. */
function recordSentences(pod: string, record: PodFacts, grounds: Grounds): Sentence[] {
  const { judged, asked, order, outcome, last } = record;
  if (order === "done") return oursSentences(record);
  if (judged === null && asked === null) return [];
  // What must go at once is asked for with another deadline each time, and is due since it was judged so.
  const deadlineAt = judged?.deadlineAt ?? asked?.deadlineAt ?? null;
  const due = dueSentence(pod, deadlineAt, grounds.now);
  const node = presentNode(judged?.node ?? asked?.node ?? "", grounds);
  if (!isStanding((judged ?? asked)?.taint ?? null, node?.observed ?? null)) return [];
  const why = judged === null ? askedSentence(asked) : tolerationSentence(judged, node?.observed ?? null);
  const isDue = deadlineAt === null || deadlineAt <= grounds.now || outcome === "shadowed";
  return [due, ...why, ...(isDue ? requestedSentences({ asked, last, askedAt: record.askedAt }, grounds) : [])];
}

/** Whether the taint that decides stands; also where none decides and where the node was not observed. */
function isStanding(decisive: TaintId | null, node: ObservedNode | null): boolean {
  if (decisive === null || node === null) return true;
  return node.taints.some(({ key, effect }) => key === decisive.key && effect === decisive.effect);
}

function dueSentence(pod: string, deadlineAt: number | null, now: number): Sentence {
  if (deadlineAt === null) return say("podDueNow", { pod });
  const at = apiTime(deadlineAt);
  if (deadlineAt > now) return say("podDue", { pod, at, span: spanText(deadlineAt - now) });
  return say("podOverdue", { pod, at, span: spanText(now - deadlineAt) });
}

function requestedSentences(
  { asked, askedAt, last }: Pick<PodFacts, "asked" | "askedAt" | "last">,
  grounds: Grounds,
): Sentence[] {
  if (asked === null && last === null) return [say("podUnrequested", {})];
  const request = { what: "its deletion", askedAt: askedAt ?? last?.at ?? grounds.now, last, isTurn: false };
  return requestSentences(request, grounds);
}

/** Why a pod must go, where only the request for it was heard. */
function askedSentence(asked: PodFacts["asked"]): Sentence[] {
  if (asked === null) return [];
  const { node, mode, taint } = asked;
  if (mode === "direct") return [say("podDrained", { node })];
  return [taint === null ? say("podTainted", { node }) : say("podUntoleratedNow", { node, taint: taintName(taint) })];
}

function tolerationSentence(judged: BodyOf<"judged.pod">, observed: ObservedNode | null): Sentence[] {
  const { node, tolerationSeconds } = judged;
  if (judged.taint === null) return [say("podTainted", { node })];
  const taint = taintName(judged.taint);
  if (tolerationSeconds === null) return [say("podUntolerated", { node, taint })];
  const given = { node, taint, seconds: String(tolerationSeconds) };
  const begunAt = begunBefore(judged, observed);
  return [begunAt === null ? say("podTolerates", given) : say("podContinues", { ...given, at: apiTime(begunAt) })];
}

/** When a countdown began that has run on over a swap of taints; null when the present taint began it. */
function begunBefore(judged: BodyOf<"judged.pod">, node: ObservedNode | null): number | null {
  const { taint: decisive, deadlineAt, tolerationSeconds } = judged;
  const standing = node?.taints.find(({ key, effect }) => key === decisive?.key && effect === decisive.effect);
  if (!node || standing === undefined || deadlineAt === null || tolerationSeconds === null) return null;
  const startAt = taintStartAt(standing, node);
  if (startAt === null || lineOf(standing, startAt, node) === null) return null;
  const begunAt = deadlineAt - tolerationSeconds * 1000;
  return begunAt < startAt ? begunAt : null;
}

/** Why nothing requests the deletion of a pod now, and what is to come for it. */
function sparedSentences(pod: string, { node, pod: observed }: BoundPod, grounds: Grounds): Sentence[] {
  const known = presentNode(node, grounds);
  if (known?.observed == null) return [absentNodeSentence(node, grounds)];
  if (grounds.profile.evictionMode === "direct") return [undrainedSentence(pod, observed, known)];
  if (hasCompleted(observed)) return [say("podCompleted", { pod, phase: observed.phase })];
  const taints = noExecuteTaints(known.observed.taints);
  if (taints.length > 0) return [taintedSentence(pod, observed, known.observed, grounds)];
  if (known.judged?.eviction !== "toBeEvicted") return [say("podSafe", { pod, node })];
  return [say("podWaits", { pod, node }), thenSentence(observed, turnTaint(known.judged), grounds)];
}

function undrainedSentence(pod: string, { owner }: ObservedPod, { name: node, judged }: NodeFacts): Sentence {
  if (owner === "DaemonSet") return say("podSpared", { pod });
  const isAhead = judged?.eviction === "toBeEvicted" || judged?.evictionFromAt !== undefined;
  if (isAhead) return say("podWaits", { pod, node });
  return judged?.eviction === "evicted" ? say("podDrained", { node }) : say("podUndrained", { pod, node });
}

/** A ledger that began after a deadline was published, or lost that message, reckons it from what it sees. */
function taintedSentence(pod: string, observed: ObservedPod, node: ObservedNode, grounds: Grounds): Sentence {
  const taints = listText(noExecuteTaints(node.taints).map(taintName));
  const eviction = evictionFrom(node, observed, grounds);
  if (eviction === null) return say("podForEver", { pod, taints });
  const taint = taintName(eviction.taint);
  if (!Number.isFinite(eviction.at)) return say("podReckonedNow", { pod, taint });
  return say("podReckoned", { pod, taint, at: apiTime(eviction.at) });
}

/** What the taint that its node's turn brings means for a pod. */
function thenSentence(observed: ObservedPod, then: TaintId, grounds: Grounds): Sentence {
  const taint = taintName(then);
  const eviction = evictionUnder([{ taint: then, since: grounds.now }], observed, grounds);
  if (eviction === null) return say("podThenForEver", { taint });
  const { tolerationSeconds } = eviction;
  if (tolerationSeconds === null) return say("podThenNot", { taint });
  return say("podThenFor", { taint, seconds: String(tolerationSeconds) });
}

/** When a pod has to leave its node by the taints that are seen there. */
function evictionFrom(node: ObservedNode, observed: ObservedPod, grounds: Grounds): Eviction | null {
  const standing = noExecuteTaints(node.taints).map((taint): StandingTaint => {
    const since = taintStartAt(taint, node) ?? grounds.now;
    const line = lineOf(taint, since, node);
    return { taint, since, ...(line === null ? {} : { line }) };
  });
  return evictionUnder(standing, observed, grounds);
}

function evictionUnder(taints: readonly StandingTaint[], observed: ObservedPod, { profile }: Grounds): Eviction | null {
  const comparisonOperators = profile.tolerationComparisonOperators;
  return evictionOf(taints, observed.tolerations, observed.boundAt, { comparisonOperators });
}
