/**
 * What a message means in plain words, or that it is not worth telling: decided from the message and the facts before
 * it.
 */
import type { Outcome } from "../../protocols/done.ts";
import type { AnyMessage, BodyOf } from "../../protocols/messages.ts";
import type { Subject } from "../../protocols/status.ts";
import { apiTime } from "../domain/api-time.ts";
import { countText, listText, paceText, spanText } from "../domain/format.ts";
import { taintName } from "../domain/toleration.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";
import { type ByType, dispatch } from "./by-type.ts";
import { essenceOf, type Facts, type NodeFacts } from "./facts.ts";

const SENTENCES: ByType<[before: Facts], string | null> = {
  "observed.node": ({ body }, before) => sightText(body, before.nodes.get(body.node)),
  "observed.gone": () => "left the API",
  "judged.node": ({ body }, before) => nodeText(body, before.nodes.get(body.node)),
  "judged.zone": ({ body }, before) => zoneText(body, before.zones.get(body.zone)?.judged),
  "judged.pod": ({ body }, before) => podText(body, before.pods.get(body.uid)?.judged ?? null),
  "asked.condition": ({ body }) =>
    body.conditions.length === 0
      ? "asked to set no condition after all"
      : `asked to set ${listText(body.conditions.map(({ type, status }) => `${type}=${status}`))}`,
  "asked.taint": ({ body }) => taintAskText(body),
  "asked.label": ({ body }) =>
    `asked for labels ${listText(Object.entries(body.labels).map((label) => label.join("=")))}`,
  "asked.eviction": ({ body }) => evictionAskText(body),
  "asked.unready": () => "asked to be marked NotReady: its node is not ready",
  "asked.drain": ({ body }) => `its turn to be drained has come in zone ${zoneTitleOf(body.zone)}`,
  "done.write": ({ body }) => outcomeText(body),
};

/** A message as half a sentence about its object; null for one that changes nothing anybody would ask about. */
export function sentenceOf(message: AnyMessage, before: Facts): string | null {
  return dispatch(SENTENCES, message, before) ?? null;
}

/**
 * When what a message tells of happened: a judgement is told again to whoever asks, long after the node came to be so.
 */
export function instantOf({ type, at, body }: AnyMessage, before: Facts): number {
  if (type !== "judged.node") return at;
  const known = before.nodes.get(body.node);
  return known?.uid === body.uid && known.judged?.readiness === body.readiness ? at : body.since;
}

/** The object a message is about. */
export function subjectOf({ type, body }: AnyMessage): Subject {
  if (type === "judged.zone") return { kind: "Zone", namespace: "", name: body.zone };
  if (type === "done.write") return { kind: body.kind, namespace: body.namespace, name: body.name };
  if ("namespace" in body) return { kind: "Pod", namespace: body.namespace, name: body.name };
  return { kind: "Node", namespace: "", name: "node" in body ? body.node : "" };
}

function sightText(body: BodyOf<"observed.node">, before: NodeFacts | undefined): string | null {
  const isReplaced = before?.observed && before.uid !== body.uid;
  const known = isReplaced ? null : (before?.observed ?? null);
  const had = new Set(known?.taints.map(taintName));
  const has = new Set(essenceOf(body).taints.map(taintName));
  const came = [...has].filter((taint) => !had.has(taint));
  const went = [...had].filter((taint) => !has.has(taint));
  const parts = isReplaced ? ["is another node of that name from here on"] : [];
  if (came.length > 0) parts.push(`${known === null ? "carries" : "now carries"} ${listText(came)}`);
  if (went.length > 0) parts.push(`no longer carries ${listText(went)}`);
  return parts.length === 0 ? null : parts.join(" and ");
}

function nodeText(body: BodyOf<"judged.node">, known: NodeFacts | undefined): string | null {
  // Word of a node that another one of its name has replaced comes late, and is not about the node that is there.
  if (known?.observed && known.uid !== body.uid) return null;
  const before = known?.uid === body.uid ? known.judged : null;
  const wasFine = before === null || before.readiness === "starting" || before.readiness === "ready";
  const isFine = body.readiness === "starting" || body.readiness === "ready";
  const parts: string[] = [];
  if (before?.readiness !== body.readiness && !(wasFine && isFine)) parts.push(readinessText(body));
  if (body.eviction !== (before?.eviction ?? "unmarked")) parts.push(evictionText(body, before === null));
  return parts.length === 0 ? null : parts.join("; ");
}

