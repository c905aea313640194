/** Why a node or a pod is as it is, in plain sentences: decided from the facts and the history at one instant. */
import type { BodyOf } from "../../protocols/messages.ts";
import { SilentReason, TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { Decision, Explanation, Subject } from "../../protocols/status.ts";
import { apiTime, epochMsOf } from "../runtime/api-time.ts";
import { readyConditionOf } from "../runtime/interest.ts";
import { lineOf, taintStartAt } from "../runtime/taint-swap.ts";
import { taintName } from "../runtime/toleration.ts";
import { zoneTitleOf } from "../runtime/zone-key.ts";
import type { Facts, NodeFacts } from "./facts.ts";
import type { History } from "./history.ts";
import type { PodFacts } from "./pods.ts";
import { countText, listText, paceText, spanText } from "./words.ts";

/** What an explanation rests on. */
export interface Grounds {
  readonly facts: Facts;
  readonly history: History;
  readonly profile: Pick<
    Profile,
    "nodeMonitorGraceMs" | "nodeStartupGraceMs" | "largeClusterSizeThreshold" | "evictionMode"
  >;
  /** Why no verdict can be passed on a node now; null when it can. */
  readonly blindness: (node: string) => string | null;
  /** Why a node that was not told of may be there all the same; null when it cannot. */
  readonly ignorance: (node: string) => string | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Explains a node; null when nothing is known of it. */
export function explainNode(name: string, grounds: Grounds): Explanation | null {
  const node = presentNode(name, grounds);
  const subject = { kind: "Node", namespace: "", name } as const;
  const timeline = timelineOf(subject, grounds.history);
  if (node !== undefined) return { sentences: nodeSentences(node, grounds), timeline };
  if (timeline.length === 0) return null;
  const hasLeft = grounds.history.of(subject).at(-1)?.type === "observed.gone";
  const ignorance = hasLeft ? null : grounds.ignorance(name);
  const absence =
    ignorance === null ? "is not there any more" : `has not been told of since this ledger began: ${ignorance}`;
  return { sentences: [`Node ${name} ${absence}.`], timeline };
}

/** Explains a pod; null when nothing was ever decided about it. */
export function explainPod(namespace: string, name: string, grounds: Grounds): Explanation | null {
  const subject = { kind: "Pod", namespace, name } as const;
  const timeline = timelineOf(subject, grounds.history);
  const pod = grounds.facts.pods.named(namespace, name);
  if (pod === undefined && timeline.length === 0) return null;
  if (pod === undefined) return { sentences: sparedSentences(subject, grounds), timeline };
  const node = presentNode(pod.judged?.node ?? pod.asked?.node ?? "", grounds);
  const sentences = [
    podSentence(pod, `Pod ${namespace}/${name}`, node?.observed ?? null, grounds.now),
    ...(node === undefined ? [] : nodeSentences(node, grounds)),
  ];
  return { sentences, timeline };
}

/** A pod that nothing asks to go, and what is to come for it where its node waits for its turn. */
function sparedSentences(subject: Subject, grounds: Grounds): string[] {
  const pod = `pod ${subject.namespace}/${subject.name}`;
  const node = presentNode(grounds.history.nodeOf(subject) ?? "", grounds);
  if (node?.judged?.eviction !== "toBeEvicted") return [`Nothing asks ${pod} to go.`];
  const zone = zoneTitleOf(node.judged.zone);
  return [
    `Nothing asks ${pod} to go yet: node ${node.name}, on which it was last told of, waits for its turn in zone ${zone}.`,
    ...nodeSentences(node, grounds),
  ];
}

/** The node of that name; undefined where only a late judgement speaks of it, and it is known not to be there. */
function presentNode(name: string, { facts, ignorance }: Grounds): NodeFacts | undefined {
  const node = facts.nodes.get(name);
  return node?.observed === null && ignorance(name) === null ? undefined : node;
}

function timelineOf(subject: Subject, history: History): readonly Decision[] {
  // Causes stand before what they led to, also where both happened in the same millisecond.
  const told = history.of(subject).flatMap((decision) => [...history.causesOf(decision).toReversed(), decision]);
  return [...new Set(told)].sort((left, right) => left.at - right.at);
}

function nodeSentences(node: NodeFacts, grounds: Grounds): string[] {
  const { judged, observed } = node;
  const sentences = [
    judged === null ? `Node ${node.name} has not been judged yet.` : readinessSentence(node, judged, grounds),
  ];
  if (observed !== null) sentences.push(taintSentence(observed));
  if (judged === null) return sentences;
  const zone = grounds.facts.zones.get(judged.zone)?.judged;
  if (zone !== undefined) sentences.push(zoneSentence(zone));
  if (judged.eviction === "toBeEvicted" && zone !== undefined) {
    sentences.push(turnSentence(zone, grounds.profile));
    if (zone.taintsPerSecond > 0) sentences.push(consequenceSentence(judged, grounds.profile));
  }
  if (!judged.counted) sentences.push("It is excluded by its label from what decides its zone's state.");
  const blindness = grounds.blindness(node.name);
  if (blindness !== null) sentences.push(`Nothing is decided against it at present: ${blindness}.`);
  return sentences;
}

type JudgedNode = NonNullable<NodeFacts["judged"]>;

function readinessSentence({ name, observed }: NodeFacts, judged: JudgedNode, { profile, now }: Grounds): string {
  const { readiness, since, heartbeatAt } = judged;
  const sinceWhen = `since ${apiTime(since)} (${spanText(now - since)})`;
  switch (readiness) {
    case "unknown": {
      if (heartbeatAt === null) return `Node ${name} is unknown ${sinceWhen}: ${unheardText(observed)}.`;
      const grace = spanText(profile.nodeMonitorGraceMs);
      return `Node ${name} is unknown ${sinceWhen}: its last sign of life came at ${apiTime(heartbeatAt)}, and ${grace} of silence are tolerated.`;
    }
    case "notReady":
      return `Node ${name} is not ready ${sinceWhen}: its kubelet reports so.`;
    case "ready":
      return `Node ${name} is ready ${sinceWhen}.`;
    case "starting":
      return `Node ${name} is starting ${sinceWhen}: it has not told its status, for which it has ${spanText(profile.nodeStartupGraceMs)}.`;
  }
}

/** A judge that began after the node fell silent has heard nothing of it; the API still shows what came before. */
function unheardText(observed: NodeFacts["observed"]): string {
  const ready = observed === null ? null : readyConditionOf(observed);
  if (ready?.reason === SilentReason.never.reason) return "its kubelet never told its status";
  if (ready?.reason !== SilentReason.stopped.reason || ready.heartbeatAt === null) {
    return "no sign of life had been heard when it was judged";
  }
  return `its kubelet last told its status at ${apiTime(ready.heartbeatAt)}`;
}

function taintSentence(node: ObservedNode): string {
  if (node.taints.length === 0) return "It carries no NoExecute taint.";
  const standing = node.taints.map((taint) => taintName(taint) + sinceText(taint, node));
  const omitted = node.taintsOmitted ?? 0;
  const rest = omitted === 0 ? [] : [`${omitted} more taints, on which nothing is decided`];
  return `It carries ${listText([...standing, ...rest])}.`;
}

function sinceText(taint: Taint, node: ObservedNode): string {
  const startAt = taintStartAt(taint, node);
  if (startAt === null) return "";
  const isStamped = taint.timeAdded === undefined || epochMsOf(taint.timeAdded) === startAt;
  return ` since ${apiTime(startAt)}${isStamped ? "" : ` (its timeAdded says ${taint.timeAdded})`}`;
}

function zoneSentence(zone: BodyOf<"judged.zone">): string {
  const { state, notReady, size, queueLength } = zone;
  const waiting = queueLength === 0 ? "" : `, ${countText(queueLength, "node")} in the queue`;
  return `Its zone ${zoneTitleOf(zone.zone)} is ${state}: ${notReady} of ${countText(size, "node")} not ready${waiting}.`;
}

function turnSentence(zone: BodyOf<"judged.zone">, { largeClusterSizeThreshold }: Grounds["profile"]): string {
  const { halted, taintsPerSecond, tokens, queueLength, state, size } = zone;
  if (halted) return "It is not tainted, because every zone is disrupted: that looks like our own fault, not theirs.";
  if (taintsPerSecond <= 0) {
    return state === "PartialDisruption" && size <= largeClusterSizeThreshold
      ? "It waits for its turn, and no turn comes while so much of a zone so small is not ready."
      : "It waits for its turn, and no turn comes: its zone's eviction rate is 0.";
  }
  if (queueLength === 0) return "It waits for its turn, and is not in its zone's queue at present.";
  const nextMs = Math.max(0, (1 - tokens) / taintsPerSecond) * 1000;
  const company = queueLength === 1 ? "alone" : `with ${countText(queueLength - 1, "other")}`;
  return `It waits for its turn ${company}, at ${paceText(taintsPerSecond)}; the next turn comes in about ${spanText(nextMs)}.`;
}

/** What a turn brings. */
function consequenceSentence({ ready }: JudgedNode, { evictionMode }: Grounds["profile"]): string {
  if (evictionMode !== "taint") return "When its turn comes, its pods are deleted.";
  const key = ready === "False" ? TaintKey.notReady : TaintKey.unreachable;
  const taint = taintName({ key, effect: TaintEffect.noExecute });
  return `When its turn comes, it is tainted ${taint}, and each of its pods stays as long as it tolerates that.`;
}

function podSentence(
  { judged, asked, order, outcome }: PodFacts,
  pod: string,
  node: NodeFacts["observed"],
  now: number,
): string {
  if (outcome === "gone") return `${pod} was gone before it could be deleted.`;
  if (order === "done") return `${pod} was deleted; its grace period decides when it is gone.`;
  // What must go at once is asked for with another deadline each time, and is due since it was judged so.
  const deadlineAt = judged?.deadlineAt ?? asked?.deadlineAt ?? null;
  const why = judged === null ? askText(asked) : tolerationText(judged, node);
  if (outcome === "shadowed") {
    const when = deadlineAt === null ? "" : ` at ${apiTime(deadlineAt)}`;
    return `${pod} would have been deleted${when}, but nothing is written in shadow: ${why}.`;
  }
  if (deadlineAt === null) return `${pod} is to be deleted at once: ${why}.`;
  if (deadlineAt > now)
    return `${pod} is to be deleted at ${apiTime(deadlineAt)}, in ${spanText(deadlineAt - now)}: ${why}.`;
  return `${pod} was due at ${apiTime(deadlineAt)}, ${spanText(now - deadlineAt)} ago: ${why}; ${standing(order, outcome)}.`;
}

function standing(order: PodFacts["order"], outcome: PodFacts["outcome"]): string {
  if (outcome === "refused") return "its deletion was held back after a second look";
  return order === "sent" ? "the API server has not carried out the order yet" : "its deletion is under way";
}

/** Why a pod must go, where only the ask for it was heard. */
function askText(asked: PodFacts["asked"]): string {
  if (asked === null || asked.mode === "direct") return "its node is drained";
  return `its node ${asked.node} carries ${asked.taint === null ? "a NoExecute taint" : taintName(asked.taint)}`;
}

function tolerationText(judged: BodyOf<"judged.pod">, node: NodeFacts["observed"]): string {
  const { taint, tolerationSeconds } = judged;
  const what = `its node ${judged.node} carries ${taint === null ? "a NoExecute taint" : taintName(taint)}`;
  if (tolerationSeconds === null) return `${what}, which it does not tolerate`;
  const begunAt = begunBefore(judged, node);
  if (begunAt === null) return `${what}, which it tolerates for ${tolerationSeconds} s`;
  return `${what}, and its countdown of ${tolerationSeconds} s goes on that began before that, at ${apiTime(begunAt)}`;
}

/** When a countdown began that has run on over a swap of taints; null when the present taint began it. */
function begunBefore(judged: BodyOf<"judged.pod">, node: NodeFacts["observed"]): number | null {
  const { taint: decisive, deadlineAt, tolerationSeconds } = judged;
  const standing = node?.taints.find(({ key, effect }) => key === decisive?.key && effect === decisive.effect);
  if (!node || standing === undefined || deadlineAt === null || tolerationSeconds === null) return null;
  const startAt = taintStartAt(standing, node);
  if (startAt === null || lineOf(standing, startAt, node) === null) return null;
  const begunAt = deadlineAt - tolerationSeconds * 1000;
  return begunAt < startAt ? begunAt : null;
}
