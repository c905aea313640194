/** What is said of a node that waits: the state of its zone, its place in the queue, and what its turn brings. */
import type { BodyOf } from "../../../protocols/messages.ts";
import { TaintEffect, TaintKey } from "../../../protocols/names.ts";
import type { TaintId } from "../../../protocols/objects.ts";
import { apiTime } from "../../domain/api-time.ts";
import { countText, paceText, spanText } from "../../domain/format.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintName } from "../../domain/toleration.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import type { NodeFacts, ZoneFacts } from "../facts.ts";
import type { Grounds } from "./grounds.ts";
import { hasFailed } from "./request.policy.ts";
import { type Sentence, say } from "./sentences.ts";

/** A zone that has said nothing for so long has no owner that sees it; its owner speaks every second. */
const ZONE_SILENT_MS = 15_000;
const SECOND_MS = 1000;

type JudgedNode = NonNullable<NodeFacts["judged"]>;

/** What is said of a node's zone, and of its turn where it waits for one. */
export function turnSentences(node: NodeFacts, judged: JudgedNode, grounds: Grounds): Sentence[] {
  const zone = grounds.facts.zones.get(judged.zone);
  const sentences = zone === undefined ? [] : [zoneSentence(zone, grounds)];
  if (judged.eviction === "unmarked") return [...sentences, ...drainSentences(judged, grounds)];
  if (judged.eviction !== "toBeEvicted") return sentences;
  const stops = zone === undefined ? null : stopSentence(zone.judged, grounds.profile);
  if (stops !== null) return [...sentences, stops];
  return [...sentences, ...waitSentences(node, zone, grounds), consequence(judged, grounds)];
}

/** The taint that a node's turn brings. */
export function turnTaint({ ready }: Pick<JudgedNode, "ready">): TaintId {
  return { key: ready === "False" ? TaintKey.notReady : TaintKey.unreachable, effect: TaintEffect.noExecute };
}

/** When the turn of a node comes at the earliest, epoch milliseconds; null when it cannot be said. */
export function turnAt(place: number, { judged, toldAt }: ZoneFacts): number | null {
  const { tokens, taintsPerSecond, halted } = judged;
  if (halted || taintsPerSecond <= 0) return null;
  const tokensMissing = Math.max(0, 1 - tokens) + (place - 1);
  return toldAt + (tokensMissing / taintsPerSecond) * SECOND_MS;
}

/** A node's place in the queue of its zone, from 1; null when it is not among those that its zone names. */
export function placeOf(node: string, zone: ZoneFacts | undefined): number | null {
  const index = zone?.judged.queue?.indexOf(node) ?? -1;
  return index < 0 ? null : index + 1;
}

/** Whether the owner of a zone speaks, so that what it said last holds. */
export function isSpoken({ toldAt }: ZoneFacts, now: number): boolean {
  return now - toldAt < ZONE_SILENT_MS;
}

function zoneSentence(zone: ZoneFacts, { now }: Grounds): Sentence {
  const { state, notReady, size, queueLength } = zone.judged;
  const title = zoneTitleOf(zone.judged.zone);
  if (!isSpoken(zone, now)) return say("zoneSilent", { zone: title, state, at: apiTime(zone.toldAt) });
  const counted = { zone: title, state, notReady: String(notReady), size: countText(size, "node") };
  if (queueLength === 0) return say("zoneState", counted);
  return say("zoneQueue", { ...counted, waiting: countText(queueLength, "node") });
}

/** When a node that is not ready yet for long enough is drained at the earliest (direct mode). */
function drainSentences({ evictionFromAt }: JudgedNode, { now }: Grounds): Sentence[] {
  if (evictionFromAt === undefined) return [];
  const at = apiTime(evictionFromAt);
  if (evictionFromAt <= now) return [say("drainOverdue", { at })];
  return [say("drainFrom", { at, span: spanText(evictionFromAt - now) })];
}

/** Why no turn comes at all; null when turns come. */
function stopSentence(
  { halted, taintsPerSecond, state, size }: BodyOf<"judged.zone">,
  { largeClusterSizeThreshold }: Grounds["profile"],
): Sentence | null {
  if (halted) return say("turnHalted", {});
  if (taintsPerSecond > 0) return null;
  const isSmall = state === "PartialDisruption" && size <= largeClusterSizeThreshold;
  return isSmall ? say("turnSmallZone", {}) : say("turnNever", {});
}

function waitSentences(node: NodeFacts, zone: ZoneFacts | undefined, { blindness, profile, now }: Grounds): Sentence[] {
  if (zone === undefined || !isSpoken(zone, now) || blindness(node.name) !== null) return [say("turnUnforeseen", {})];
  const { queue, queueLength: length, taintsPerSecond } = zone.judged;
  const place = placeOf(node.name, zone);
  const counted = { length: String(length), pace: paceText(taintsPerSecond) };
  const turn = node.requests.turn;
  // The turn was granted: what came of it is said beside this, and the next turn comes behind the others.
  if (turn !== null && !hasFailed(turn)) return [];
  if (place !== null) {
    const at = turnAt(place, zone) ?? now;
    const span = spanText(Math.max(0, at - now));
    return [say("turnPlace", { ...counted, place: String(place), at: apiTime(Math.max(at, now)), span })];
  }
  if (profile.evictionMode === "taint" && !isShownDown(node)) return [say("turnUnshown", {})];
  const named = queue?.length ?? 0;
  if (named === 0 || length <= named) return [say("turnUnqueued", {})];
  const at = turnAt(named, zone) ?? now;
  const span = spanText(Math.max(0, at - now));
  return [say("turnBehind", { ...counted, count: String(named), at: apiTime(Math.max(at, now)), span })];
}

/** Whether the API shows the node as not ready: only then does a turn bring a taint. */
function isShownDown({ observed }: NodeFacts): boolean {
  const status = observed === null ? undefined : readyConditionOf(observed)?.status;
  return status === "False" || status === "Unknown";
}

function consequence(judged: JudgedNode, { profile }: Grounds): Sentence {
  if (profile.evictionMode !== "taint") return say("turnDrains", {});
  return say("turnTaints", { taint: taintName(turnTaint(judged)) });
}
