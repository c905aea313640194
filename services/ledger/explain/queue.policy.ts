/** Sentences about a node that waits: the state of its zone, its place in the eviction queue, and what follows. */
import type { ZoneHold } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { TaintId } from "../../../protocols/objects.ts";
import { apiTime } from "../../domain/api-time.ts";
import { countText, type NamedText, named, namedList, policyText, rateText, spanText } from "../../domain/format.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintName } from "../../domain/toleration.ts";
import type { Judged, NodeJudgement, NodeRecord } from "../state/cluster-state.ts";
import { blockedBy, grantAt, isRecent, placeOf } from "../state/waiting-nodes.policy.ts";
import { type ExplainContext, isOutdated } from "./explain-context.ts";
import { quotedText } from "./quoted-text.ts";
import { hasFailed } from "./request.policy.ts";
import { type Sentence, sentence } from "./sentences.ts";

/** The sentences about a node's zone, and about its place in the queue where it waits. */
export function queueSentences(node: NodeRecord, judged: NodeJudgement, context: ExplainContext): Sentence[] {
  const zone = context.state.zones.get(judged.zone);
  const sentences = zone === undefined ? [] : [zoneSentence(zone, context)];
  if (isOutdated(node, context)) return sentences;
  const taint = waitingTaintOf(judged);
  if (taint === null) {
    return judged.eviction === "unmarked" ? [...sentences, ...drainSentences(node.name, judged, context)] : sentences;
  }
  if (context.freezes.evictionFreeze(judged) !== null) return [...sentences, sentence("queueFrozen", {})];
  if (context.profile.upstream === "beside") return [...sentences, sentence("queueUpstreams", {})];
  const stops = zone === undefined ? null : stopSentence(zone.judged, context.profile);
  if (stops !== null) return [...sentences, stops];
  const blocked = blockedSentence(node, judged, context);
  if (blocked !== null) return [...sentences, blocked, effectSentence(taint, context)];
  return [...sentences, ...waitSentences(node, zone, context), effectSentence(taint, context)];
}

function zoneSentence(zone: Judged<"judged.zone">, { now }: ExplainContext): Sentence {
  const { zone: key, state, notReady, size, queueLength } = zone.judged;
  if (!isRecent(zone, now)) return sentence("zoneSilent", { zone: key, state, at: apiTime(zone.publishedAt) });
  const counted = { zone: key, state, notReady: String(notReady), size: countText(size, "node") };
  if (queueLength === 0) return sentence("zoneState", counted);
  return sentence("zoneQueue", { ...counted, waiting: countText(queueLength, "node") });
}

/** The earliest drain of a node that waits for none yet, or why it will not wait for one (direct mode). */
function drainSentences(
  node: string,
  { readiness, evictionFromAt }: NodeJudgement,
  context: ExplainContext,
): Sentence[] {
  const { now, profile, blindness, isDrainEmpty } = context;
  if (evictionFromAt === undefined) {
    const isDown = profile.evictionMode === "direct" && (readiness === "notReady" || readiness === "unknown");
    return isDown && blindness(node) === null && isDrainEmpty(node) ? [sentence("drainEmpty", {})] : [];
  }
  const at = apiTime(evictionFromAt);
  if (evictionFromAt <= now) return [sentence("drainOverdue", { at })];
  return [sentence("drainFrom", { at, span: spanText(evictionFromAt - now) })];
}

/** Why the zone admits no node; null where it does. */
function stopSentence(
  { halted, taintsPerSecond, state, size }: BodyOf<"judged.zone">,
  { largeClusterSizeThreshold }: ExplainContext["profile"],
): Sentence | null {
  if (halted) return sentence("queueHalted", {});
  if (taintsPerSecond > 0) return null;
  const isSmall = state === "PartialDisruption" && size <= largeClusterSizeThreshold;
  return isSmall ? sentence("queueSmallZone", {}) : sentence("queueNever", {});
}

/** Why the limits of its policy, or of the cluster, block a waiting node; null where they do not. */
function blockedSentence(node: NodeRecord, judged: NodeJudgement, { state, now }: ExplainContext): Sentence | null {
  const block = blockedBy(node, judged, state.limits, now);
  if (block === null) return null;
  const whose = limiterText(block.policy);
  const values = { field: block.field, whose, detail: quotedText(block.detail, state.nodes) };
  return block.untilAt === null
    ? sentence("queueHeld", values)
    : sentence("queueHeldUntil", { ...values, at: apiTime(block.untilAt) });
}

/** The fields that block nodes of a zone: `2 nodes by maxUnhealthy of NodePolicy gpu and 1 node by a freeze`. */
export function blocksText(blocks: readonly ZoneHold[]): NamedText {
  return namedList(
    blocks.map(({ policy, field, nodes }) => {
      const by = policy === null || field === null ? "a freeze" : named`${field} of ${limiterText(policy)}`;
      return named`${countText(nodes, "node")} by ${by}`;
    }),
  );
}

/** The object whose limit blocks nodes: the name of a policy, or "" for the cluster. */
export function limiterText(policy: string): NamedText | string {
  return policy === WHOLE_CLUSTER ? "the cluster" : policyText(policy);
}

function waitSentences(
  node: NodeRecord,
  zone: Judged<"judged.zone"> | undefined,
  { blindness, profile, now }: ExplainContext,
): Sentence[] {
  if (zone === undefined || !isRecent(zone, now) || blindness(node.name) !== null)
    return [sentence("queueUnknown", {})];
  const { queue, queueLength: length, taintsPerSecond } = zone.judged;
  const place = placeOf(node.name, zone);
  const counted = { length: String(length), rate: rateText(taintsPerSecond) };
  const grant = node.requests.grant;
  // An admitted node has left the queue, and its request is explained on its own.
  if (grant !== null && !hasFailed(grant)) return [];
  const estimate = (position: number) => {
    const at = Math.max(grantAt(position, zone) ?? now, now);
    return { ...counted, at: apiTime(at), span: spanText(at - now) };
  };
  if (place !== null) return [sentence("queuePlace", { ...estimate(place), place: String(place) })];
  const waitsForReadiness = node.judged?.eviction === "toBeEvicted";
  if (waitsForReadiness && profile.evictionMode === "taint" && !isShownDown(node))
    return [sentence("queueNotShown", {})];
  const named = queue?.length ?? 0;
  if (named === 0 || length <= named) return [sentence("queueMissing", {})];
  return [sentence("queueBehind", { ...estimate(named), count: String(named) })];
}

/** Whether the API shows the node as not ready: only then does it join the queue (taint mode). */
function isShownDown({ observed }: NodeRecord): boolean {
  const status = observed === null ? undefined : readyConditionOf(observed)?.status;
  return status === "False" || status === "Unknown";
}

function effectSentence(taint: TaintId, { profile, isShadow }: ExplainContext): Sentence {
  if (profile.evictionMode !== "taint") return sentence("queueDrains", {}, isShadow);
  return sentence("queueTaints", { taint: taintName(taint) }, isShadow);
}
