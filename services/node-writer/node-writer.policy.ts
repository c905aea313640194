/** Decides whether a request about a node still holds, and builds its patch. */
import type { BodyOf } from "../../protocols/messages.ts";
import { Annotation, ConditionType, FOLLOWING_LABELS, TaintEffect } from "../../protocols/names.ts";
import { isReservedTaintKey } from "../../protocols/node-policy.ts";
import type {
  ConditionSighting,
  ConditionStatus,
  NodeShadowChange,
  ObservedNode,
  Taint,
  TaintId,
} from "../../protocols/objects.ts";
import type { PolicySet, UnhealthyCondition } from "../../protocols/policy-set.ts";
import { apiMicroTime, apiTime, epochMsOf } from "../domain/api-time.ts";
import { conditionTaintsText } from "../domain/condition-records.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { policyOf } from "../domain/node-policy.ts";
import { isOutOfService, OUT_OF_SERVICE } from "../domain/out-of-service.ts";
import { evictingTaintOf, taintSwapOf, taintSwapText } from "../domain/taint-swap.ts";
import { isSwappable, taintName } from "../domain/toleration.ts";
import { conditionTaintsOf, isRemovable, ruleFor, statusOf } from "../domain/unhealthy-conditions.ts";
import { type NodeRecords, nodeRecords } from "../platform/kube/watch/node-annotations.ts";
import type { ConditionPatch } from "../platform/kube/write/sent-bodies.ts";
import type { PatchBasis, VersionedPatch } from "../platform/requests/guarded-patch.ts";
import { keepsOutOfService, keepsRecord, OUT_OF_SERVICE_BASIS } from "./out-of-service.policy.ts";

/**
 * What to do about a request: write, or end it because nothing is left to change, it is refuted, or the node is gone.
 */
export type NodeWriteDecision =
  | {
      readonly kind: "write";
      readonly change: string;
      readonly body: NodePatch;
      /** What a patch of the live node depends on besides; absent for nothing. */
      readonly basis?: PatchBasis;
      /** The same change as shadow mode remembers it. */
      readonly shadow: NodeShadowChange;
    }
  | { readonly kind: "ok" | "refused" | "gone"; readonly detail: string };

/** A strategic merge patch of a node; a patch of labels names no version. */
export type NodePatch = VersionedPatch | LabelPatch;

interface LabelPatch {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion?: undefined;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
}

/** A version of a node: the one a request names, or the live one. */
export type KnownVersion = Pick<ObservedNode, "uid" | "resourceVersion">;

/** How far the clocks of the node service and the node-writer may lie apart, in milliseconds. */
const CLOCKS_APART_MS = 2000;

const UNCHANGED: NodeWriteDecision = { kind: "ok", detail: "nothing is left to change" };

/**
 * Decides `asked.condition`. `live` is the node as just read; null to rely on the resourceVersion of the request. A
 * heartbeat other than the verdict's refutes it. Conditions that are Unknown by now stay as they are.
 */
export function decideConditions(
  ask: BodyOf<"asked.condition">,
  live: ObservedNode | null,
  wallMs: number,
): NodeWriteDecision {
  const changed = identityProblem(ask, live);
  if (changed !== null) return changed;
  const ready = live === null ? null : readyConditionOf(live);
  if (ready?.status === "Unknown") return UNCHANGED;
  const known = new Set(live?.conditions.map(({ type }) => type));
  const postedAt = ready?.heartbeatAt ?? null;
  if (postedAt !== null && postedAt !== ask.basis.statusHeartbeatAt) {
    return { kind: "refused", detail: "the kubelet has posted its status since" };
  }
  if (live !== null && (ready !== null) !== restsOnReady(ask)) {
    return {
      kind: "refused",
      detail: "the Ready condition was added or removed since, so another grace period counts",
    };
  }
  const unknown = new Set(live?.conditions.filter(({ status }) => status === "Unknown").map(({ type }) => type));
  const wanted = ask.conditions.filter(({ type }) => !unknown.has(type));
  const conditions = wanted.map(
    ({ type, status, reason, message, heartbeatAt }): ConditionPatch => ({
      type,
      status,
      reason,
      message,
      ...(heartbeatAt === null || known.has(type) ? {} : { lastHeartbeatTime: apiTime(heartbeatAt) }),
      lastTransitionTime: apiTime(wallMs),
    }),
  );
  const change = `conditions: ${wanted.map(({ type, status }) => `${type}=${status}`).join(" ")}`;
  const body = { metadata: preconditionOf(live ?? ask), status: { conditions } };
  const transitionAt = epochMsOf(apiTime(wallMs));
  const forced = wanted.map(({ type, status, reason, heartbeatAt }) => ({
    type,
    status,
    reason,
    heartbeatAt,
    transitionAt,
  }));
  return { kind: "write", change, body, shadow: { verdict: { at: wallMs, ...ask.basis, conditions: forced } } };
}

