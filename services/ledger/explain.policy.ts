/** Why a node or a pod is as it is, in plain sentences: decided from the facts and the history at one instant. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Taint } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { Decision, Explanation, Subject } from "../../protocols/status.ts";
import { apiTime } from "../runtime/api-time.ts";
import { zoneTitleOf } from "../runtime/zone-key.ts";
import type { Facts, NodeFacts } from "./facts.ts";
import type { History } from "./history.ts";
import type { PodFacts } from "./pods.ts";
import { countText, listText, paceText, spanText, taintText } from "./words.ts";

/** What an explanation rests on. */
export interface Grounds {
  readonly facts: Facts;
  readonly history: History;
  readonly profile: Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs">;
  /** Why no verdict can be passed on a node now; null when it can. */
  readonly blindness: (node: string) => string | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Explains a node; null when nothing is known of it. */
export function explainNode(name: string, grounds: Grounds): Explanation | null {
  const node = grounds.facts.nodes.get(name);
  const timeline = timelineOf({ kind: "Node", namespace: "", name }, grounds.history);
  if (node === undefined && timeline.length === 0) return null;
  return {
    sentences: node === undefined ? [`Node ${name} is not there any more.`] : nodeSentences(node, grounds),
    timeline,
  };
}

/** Explains a pod; null when nothing was ever decided about it. */
export function explainPod(namespace: string, name: string, grounds: Grounds): Explanation | null {
  const timeline = timelineOf({ kind: "Pod", namespace, name }, grounds.history);
  const pod = grounds.facts.pods.named(namespace, name);
  if (pod === undefined && timeline.length === 0) return null;
  const node = grounds.facts.nodes.get(pod?.judged?.node ?? pod?.asked?.node ?? "");
  const sentences = [
    pod === undefined ? `Nothing asks pod ${namespace}/${name} to go.` : podSentence(pod, namespace, name, grounds.now),
    ...(node === undefined ? [] : nodeSentences(node, grounds)),
  ];
  return { sentences, timeline };
}

function timelineOf(subject: Subject, history: History): readonly Decision[] {
  // Causes stand before what they led to, also where both happened in the same millisecond.
  const told = history.of(subject).flatMap((decision) => [...history.causesOf(decision).toReversed(), decision]);
  return [...new Set(told)].sort((left, right) => left.at - right.at);
}

function nodeSentences(node: NodeFacts, grounds: Grounds): string[] {
  const { judged, observed } = node;
  const sentences = [
    judged === null ? `Node ${node.name} has not been judged yet.` : readinessSentence(node.name, judged, grounds),
  ];
  if (observed !== null) sentences.push(taintSentence(observed.taints));
  if (judged === null) return sentences;
  const zone = grounds.facts.zones.get(judged.zone)?.judged;
  if (zone !== undefined) sentences.push(zoneSentence(zone));
  if (judged.eviction === "toBeEvicted" && zone !== undefined) sentences.push(turnSentence(zone));
  if (!judged.counted) sentences.push("It is excluded by its label from what decides its zone's state.");
  const blindness = grounds.blindness(node.name);
  if (blindness !== null) sentences.push(`Nothing is decided against it at present: ${blindness}.`);
  return sentences;
}

function readinessSentence(name: string, judged: NonNullable<NodeFacts["judged"]>, { profile, now }: Grounds): string {
  const { readiness, since, heartbeatAt } = judged;
  const sinceWhen = `since ${apiTime(since)} (${spanText(now - since)})`;
  switch (readiness) {
    case "unknown": {
      if (heartbeatAt === null) return `Node ${name} is unknown ${sinceWhen}: it never gave a sign of life.`;
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

function taintSentence(noExecute: readonly Taint[]): string {
  if (noExecute.length === 0) return "It carries no NoExecute taint.";
  const taints = noExecute.map(
    (taint) => taintText(taint) + (taint.timeAdded === undefined ? "" : ` since ${taint.timeAdded}`),
  );
  return `It carries ${listText(taints)}.`;
}

function zoneSentence(zone: BodyOf<"judged.zone">): string {
  const { state, notReady, size, queueLength } = zone;
  const waiting = queueLength === 0 ? "" : `, ${countText(queueLength, "node")} in the queue`;
  return `Its zone ${zoneTitleOf(zone.zone)} is ${state}: ${notReady} of ${countText(size, "node")} not ready${waiting}.`;
}

function turnSentence({ halted, taintsPerSecond, tokens, queueLength }: BodyOf<"judged.zone">): string {
  if (halted) return "It is not tainted, because every zone is disrupted: that looks like our own fault, not theirs.";
  if (taintsPerSecond <= 0)
    return "It waits for its turn, and no turn comes while so much of a zone so small is not ready.";
  const nextMs = Math.max(0, (1 - tokens) / taintsPerSecond) * 1000;
  const others = Math.max(0, queueLength - 1);
  return `It waits for its turn with ${countText(others, "other")}, at ${paceText(taintsPerSecond)}; the next turn comes in about ${spanText(nextMs)}.`;
}

function podSentence({ judged, asked, order }: PodFacts, namespace: string, name: string, now: number): string {
  const pod = `Pod ${namespace}/${name}`;
  if (order === "done") return `${pod} was deleted; its grace period decides when it is gone.`;
  const deadlineAt = asked?.deadlineAt ?? judged?.deadlineAt ?? null;
  const why = judged === null ? "its node is drained" : tolerationText(judged);
  if (deadlineAt === null) return `${pod} is to be deleted at once: ${why}.`;
  if (deadlineAt > now)
    return `${pod} is to be deleted at ${apiTime(deadlineAt)}, in ${spanText(deadlineAt - now)}: ${why}.`;
  const order_ = order === "sent" ? "the API server has not carried out the order yet" : "its deletion is under way";
  return `${pod} was due at ${apiTime(deadlineAt)}, ${spanText(now - deadlineAt)} ago: ${why}; ${order_}.`;
}

function tolerationText({ node, taint, tolerationSeconds }: BodyOf<"judged.pod">): string {
  const what = taint === null ? "a NoExecute taint" : taintText(taint);
  if (tolerationSeconds === null) return `its node ${node} carries ${what}, which it does not tolerate`;
  return `its node ${node} carries ${what}, which it tolerates for ${tolerationSeconds} s`;
}
