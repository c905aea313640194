/**
 * Explains a node, a zone, a node policy or a pod in the sentences of sentences.ts. A sentence rests on the last known
 * state of the object and on the last outcome of a request for it, never on a schedule alone.
 */
import type { Decision, Explanation, FactualExplanation, Subject } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import { apiTime } from "../../domain/api-time.ts";
import { countText, namedList, nameText } from "../../domain/format.ts";
import { freezeText } from "../../domain/freeze-report.ts";
import { namesZone, partsOfDomain, zoneTitleOf } from "../../domain/zone-key.ts";
import type { History } from "../record/history.ts";
import { zoneStateText } from "../record/history-text.policy.ts";
import { policyReports } from "../report/policy-reports.ts";
import type { Judged } from "../state/cluster-state.ts";
import { blocksByZone, isRecent } from "../state/waiting-nodes.policy.ts";
import { type ExplainContext, leasePathSentences, presentNode } from "./explain-context.ts";
import type { PodRead } from "./live-pods.ts";
import { nodeSentences } from "./node.policy.ts";
import { policySentences } from "./node-policy.policy.ts";
import { podSentences } from "./pod.policy.ts";
import { blocksText } from "./queue.policy.ts";
import { type Sentence, sentence } from "./sentences.ts";

/** Explains a node; null where nothing is known of it. */
export function explainNode(name: string, context: ExplainContext): FactualExplanation | null {
  const node = presentNode(name, context);
  const subject = { kind: "Node", namespace: "", name } as const;
  const timeline = timelineOf(subject, context.history);
  if (node !== undefined) return explanationOf(nodeSentences(node, context), timeline);
  if (timeline.length === 0) return null;
  const hasLeft = context.history.of(subject).at(-1)?.type === "observed.gone";
  const why = hasLeft ? null : context.unknownReason(name);
  const absence = why === null ? sentence("nodeGone", { node: name }) : sentence("nodeUnobserved", { node: name, why });
  const blindness = hasLeft ? context.blindness(name) : null;
  // It may have been created again since.
  const blind = blindness === null ? [] : [sentence("nodeBlind", { why: blindness })];
  return explanationOf([absence, ...blind], timeline);
}

/**
 * Explains the zone that a person's text names, in the words of its timeline and with its queue; null where no zone, or
 * more than one, is named.
 */
export function explainZone(name: string, context: ExplainContext): Explanation | null {
  const { state } = context;
  const named = [...state.zones.values()].filter(({ judged }) => namesZone(name, judged.zone));
  const exact = named.find(({ judged }) => zoneTitleOf(judged.zone) === name || judged.zone === name);
  const zone = exact ?? (named.length === 1 ? named[0] : undefined);
  if (zone === undefined) return isUpstreams(name, context) ? explanationOf([sentence("zoneUpstreams", {})], []) : null;
  const { judged } = zone;
  const timeline = timelineOf({ kind: "Zone", namespace: "", name: judged.zone }, context.history);
  const present = zoneSentence(zone, context);
  if (!isRecent(zone, context.now)) return explanationOf([present], timeline);
  const first = judged.queue ?? [];
  const next = namedList(first.map((node) => nameText("Node", node)));
  const waiting = { waiting: countText(judged.queueLength, "node"), first: next };
  const queue = first.length === 0 ? [] : [sentence("zoneWaiting", waiting)];
  const blocks = blocksByZone(state, context.freezes).get(judged.zone) ?? [];
  const blocked = blocks.length === 0 ? [] : [sentence("zoneHeld", { holds: blocksText(blocks) })];
  const down = evictsEveryNode(judged) ? [sentence("zoneDown", {})] : [];
  const why = [...frozenSentences(context), ...leasePathSentences(context), ...down];
  return explanationOf([present, ...why, ...queue, ...blocked], timeline);
}

function evictsEveryNode({ state, halted, taintsPerSecond }: BodyOf<"judged.zone">): boolean {
  return state === "FullDisruption" && !halted && taintsPerSecond > 0;
}

/** Whether nodes that upstream's controllers evict are in a zone of this name. */
function isUpstreams(name: string, { state, profile }: ExplainContext): boolean {
  return (
    profile.upstream === "beside" && [...state.nodes.values()].some(({ judged }) => namesZone(name, judged?.zone ?? ""))
  );
}

/** That a freeze of all nodes stops every zone, whatever its rate. */
function frozenSentences({ freezes }: ExplainContext): Sentence[] {
  const freeze = freezes.evictionFreeze(null);
  if (freeze === null) return [];
  const until = freeze.untilAt === null ? "a user thaws them" : apiTime(freeze.untilAt);
  return [sentence("zoneFrozen", { by: freezeText(freeze), until })];
}

/**
 * Explains a node policy, with the state and the history of the zones that it has for itself; null where no policy of
 * this name is in force.
 */
export function explainPolicy(name: string, set: PolicySet | null, context: ExplainContext): Explanation | null {
  const { state, history, now } = context;
  const policy = set?.policies.find((each) => each.name === name);
  const report = policyReports(set, state, now)?.find((each) => each.name === name);
  if (policy === undefined || report === undefined) return null;
  const own = [...state.zones.values()].filter(({ judged }) => partsOfDomain(judged.zone).policy === name);
  const zones = own.sort((left, right) => (left.judged.zone < right.judged.zone ? -1 : 1));
  const decisions = zones.flatMap(({ judged }) =>
    timelineOf({ kind: "Zone", namespace: "", name: judged.zone }, history),
  );
  return explanationOf(
    [...policySentences(policy, report, context), ...zones.map((zone) => zoneSentence(zone, context))],
    [...new Set(decisions)].sort((left, right) => left.at - right.at),
  );
}

function zoneSentence(zone: Judged<"judged.zone">, { now }: ExplainContext): Sentence {
  const { judged, publishedAt } = zone;
  if (isRecent(zone, now)) return sentence("zoneIs", { zone: judged.zone, state: zoneStateText(judged) });
  return sentence("zoneWas", { zone: judged.zone, state: judged.state, at: apiTime(publishedAt) });
}

/** Explains a pod as it was just read; null where it does not exist and has no history. */
export function explainPod(
  namespace: string,
  name: string,
  read: PodRead,
  context: ExplainContext,
): FactualExplanation | null {
  const subject = { kind: "Pod", namespace, name } as const;
  const timeline = timelineOf(subject, context.history);
  const named = context.state.pods.named(namespace, name);
  if (read.kind === "absent" && named === undefined && timeline.length === 0) return null;
  const { sentences, node } = podSentences(`${namespace}/${name}`, read, named, context);
  const host = node === null ? undefined : presentNode(node, context);
  return explanationOf([...sentences, ...(host === undefined ? [] : nodeSentences(host, context))], timeline);
}

function explanationOf(facts: readonly Sentence[], timeline: readonly Decision[]): FactualExplanation {
  return { sentences: facts.map(({ text }) => text), names: facts.map(({ names }) => names), facts, timeline };
}

function timelineOf(subject: Subject, history: History): readonly Decision[] {
  // A cause comes before its effect, also where both happened in the same millisecond.
  const decisions = history.of(subject).flatMap((decision) => [...history.causesOf(decision).toReversed(), decision]);
  return [...new Set(decisions)].sort((left, right) => left.at - right.at);
}