/**
 * Decides `asked.taint` in one patch of the whole list: foreign taints stay in place (P4), added ones are stamped
 * (R4.6), and present ones keep their stamps. A changed Ready status refutes the request; healing is refuted only by a
 * node that is not ready after all. A NoExecute taint is added only to a live node, and only the one its Ready status
 * calls for.
 */
export function decideTaints(
  ask: BodyOf<"asked.taint">,
  live: ObservedNode | null,
  wallMs: number,
  policies: PolicySet | null = null,
): NodeWriteDecision {
  const gone = identityProblem(ask, live);
  if (gone !== null) return gone;
  const ready = live === null ? ask.ready : (readyConditionOf(live)?.status ?? null);
  // When all zones are down, taints also go from nodes that are not ready (R6.10), whatever their status has become.
  if (ask.why === "healing" ? ask.ready === "True" && ready !== "True" : ready !== ask.ready) {
    return {
      kind: "refused",
      detail: `${ConditionType.ready} is ${ready ?? "missing"}, not ${ask.ready ?? "missing"}`,
    };
  }
  const wrong = ask.add.find((id) => isUncalledFor(id, live, ready));
  if (wrong !== undefined) {
    return { kind: "refused", detail: `a node whose Ready is ${ready ?? "missing"} gets no ${taintName(wrong)}` };
  }
  const { add, remove, unfounded } = foundedChange(ask, { live, wallMs, policies });
  const before = live === null ? ask.taints : live.taints;
  const kept = before.filter((taint) => !remove.some((id) => isSame(id, taint)) && !isOpposite(taint, add));
  const added = wantedOf({ ...ask, add, remove }, before).filter((id) => !kept.some((taint) => isSame(id, taint)));
  if (added.length === 0 && kept.length === before.length) {
    return unfounded === null ? UNCHANGED : { kind: "refused", detail: unfounded };
  }
  const removed = before.filter((taint) => !kept.includes(taint));
  const stamped = added.map((id) => ({ ...(isOutOfService(id) ? OUT_OF_SERVICE : id), timeAdded: apiTime(wallMs) }));
  const taints: Taint[] = [...kept, ...stamped];
  const changes = [...added.map((id) => `+${taintName(id)}`), ...removed.map((id) => `-${taintName(id)}`)];
  const changed = { kept, added, removed };
  const starts = live === null ? {} : startsAnnotation(live, changed);
  const annotations = annotationsPart({
    ...starts,
    ...swapAnnotation(live ?? ask, changed, wallMs),
    ...outOfServiceAnnotation(changed, wallMs),
    ...(live === null ? {} : conditionTaintsAnnotation({ live, wallMs, policies }, changed)),
  });
  const spec = { taints: taints.length === 0 ? null : taints };
  const body = { metadata: { ...preconditionOf(live ?? ask), ...annotations }, spec };
  const change = `taints: ${changes.join(" ")}`;
  const basis = basisOf(added, Object.keys(starts), { live, wallMs, policies });
  return { kind: "write", change, body, ...basis, shadow: { added: stamped, removed, ...annotations } };
}

/** Whether a taint is an eviction that the node's Ready status does not call for, or that no live read supports. */
function isUncalledFor(id: TaintId, live: ObservedNode | null, ready: ConditionStatus | null): boolean {
  if (!isReservedTaintKey(id.key) || !isEviction(id) || isOutOfService(id)) return false;
  return live === null || evictingTaintOf(ready)?.key !== id.key;
}

/**
 * Decides `asked.label` on a live node: labels that differ, and annotations, without a resourceVersion because no other
 * component writes them (R4.29). A label must follow its current name, and an annotation must be a record of Vigil's.
 */
