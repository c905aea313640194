/** The timeline entry of a message, given the cluster state before it. Most repeated messages have none. */
import type { Outcome } from "../../../protocols/done.ts";
import type { Subject } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import { apiTime, epochMsOf } from "../../domain/api-time.ts";
import { countdownText, countText, listText, rateText, spanText } from "../../domain/format.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintName } from "../../domain/toleration.ts";
import { type ByType, dispatch } from "../by-type.ts";
import { changedAt } from "../compare/node-failure.policy.ts";
import { quotedText } from "../explain/quoted-text.ts";
import { type TimelineSentence, type TimelineSentenceName, timelineSentence } from "../explain/sentences.ts";
import { type ClusterState, type NodeJudgement, type NodeRecord, reducedNode } from "../state/cluster-state.ts";
import { conditionsText, taintsText } from "../state/node-requests.ts";

const HISTORY_TEXTS: ByType<[before: ClusterState], TimelineSentence | null> = {
  "observed.node": ({ at, body }, before) => observedText(body, at, before.nodes.get(body.node)),
  "observed.gone": () => timelineSentence("left", {}),
  "judged.node": ({ body }, before) => nodeText(body, before.nodes.get(body.node)),
  "judged.zone": ({ body }, before) => zoneText(body, before.zones.get(body.zone)?.judged),
  "judged.pod": ({ body }, before) => podText(body, before.pods.get(body.uid)?.judged ?? null, before),
  "asked.condition": ({ body }) =>
    body.conditions.length === 0
      ? timelineSentence("conditionsTakenBack", {})
      : timelineSentence("conditionsAsked", { conditions: conditionsText(body) }),
  "asked.taint": ({ body }) => timelineSentence(BY_REASON[body.why], { changes: taintsText(body) }),
  "asked.label": ({ body }) => labelsText(body),
  "asked.eviction": ({ body }) => evictionRequestText(body),
  "asked.unready": () => timelineSentence("unreadyAsked", {}),
  "asked.drain": ({ body }) => timelineSentence("drainGranted", { zone: body.zone }),
  "done.write": ({ body }, before) => outcomeText(body, before),
};

/** Labels and annotations that are requested; one that is removed has a minus. */
function labelsText({ labels, annotations = {} }: BodyOf<"asked.label">): TimelineSentence {
  const listed = (values: Readonly<Record<string, string | null>>): string =>
    listText(Object.entries(values).map(([key, value]) => (value === null ? `-${key}` : `${key}=${value}`)));
  const texts = { labels: listed(labels), annotations: listed(annotations) };
  if (texts.annotations === "") return timelineSentence("labelsAsked", texts);
  return timelineSentence(texts.labels === "" ? "annotationsAsked" : "labelsAndAnnotationsAsked", texts);
}

/** A message as half a sentence about its object; null for one that changes nothing worth reporting. */
export function historyTextOf(message: AnyMessage, before: ClusterState): TimelineSentence | null {
  return dispatch(HISTORY_TEXTS, message, before) ?? null;
}

/** A part of a message, and when what it reports happened. */
export interface DatedText {
  readonly text: TimelineSentence;
  readonly at: number;
}

/**
 * The entries of a message. A republished judgement may report an old readiness, and so may the first one that a ledger
 * receives: that is dated by its beginning, and what is known of the eviction by the message, because a node is
 * admitted well after it has been found silent.
 */
export function historyEntriesOf(message: AnyMessage, before: ClusterState): readonly DatedText[] {
  const { type, at, body } = message;
  if (type !== "judged.node") {
    const text = historyTextOf(message, before);
    return text === null ? [] : [{ text, at }];
  }
  const known = before.nodes.get(body.node);
  if (isAboutReplacedNode(body, known)) return [];
  const judged = known?.uid === body.uid ? known.judged : null;
  const readinessAt = judged?.readiness === body.readiness ? at : body.since;
  const [readiness, eviction] = [changedReadiness(body, judged), changedEviction(body, judged)];
  if (readiness !== null && eviction !== null && (judged !== null || readinessAt >= at)) {
    return [{ text: timelineSentence("bothJudged", { readiness, eviction }), at: readinessAt }];
  }
  return [
    ...(readiness === null ? [] : [{ text: readiness, at: readinessAt }]),
    ...(eviction === null ? [] : [{ text: eviction, at }]),
  ];
}

/** The object that a message is about. */
export function subjectOf({ type, body }: AnyMessage): Subject {
  if (type === "judged.zone") return { kind: "Zone", namespace: "", name: body.zone };
  if (type === "done.write") return { kind: body.kind, namespace: body.namespace, name: body.name };
  if ("namespace" in body) return { kind: "Pod", namespace: body.namespace, name: body.name };
  return { kind: "Node", namespace: "", name: "node" in body ? body.node : "" };
}

/** The node that a message is about, as its object or as that of its pod; null for none. */
export function nodeOf({ body }: AnyMessage): string | null {
  return "node" in body ? body.node : null;
}

