/**
 * What operators read in the log: verdicts, recoveries, NoExecute taints, drains, changes of zones and of circuit
 * breakers, and evictions, each with its reason. Everything else is in the history.
 */
import type { AnyMessage, BodyOf, Message } from "../../../protocols/messages.ts";
import { TaintEffect } from "../../../protocols/names.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { apiTime } from "../../domain/api-time.ts";
import { countText, listText } from "../../domain/format.ts";
import { taintName } from "../../domain/toleration.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import { type ByType, dispatch } from "../by-type.ts";
import { historyTextOf } from "../record/history-text.policy.ts";
import type { ClusterState } from "../state/cluster-state.ts";
import { isFirstDeletion } from "../state/pod-records.ts";

/** One line of the log. */
export interface ActivityLine {
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The deletion of a pod. Those of one node are folded into one line. */
export interface EvictedPod {
  readonly node: string;
  /** `namespace/name`. */
  readonly pod: string;
  readonly reason: string;
}

/** A line, or a pod for a folded line. */
export type Activity = { readonly line: ActivityLine } | { readonly evicted: EvictedPod };

/** How many pods a folded line names. */
const PODS_NAMED_MAX = 10;

const ACTIVITIES: ByType<[before: ClusterState, mode: Profile["evictionMode"]], Activity | null> = {
  "judged.node": (message, before, mode) => nodeActivity(message, before, mode),
  "judged.zone": (message, before) => zoneActivity(message, before),
  "judged.limits": (message, before) => breakerActivity(message, before),
  "done.write": (message, before) => writeActivity(message, before),
};

/** What a message adds to the log, given the state before it; null for most messages. */
export function activityOf(message: AnyMessage, before: ClusterState, mode: Profile["evictionMode"]): Activity | null {
  return dispatch(ACTIVITIES, message, before, mode) ?? null;
}

/** The line about pods of one node that were deleted for one reason. */
export function evictedLine(pods: readonly [EvictedPod, ...EvictedPod[]]): ActivityLine {
  const [{ node, pod, reason }] = pods;
  const what = pods.length === 1 ? `pod ${pod}` : `${pods.length} pods`;
  const named = pods.slice(0, PODS_NAMED_MAX).map((evicted) => evicted.pod);
  const fields = pods.length === 1 ? { node, pod } : { node, count: pods.length, pods: named };
  return { text: `${what} of node ${node} evicted: ${reason}`, fields };
}

function lineOf(text: string, fields: ActivityLine["fields"]): Activity {
  return { line: { text, fields } };
}

function nodeActivity(
  message: Message<"judged.node">,
  before: ClusterState,
  mode: Profile["evictionMode"],
): Activity | null {
  const { node, uid, readiness, eviction } = message.body;
  const text = historyTextOf(message, before);
  if (text === null) return null;
  const record = before.nodes.get(node);
  const judged = record?.uid === uid ? record.judged : null;
  const zone = zoneTitleOf(message.body.zone);
  const fields = { node, zone };
  if (judged?.readiness !== readiness) return lineOf(`node ${node} ${text.text}`, fields);
  // In taint mode the taint itself is logged.
  if (mode !== "direct" || eviction !== "evicted") return null;
  return lineOf(`node ${node} is drained: zone ${zone} admitted it for eviction`, fields);
}

function zoneActivity(message: Message<"judged.zone">, before: ClusterState): Activity | null {
  const text = historyTextOf(message, before);
  const zone = zoneTitleOf(message.body.zone);
  return text === null ? null : lineOf(`zone ${zone} ${text.text}`, { zone });
}

/** A breaker that is closed when the ledger first receives it is not logged. */
function breakerActivity({ body }: Message<"judged.limits">, before: ClusterState): Activity | null {
  const { policy, inWindow, memory } = body;
  const isOpen = memory.trippedAt !== null;
  const wasOpen = (before.limits.get(policy)?.judged.memory.trippedAt ?? null) !== null;
  if (isOpen === wasOpen) return null;
  const whose = policy === "" ? "the cluster" : `policy ${policy}`;
  const fields = { policy };
  if (!isOpen) return lineOf(`the circuit breaker of ${whose} is closed again`, fields);
  const reset =
    memory.resetAt === null ? "it does not close by itself" : `it closes at ${apiTime(memory.resetAt)} at the earliest`;
  return lineOf(
    `the circuit breaker of ${whose} is open: ${countText(inWindow, "node")} admitted for eviction; ${reset}`,
    fields,
  );
}

function writeActivity({ cause, body }: Message<"done.write">, before: ClusterState): Activity | null {
  if (body.outcome !== "ok") return null;
  const request = before.request(cause)?.message;
  if (body.ask === "asked.taint" && body.change !== "") {
    const line = request?.type === "asked.taint" ? taintLine(request.body, before) : unrequestedLine(body);
    return line && { line };
  }
  return isFirstDeletion(body, before.pods) ? evictionActivity(body, request, before) : null;
}

function taintLine({ node, add, remove, why }: BodyOf<"asked.taint">, before: ClusterState): ActivityLine | null {
  const isEvicting = ({ effect }: { readonly effect: string }): boolean => effect === TaintEffect.noExecute;
  const [added, removed] = [add.filter(isEvicting).map(taintName), remove.filter(isEvicting).map(taintName)];
  const judged = before.nodes.get(node)?.judged;
  const fields = { node, ...(judged && { zone: zoneTitleOf(judged.zone) }) };
  if (added.length > 0) {
    const place = removed.length > 0 ? ` in place of ${listText(removed)}` : "";
    const reason = why === "granted" ? `${zoneOf(judged)} admitted it for eviction` : "its Ready status changed";
    return { text: `node ${node} now carries ${listText(added)}${place}: ${reason}`, fields };
  }
  if (removed.length === 0) return null;
  const reason = judged?.readiness === "ready" ? "it is ready again" : "its eviction is withdrawn";
  return { text: `node ${node} no longer carries ${listText(removed)}: ${reason}`, fields };
}

function zoneOf(judged: { readonly zone: string } | null | undefined): string {
  return judged ? `zone ${zoneTitleOf(judged.zone)}` : "its zone";
}

/** A write whose request this ledger has not received. */
function unrequestedLine({ node, change }: BodyOf<"done.write">): ActivityLine | null {
  if (!change.includes(TaintEffect.noExecute)) return null;
  return { text: `node ${node} was written: ${change}`, fields: { node } };
}

function evictionActivity(
  { uid, node, namespace, name }: BodyOf<"done.write">,
  request: AnyMessage | undefined,
  before: ClusterState,
): Activity {
  const asked = request?.type === "asked.eviction" ? request.body : before.pods.get(uid)?.asked;
  const taint = asked?.taint ? taintName(asked.taint) : "its node's taints";
  const reason = asked?.mode === "direct" ? "its node is drained" : taint;
  return { evicted: { node, pod: `${namespace}/${name}`, reason } };
}