export function decideLabels(ask: BodyOf<"asked.label">, live: ObservedNode): NodeWriteDecision {
  const changed = identityProblem(ask, live);
  if (changed !== null) return changed;
  const labels = Object.entries(ask.labels).filter(([label, value]) => live.labels[label] !== value);
  const annotations = Object.entries(ask.annotations ?? {});
  if (labels.length === 0 && annotations.length === 0) return UNCHANGED;
  const isFollowing = ([label, value]: readonly [string, string]): boolean =>
    FOLLOWING_LABELS.some(([truth, follower]) => follower === label && live.labels[truth] === value);
  const differing = labels.find((entry) => !isFollowing(entry));
  if (differing !== undefined)
    return { kind: "refused", detail: `label ${differing[0]} does not follow its current name` };
  const wrong = annotations.find(([name, text]) => !isRecord(name, text, live));
  if (wrong !== undefined) return { kind: "refused", detail: wrongRecord(...wrong) };
  const other = otherTaint(ask.taints ?? [], live.taints);
  if (other !== undefined)
    return { kind: "refused", detail: `taint ${taintName(other)} has another timeAdded than the request saw` };
  const metadata = {
    uid: ask.uid,
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  };
  return {
    kind: "write",
    change: [...changeText("labels", labels), ...changeText("annotations", annotations)].join(", "),
    body: { metadata },
    shadow: { labels: Object.fromEntries(labels), annotations: Object.fromEntries(annotations) },
  };
}

/**
 * Decides a record of taint starts on the taints that the request names. The patch is bound to that version and those
 * taints, so it needs no live read. A request with taints is for that annotation alone.
 */
export function decideTaintStarts(ask: BodyOf<"asked.label">, taints: readonly Taint[]): NodeWriteDecision {
  const { labels, annotations = {} } = ask;
  const changed = [...Object.keys(labels), ...Object.keys(annotations)];
  const starts = annotations[Annotation.taintsSeen];
  if (changed.length !== 1 || typeof starts !== "string" || !areTaintStarts(starts, taints)) {
    return { kind: "refused", detail: wrongRecord(Annotation.taintsSeen, starts ?? "") };
  }
  return {
    kind: "write",
    change: changeText("annotations", Object.entries(annotations)).join(),
    body: { metadata: { ...preconditionOf(ask), annotations } },
    shadow: { labels, annotations },
  };
}

/** A NoExecute taint with another stamp than the request saw: a start of the one it saw is none of this one. */
function otherTaint(seen: readonly Taint[], present: readonly Taint[]): Taint | undefined {
  const before = seen.filter(isEviction);
  return present.find((taint) => before.some((each) => isSame(each, taint) && each.timeAdded !== taint.timeAdded));
}

function wrongRecord(name: string, text: string | null): string {
  return text === null
    ? `annotation ${name} is still needed: the node is not Ready, or carries Vigil's own taint`
    : `annotation ${name} does not record the present taints, transitions or conditions`;
}

function isRecord(name: string, text: string | null, live: ObservedNode): boolean {
  if (text === null) return !keepsRecord(name, live);
  const { taints } = live;
  if (name === Annotation.taintsSeen) return areTaintStarts(text, taints);
  const recorded = readRecords(name, text, taints);
  const isPresent = ({ type, status }: ConditionSighting): boolean => statusOf(live, type) === status;
  const isTrue = (type: string): boolean => statusOf(live, type) === "True";
  const isRecorded = ([taint, type]: readonly [string, string]): boolean => live.conditionTaints?.[taint] === type;
  if (name === Annotation.readyTransitions) return recorded?.readyTransitionsAt !== undefined;
  if (recorded === null) return false;
  if (name === Annotation.conditions) return (recorded.conditionSightings ?? []).every(isPresent);
  if (name === Annotation.holds) return (recorded.holds ?? []).every((hold) => hold.toAt !== null || isTrue(hold.type));
  return name === Annotation.conditionTaints && Object.entries(recorded.conditionTaints ?? {}).every(isRecorded);
}

/** Whether an annotation's text records starts of these taints alone. */
function areTaintStarts(text: string, taints: readonly Taint[]): boolean {
  const recorded = readRecords(Annotation.taintsSeen, text, taints);
  return recorded?.taintsSeenAt !== undefined && recorded.taintsSeenStale !== true;
}