function observedText(
  body: BodyOf<"observed.node">,
  at: number,
  before: NodeRecord | undefined,
): TimelineSentence | null {
  const isReplaced = before?.observed && before.uid !== body.uid;
  const known = isReplaced ? null : (before?.observed ?? null);
  const earlier = new Set(known?.taints.map(taintName));
  const present = new Set(reducedNode(body).taints.map(taintName));
  const added = [...present].filter((taint) => !earlier.has(taint));
  const removed = [...earlier].filter((taint) => !present.has(taint));
  const appears = known === null ? "taintsSeen" : "taintsAdded";
  const isOurs = unsentNames(body.shadow?.added);
  const isUnsent = unsentNames([...(known?.shadow?.added ?? []), ...(body.shadow?.removed ?? [])]);
  const parts = [
    ...(isReplaced ? [timelineSentence("nodeReplaced", {})] : []),
    ...taintTexts(appears, added, isOurs),
    ...taintTexts("taintsRemoved", removed, isUnsent),
    ...(known === null ? [] : madeByAnother(known, body, at)),
  ];
  return joined(parts, (first, second) => timelineSentence("bothSeen", { first, second }));
}

function unsentNames(taints: readonly Taint[] = []): (name: string) => boolean {
  const names = new Set(taints.map(taintName));
  return (name) => names.has(name);
}

/** One sentence about the taints of the API, and one about those that only shadow mode shows. */
function taintTexts(
  name: "taintsSeen" | "taintsAdded" | "taintsRemoved",
  taints: readonly string[],
  isUnsent: (taint: string) => boolean,
): TimelineSentence[] {
  const groups = [taints.filter((taint) => !isUnsent(taint)), taints.filter(isUnsent)];
  return groups.flatMap((group, index) =>
    group.length === 0 ? [] : [timelineSentence(name, { taints: listText(group) }, index === 1)],
  );
}

/** The writes that shadow mode did not send and the API shows now: another controller made them. */
function madeByAnother({ shadow: unsent }: ObservedNode, body: ObservedNode, at: number): TimelineSentence[] {
  if (unsent === undefined) return [];
  const isLeft = unsentNames(body.shadow?.added);
  const present = new Map(body.taints.map((taint) => [taintName(taint), epochMsOf(taint.timeAdded)]));
  const taints = (unsent.added ?? []).filter((taint) => present.has(taintName(taint)) && !isLeft(taintName(taint)));
  const made = taints.map((taint) =>
    madeText(taintName(taint), epochMsOf(taint.timeAdded), present.get(taintName(taint))),
  );
  const ready = readyConditionOf(body);
  const isVerdict = unsent.verdict !== undefined && body.shadow?.verdict === undefined && ready?.status === "Unknown";
  if (!isVerdict) return made;
  return [madeText("Ready=Unknown", unsent.verdict?.at ?? null, changedAt(ready.transitionAt, at, true)), ...made];
}

function madeText(change: string, ours: number | null, theirs: number | null | undefined): TimelineSentence {
  const laterMs = (theirs ?? 0) - (ours ?? 0);
  const isTimed = ours !== null && theirs != null;
  const when = laterMs < 0 ? "before Vigil would have" : "after Vigil would have";
  return timelineSentence("madeByAnother", { change, span: isTimed ? ` ${spanText(Math.abs(laterMs))} ${when}` : "" });
}

function nodeText(body: BodyOf<"judged.node">, known: NodeRecord | undefined): TimelineSentence | null {
  if (isAboutReplacedNode(body, known)) return null;
  const before = known?.uid === body.uid ? known.judged : null;
  const parts = [changedReadiness(body, before), changedEviction(body, before)].filter((part) => part !== null);
  return joined(parts, (readiness, eviction) => timelineSentence("bothJudged", { readiness, eviction }));
}

/** Whether a late judgement is of a replaced node, and not about the present node of that name. */
function isAboutReplacedNode({ uid }: BodyOf<"judged.node">, known: NodeRecord | undefined): boolean {
  return known?.observed != null && known.uid !== uid;
}

function changedReadiness(body: BodyOf<"judged.node">, before: NodeJudgement | null): TimelineSentence | null {
  const wasFine = before === null || before.readiness === "starting" || before.readiness === "ready";
  const isFine = body.readiness === "starting" || body.readiness === "ready";
  return before?.readiness === body.readiness || (wasFine && isFine) ? null : readinessText(body);
}

function changedEviction(body: BodyOf<"judged.node">, before: NodeJudgement | null): TimelineSentence | null {
  return body.eviction === (before?.eviction ?? "unmarked") ? null : evictionText(body, before === null);
}

function joined(
  parts: readonly TimelineSentence[],
  join: (first: TimelineSentence, second: TimelineSentence) => TimelineSentence,
): TimelineSentence | null {
  return parts.length === 0 ? null : parts.reduce(join);
}

function readinessText({ readiness, heartbeatAt, since }: BodyOf<"judged.node">): TimelineSentence {
  switch (readiness) {
    case "unknown":
      // A judging process that started after the last heartbeat knows none.
      return heartbeatAt === null
        ? timelineSentence("judgedWithoutHeartbeat", {})
        : timelineSentence("judgedSilent", { span: spanText(since - heartbeatAt) });
    case "notReady":
      return timelineSentence("judgedNotReady", {});
    case "ready":
      return timelineSentence("judgedReady", {});
    case "starting":
      return timelineSentence("judgedStarting", {});
  }
}

