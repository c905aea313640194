/**
 * Why a node or a pod is as it is, in sentences of sentences.ts. A sentence rests on the last known state of
 * the object and on the last outcome of what was requested for it, never on what is scheduled alone.
 */
import type { Decision, Explanation, Subject } from "../../../protocols/status.ts";
import type { History } from "../history.ts";
import type { PodRead } from "../live-pods.ts";
import { type Grounds, presentNode } from "./grounds.ts";
import { nodeSentences } from "./node.policy.ts";
import { podSaid } from "./pod.policy.ts";
import { type Sentence, say } from "./sentences.ts";

/** An explanation whose every sentence is one of the table. */
type SaidExplanation = Explanation & { readonly sentences: readonly Sentence[] };

/** Explains a node; null when nothing is known of it. */
export function explainNode(name: string, grounds: Grounds): SaidExplanation | null {
  const node = presentNode(name, grounds);
  const subject = { kind: "Node", namespace: "", name } as const;
  const timeline = timelineOf(subject, grounds.history);
  if (node !== undefined) return { sentences: nodeSentences(node, grounds), timeline };
  if (timeline.length === 0) return null;
  const hasLeft = grounds.history.of(subject).at(-1)?.type === "observed.gone";
  const why = hasLeft ? null : grounds.ignorance(name);
  const absence = why === null ? say("nodeGone", { node: name }) : say("nodeUnobserved", { node: name, why });
  return { sentences: [absence], timeline };
}

/** Explains a pod as it was just read; null when it is not there and nothing was ever decided about it. */
export function explainPod(namespace: string, name: string, read: PodRead, grounds: Grounds): SaidExplanation | null {
  const subject = { kind: "Pod", namespace, name } as const;
  const timeline = timelineOf(subject, grounds.history);
  const named = grounds.facts.pods.named(namespace, name);
  if (read.kind === "absent" && named === undefined && timeline.length === 0) return null;
  const { sentences, node } = podSaid(`${namespace}/${name}`, read, named, grounds);
  const host = node === null ? undefined : presentNode(node, grounds);
  return { sentences: [...sentences, ...(host === undefined ? [] : nodeSentences(host, grounds))], timeline };
}

function timelineOf(subject: Subject, history: History): readonly Decision[] {
  // Causes stand before what they led to, also where both happened in the same millisecond.
  const told = history.of(subject).flatMap((decision) => [...history.causesOf(decision).toReversed(), decision]);
  return [...new Set(told)].sort((left, right) => left.at - right.at);
}