/** What an annotation records; null if any part of it cannot be read. */
function readRecords(name: string, text: string, taints: readonly Taint[]): NodeRecords | null {
  let isSound = true;
  const recorded = nodeRecords({ [name]: text }, taints, () => {
    isSound = false;
  });
  return isSound ? recorded : null;
}

/** Whether the requester saw a Ready condition, which decides the grace period. */
function restsOnReady({ conditions }: BodyOf<"asked.condition">): boolean {
  return !conditions.some(({ type, heartbeatAt }) => type === ConditionType.ready && heartbeatAt !== null);
}

function changeText(what: string, entries: readonly (readonly [string, string | null])[]): string[] {
  if (entries.length === 0) return [];
  return [`${what}: ${entries.map(([name, value]) => (value === null ? `-${name}` : `${name}=${value}`)).join(" ")}`];
}

/** What the node-writer knows when it checks taints of conditions. */
interface ConditionTaintContext {
  readonly live: ObservedNode | null;
  readonly wallMs: number;
  readonly policies: PolicySet | null;
}

/**
 * The change without those taints of conditions that the live node and its policy do not call for, and without removals
 * of taints that Vigil has not put on or that it keeps. `unfounded` says why one is left out; null when none is.
 */
function foundedChange(
  { add, remove }: Pick<BodyOf<"asked.taint">, "add" | "remove">,
  context: ConditionTaintContext,
): Pick<BodyOf<"asked.taint">, "add" | "remove"> & { readonly unfounded: string | null } {
  const { live, policies } = context;
  const recorded = live === null ? [] : conditionTaintsOf(live);
  const mine = new Set(recorded.filter((taint) => isRemovable(taint, policies)).map(taintName));
  const isMine = (id: TaintId): boolean => mine.has(taintName(id));
  const foundedAdd = add.filter((id) => isReservedTaintKey(id.key) || conditionRule(id, context) !== null);
  const isKept = (id: TaintId): boolean => isOutOfService(id) && (live === null || keepsOutOfService(live));
  const foundedRemove = remove.filter((id) => (isReservedTaintKey(id.key) ? !isKept(id) : isMine(id)));
  const [added] = add.filter((id) => !foundedAdd.includes(id));
  const [removed] = remove.filter((id) => !foundedRemove.includes(id));
  return { add: foundedAdd, remove: foundedRemove, unfounded: unfoundedText(added, removed) };
}

function unfoundedText(added: TaintId | undefined, removed: TaintId | undefined): string | null {
  if (added !== undefined) return `no condition of the node calls for ${taintName(added)} by its policy`;
  if (removed === undefined) return null;
  return isOutOfService(removed)
    ? `${taintName(removed)} is another client's, or its proof stands`
    : `${taintName(removed)} is not recorded as put on for a condition`;
}

function conditionRule(
  taint: TaintId & { readonly value?: string | undefined },
  { live, wallMs, policies }: ConditionTaintContext,
): UnhealthyCondition | null {
  const resolved = live === null ? null : policyOf(live, policies);
  if (live === null || resolved?.kind !== "policy") return null;
  return ruleFor(live, resolved.policy, taint, wallMs + CLOCKS_APART_MS);
}

/**
 * A taint that is added for a condition or a proof rests on it, and a record that is cut down on what it held: each may
 * change between the live read and the patch.
 */
function basisOf(
  added: readonly TaintId[],
  records: readonly string[],
  context: ConditionTaintContext,
): { readonly basis?: PatchBasis } {
  const ofConditions = added.filter(({ key }) => !isReservedTaintKey(key));
  const { conditions, annotations } = added.some(isOutOfService)
    ? OUT_OF_SERVICE_BASIS
    : { conditions: ofConditions.flatMap((id) => conditionRule(id, context)?.type ?? []), annotations: [] };
  if (conditions.length === 0 && records.length === 0) return {};
  return { basis: { conditions: [...new Set(conditions)], annotations: [...annotations, ...records] } };
}

/**
 * The record of taint starts beside a NoExecute taint that is added, without entries of taints that were taken off: the
 * taint-manager may not have removed them yet, and a process that started now would take one for the start of this
 * taint.
 */