function readinessText({ readiness, heartbeatAt, since }: BodyOf<"judged.node">): string {
  switch (readiness) {
    case "unknown": {
      // A process that began after the node fell silent has heard no heartbeat of it; others may have.
      return heartbeatAt === null
        ? "judged unknown: no heartbeat within its grace"
        : `judged unknown: silent for ${spanText(since - heartbeatAt)}`;
    }
    case "notReady":
      return "judged not ready: its kubelet reports Ready=False";
    case "ready":
      return "judged ready: its kubelet reports Ready=True and renews its lease";
    case "starting":
      return "judged starting: its kubelet has not posted its status yet";
  }
}

function evictionText({ eviction, zone }: BodyOf<"judged.node">, isFirst: boolean): string {
  if (eviction === "toBeEvicted") return `waits for its turn in zone ${zoneTitleOf(zone)}`;
  if (eviction === "unmarked") return "its pods may stay";
  // Whoever hears of the node for the first time does not know when its turn came.
  return isFirst ? "its pods may not stay" : "its turn has come: its pods may not stay";
}

function zoneText(body: BodyOf<"judged.zone">, before: BodyOf<"judged.zone"> | undefined): string | null {
  if (before?.state === body.state && before.halted === body.halted) return null;
  if (before === undefined && body.state === "Initial") return null;
  const share = `${body.notReady} of ${countText(body.size, "node")} not ready`;
  const pace = body.halted
    ? "all zones are disrupted, so no node is tainted"
    : `pace: ${paceText(body.taintsPerSecond)}`;
  return `is ${body.state}: ${share}; ${pace}`;
}

function podText(body: BodyOf<"judged.pod">, before: BodyOf<"judged.pod"> | null): string | null {
  const taint = body.taint === null ? "its node's taints" : taintName(body.taint);
  switch (body.sentence) {
    case "none":
      return before === null || before.sentence === "none" ? null : "may stay: nothing asks it to go any more";
    case "now":
      if (before?.sentence === "now") return null;
      return body.tolerationSeconds === null
        ? `must go at once: it does not tolerate ${taint}`
        : `must go now: its ${body.tolerationSeconds} s with ${taint} are over`;
    case "deadline": {
      if (before?.deadlineAt === body.deadlineAt) return null;
      const span = body.tolerationSeconds === null ? "" : ` for ${body.tolerationSeconds} s`;
      const until = body.deadlineAt === null ? "" : ` until ${apiTime(body.deadlineAt)}`;
      return `may stay${until}: it tolerates ${taint}${span}`;
    }
  }
}

const WHY_TAINT: Readonly<Record<BodyOf<"asked.taint">["why"], string>> = {
  conditions: "its conditions say so",
  turn: "its turn has come",
  swap: "the opposite taint stood there",
  healing: "it is well again",
};

function taintAskText({ add, remove, why }: BodyOf<"asked.taint">): string {
  const changes = [...add.map((taint) => `+${taintName(taint)}`), ...remove.map((taint) => `-${taintName(taint)}`)];
  return `asked for taints ${listText(changes)}: ${WHY_TAINT[why]}`;
}

function evictionAskText({ mode, deadlineAt, taint }: BodyOf<"asked.eviction">): string {
  const by = taint === null ? "its node's taints" : taintName(taint);
  return `asked to be deleted, due ${apiTime(deadlineAt)}: ${mode === "direct" ? "its node is drained" : `by ${by}`}`;
}

const OUTCOME_TEXT: Readonly<Record<Outcome, string>> = {
  ok: "written",
  conflict: "the object had changed",
  gone: "the object is gone",
  refused: "held back after a second look",
  throttled: "the API server asked to wait",
  denied: "the API server refused",
  failed: "failed",
  unknown: "the reply was lost",
  shadowed: "would have been written",
};

function outcomeText({ outcome, retrying, change, detail, latencyMs }: BodyOf<"done.write">): string {
  const what = change === "" ? "" : `: ${change}`;
  const why = detail === "" ? "" : ` (${detail})`;
  const again = retrying ? "; will be tried again" : "";
  const took = outcome === "ok" ? ` after ${spanText(latencyMs)}` : "";
  return `${OUTCOME_TEXT[outcome]}${took}${what}${why}${again}`;
}