function evictionText({ eviction, zone }: BodyOf<"judged.node">, isFirst: boolean): TimelineSentence {
  if (eviction === "toBeEvicted") return timelineSentence("evictionWaits", { zone });
  if (eviction === "unmarked") return timelineSentence("evictionEnded", {});
  // At its first message about a node a ledger does not know when the node was admitted.
  return timelineSentence(isFirst ? "evictionFound" : "evictionGranted", {});
}

/** A zone's state as half a sentence, as of its last judgement. */
export function zoneStateText(body: BodyOf<"judged.zone">): TimelineSentence {
  const counted = { state: body.state, notReady: String(body.notReady), size: countText(body.size, "node") };
  if (body.halted) return timelineSentence("zoneHalted", counted);
  return timelineSentence("zoneChanged", { ...counted, rate: rateText(body.taintsPerSecond) });
}

function zoneText(body: BodyOf<"judged.zone">, before: BodyOf<"judged.zone"> | undefined): TimelineSentence | null {
  const { state, halted } = body;
  if (before?.state === state && before.halted === halted) return null;
  if (before === undefined && state === "Initial") return null;
  return zoneStateText(body);
}

type FrozenCountdown = NonNullable<BodyOf<"judged.pod">["held"]>;

function podText(
  body: BodyOf<"judged.pod">,
  before: BodyOf<"judged.pod"> | null,
  { nodes }: ClusterState,
): TimelineSentence | null {
  if (body.held !== undefined && body.eviction !== "none") return frozenText(body.held, before?.held, nodes);
  const decisive = body.toleratedTaint ?? body.taint;
  const taint = decisive === null ? "its node's taints" : taintName(decisive);
  const seconds = body.tolerationSeconds === null ? null : String(body.tolerationSeconds);
  switch (body.eviction) {
    case "none":
      return before === null || before.eviction === "none" ? null : timelineSentence("podMayStay", {});
    case "due":
      if (before?.eviction === "due") return null;
      return seconds === null
        ? timelineSentence("podMustGo", { taint })
        : timelineSentence("podTimeOver", { taint, seconds });
    case "pending":
      return before?.deadlineAt === body.deadlineAt ? null : deadlineText(body.deadlineAt, taint, seconds);
  }
}

function frozenText(
  frozen: FrozenCountdown,
  before: FrozenCountdown | undefined,
  nodes: ClusterState["nodes"],
): TimelineSentence | null {
  const { remainingMs } = frozen;
  if (before?.field === frozen.field && before.remainingMs === remainingMs) return null;
  const field = quotedText(frozen.field, nodes);
  if (remainingMs === 0) return timelineSentence("podHeldDue", { field });
  return timelineSentence("podHeld", { field, left: countdownText(remainingMs) });
}

function deadlineText(deadlineAt: number | null, taint: string, seconds: string | null): TimelineSentence {
  if (deadlineAt === null) {
    return seconds === null
      ? timelineSentence("podTolerant", { taint })
      : timelineSentence("podHasTime", { taint, seconds });
  }
  const until = apiTime(deadlineAt);
  return seconds === null
    ? timelineSentence("podMayStayUntil", { until, taint })
    : timelineSentence("podHasUntil", { until, taint, seconds });
}

const BY_REASON = {
  conditions: "taintsByConditions",
  granted: "taintsByGrant",
  swap: "taintsBySwap",
  healing: "taintsByHealing",
} as const satisfies Record<BodyOf<"asked.taint">["why"], TimelineSentenceName>;

function evictionRequestText({ mode, deadlineAt, taint }: BodyOf<"asked.eviction">): TimelineSentence {
  const due = apiTime(deadlineAt);
  if (mode === "direct") return timelineSentence("drainAsked", { due });
  return timelineSentence("deletionAsked", { due, taint: taint === null ? "its node's taints" : taintName(taint) });
}

const BY_OUTCOME = {
  conflict: "conflicted",
  gone: "goneBefore",
  refused: "heldBack",
  throttled: "throttled",
  denied: "denied",
  failed: "failed",
  unknown: "replyLost",
  shadowed: "shadowed",
} as const satisfies Record<Exclude<Outcome, "ok">, TimelineSentenceName>;

function outcomeText(
  { outcome, retrying, change, detail, latencyMs }: BodyOf<"done.write">,
  { nodes }: ClusterState,
): TimelineSentence {
  const span = spanText(latencyMs);
  let text = outcome === "ok" ? timelineSentence("written", { span }) : timelineSentence(BY_OUTCOME[outcome], {});
  if (change !== "") text = timelineSentence("withChange", { outcome: text, change });
  if (detail !== "") text = timelineSentence("withDetail", { outcome: text, detail: quotedText(detail, nodes) });
  return retrying ? timelineSentence("withRetry", { outcome: text }) : text;
}