function startsAnnotation(
  { taintsSeenAt = {}, taintsSeenStale }: ObservedNode,
  { kept, added }: Readonly<Record<"kept" | "added", readonly Taint[]>>,
): Readonly<Record<string, string | null>> {
  if (taintsSeenStale !== true || !added.some(isEviction)) return {};
  const standing = kept.flatMap((taint) => {
    const at = taintsSeenAt[taintName(taint)];
    return at === undefined ? [] : [[taintName(taint), apiMicroTime(at)] as const];
  });
  return { [Annotation.taintsSeen]: standing.length === 0 ? null : JSON.stringify(Object.fromEntries(standing)) };
}

/** The record of the taints put on for conditions, after this change of them. */
function conditionTaintsAnnotation(
  context: ConditionTaintContext & { readonly live: ObservedNode },
  { kept, added, removed }: Readonly<Record<"kept" | "added" | "removed", readonly Taint[]>>,
): Readonly<Record<string, string | null>> {
  const own = [...added, ...removed].filter(({ key }) => !isReservedTaintKey(key));
  if (own.length === 0) return {};
  const recorded = Object.entries(context.live.conditionTaints ?? {});
  const standing = recorded.filter(([name]) => kept.some((taint) => taintName(taint) === name));
  const fresh = added.flatMap((taint) => {
    const rule = conditionRule(taint, context);
    return rule === null ? [] : [[taintName(taint), rule.type] as const];
  });
  return { [Annotation.conditionTaints]: conditionTaintsText(Object.fromEntries([...standing, ...fresh])) };
}

/** What to add. A swap whose opposite is gone adds no NoExecute taint: that needs a grant of the zone (P5). */
function wantedOf(
  { why, add, remove }: Pick<BodyOf<"asked.taint">, "why" | "add" | "remove">,
  before: readonly Taint[],
): BodyOf<"asked.taint">["add"] {
  const hasOpposite = before.some((taint) => isEviction(taint) && remove.some((id) => isSame(id, taint)));
  return why === "swap" && !hasOpposite ? add.filter((id) => !isEviction(id)) : add;
}

/** The annotation beside the out-of-service taint: Vigil takes off only a taint with this stamp. */
function outOfServiceAnnotation(
  { added, removed }: Readonly<Record<"added" | "removed", readonly Taint[]>>,
  at: number,
): Readonly<Record<string, string | null>> {
  if (added.some(isOutOfService)) return { [Annotation.outOfService]: apiTime(at) };
  return removed.some(isOutOfService) ? { [Annotation.outOfService]: null } : {};
}

/**
 * The annotation beside the removal of our NoExecute taint: if the opposite replaces it, the lineage of the two,
 * because the pods' countdowns continue (R8.18); otherwise the end of the lineage.
 */
function swapAnnotation(
  seen: Pick<ObservedNode, "taintSwap" | "taintsSeenAt">,
  { kept, added, removed }: Readonly<Record<"kept" | "added" | "removed", readonly Taint[]>>,
  at: number,
): Readonly<Record<string, string | null>> {
  const replaced = removed.find(isSwappable);
  if (replaced === undefined || kept.some(isSwappable)) return {};
  const swap = added.some(isSwappable) ? taintSwapOf(replaced, seen, at) : null;
  if (swap === null && seen.taintSwap === undefined) return {};
  return { [Annotation.taintSwap]: swap === null ? null : taintSwapText(swap) };
}

function annotationsPart(annotations: Readonly<Record<string, string | null>>): {
  readonly annotations?: Readonly<Record<string, string | null>>;
} {
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

/**
 * Whether a taint is the opposite of an added one. It goes even if the request omits it: a node never has both (L20).
 */
function isOpposite(taint: TaintId, added: readonly TaintId[]): boolean {
  return isSwappable(taint) && added.some((id) => isSwappable(id) && !isSame(id, taint));
}

function isEviction({ effect }: TaintId): boolean {
  return effect === TaintEffect.noExecute;
}

function identityProblem(ask: { readonly uid: string }, live: ObservedNode | null): NodeWriteDecision | null {
  if (live === null || live.uid === ask.uid) return null;
  return { kind: "gone", detail: "another node has this name now" };
}

function preconditionOf({ uid, resourceVersion }: KnownVersion): KnownVersion {
  return { resourceVersion, uid };
}

function isSame(left: TaintId, right: TaintId): boolean {
  return left.key === right.key && left.effect === right.effect;
}
