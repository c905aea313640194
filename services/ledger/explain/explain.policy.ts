/**
 * Explains a node or a pod in the sentences of sentences.ts. A sentence rests on the last known state of the object and
 * on the last outcome of a request for it, never on a schedule alone.
 */
import type { Decision, Explanation, Subject } from "../../../protocols/ledger-reader.ts";
import type { History } from "../history.ts";
import type { PodRead } from "../live-pods.ts";
import { type ExplainContext, presentNode } from "./explain-context.ts";
import { nodeSentences } from "./node.policy.ts";
import { podSentences } from "./pod.policy.ts";
import { type Sentence, sentence } from "./sentences.ts";

type TypedExplanation = Explanation & { readonly sentences: readonly Sentence[] };

/** Explains a node; null where nothing is known of it. */
export function explainNode(name: string, context: ExplainContext): TypedExplanation | null {
  const node = presentNode(name, context);
  const subject = { kind: "Node", namespace: "", name } as const;
  const timeline = timelineOf(subject, context.history);
  if (node !== undefined) return { sentences: nodeSentences(node, context), timeline };
  if (timeline.length === 0) return null;
  const hasLeft = context.history.of(subject).at(-1)?.type === "observed.gone";
  const why = hasLeft ? null : context.unknownReason(name);
  const absence = why === null ? sentence("nodeGone", { node: name }) : sentence("nodeUnobserved", { node: name, why });
  return { sentences: [absence], timeline };
}

/** Explains a pod as it was just read; null where it does not exist and has no history. */
export function explainPod(
  namespace: string,
  name: string,
  read: PodRead,
  context: ExplainContext,
): TypedExplanation | null {
  const subject = { kind: "Pod", namespace, name } as const;
  const timeline = timelineOf(subject, context.history);
  const named = context.state.pods.named(namespace, name);
  if (read.kind === "absent" && named === undefined && timeline.length === 0) return null;
  const { sentences, node } = podSentences(`${namespace}/${name}`, read, named, context);
  const host = node === null ? undefined : presentNode(node, context);
  return { sentences: [...sentences, ...(host === undefined ? [] : nodeSentences(host, context))], timeline };
}

function timelineOf(subject: Subject, history: History): readonly Decision[] {
  // A cause comes before its effect, also where both happened in the same millisecond.
  const decisions = history.of(subject).flatMap((decision) => [...history.causesOf(decision).toReversed(), decision]);
  return [...new Set(decisions)].sort((left, right) => left.at - right.at);
}
