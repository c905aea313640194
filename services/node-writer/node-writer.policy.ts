/** Whether an ask about a node still holds, and the patch that carries it out. It reads and writes nothing. */
import type { BodyOf } from "../../protocols/messages.ts";
import { Annotation, ConditionType, FOLLOWING_LABELS, TaintEffect } from "../../protocols/names.ts";
import type { ObservedNode, Taint, TaintId } from "../../protocols/objects.ts";
import { apiTime } from "../domain/api-time.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { evictingTaintOf, isSwappable, taintSwapOf, taintSwapText } from "../domain/taint-swap.ts";
import { taintName } from "../domain/toleration.ts";
import { recordedTaints } from "../platform/kube/watch/node-annotations.ts";
import type { VersionedPatch } from "../platform/requests/guarded-patch.ts";

/**
 * What to do about an ask: write this, or nothing because it is so already, refuted, or about a node that is no more.
 */
export type NodeWriteDecision =
  | { readonly kind: "write"; readonly change: string; readonly body: NodePatch }
  | { readonly kind: "so already" }
  | { readonly kind: "refused" | "gone"; readonly detail: string };

/** A strategic merge patch of a node. One of labels rests on no version of it. */
export type NodePatch = VersionedPatch | LabelPatch;

interface LabelPatch {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion?: undefined;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
}

/** What an ask is compared with: the node it names, as it was when asked or as just read. */
export type KnownVersion = Pick<ObservedNode, "uid" | "resourceVersion">;

const SO_ALREADY: NodeWriteDecision = { kind: "so already" };

/**
 * Whether a live lease refutes the silence an ask rests on: its renewal is another than the asker knew, backwards too.
 */
export function refutesSilence(basis: BodyOf<"asked.condition">["basis"], liveRenewedAt: number | null): boolean {
  return liveRenewedAt !== null && liveRenewedAt !== basis.leaseRenewedAt;
}

/**
 * Carries out `asked.condition`. `live` is the node as just read, null to trust the ask's own resourceVersion. Another
 * heartbeat than the verdict rests on refutes it; conditions that are Unknown by now are left alone (2.8, step F).
 */
export function decideConditions(
  ask: BodyOf<"asked.condition">,
  live: ObservedNode | null,
  wallMs: number,
): NodeWriteDecision {
  const changed = identityProblem(ask, live);
  if (changed !== null) return changed;
  const ready = live === null ? null : readyConditionOf(live);
  if (ready?.status === "Unknown") return SO_ALREADY;
  const known = new Set(live?.conditions.map(({ type }) => type));
  const postedAt = ready?.heartbeatAt ?? null;
  if (postedAt !== null && postedAt !== ask.basis.statusHeartbeatAt) {
    return { kind: "refused", detail: "the kubelet has posted its status since" };
  }
  if (live !== null && (ready !== null) !== restsOnReady(ask)) {
    return { kind: "refused", detail: "the Ready condition has come or gone since, and another grace counts" };
  }
  const unknown = new Set(live?.conditions.filter(({ status }) => status === "Unknown").map(({ type }) => type));
  const wanted = ask.conditions.filter(({ type }) => !unknown.has(type));
  const conditions = wanted.map(({ type, status, reason, message, heartbeatAt }) => ({
    type,
    status,
    reason,
    message,
    ...(heartbeatAt === null || known.has(type) ? {} : { lastHeartbeatTime: apiTime(heartbeatAt) }),
    lastTransitionTime: apiTime(wallMs),
  }));
  const change = `conditions: ${wanted.map(({ type, status }) => `${type}=${status}`).join(" ")}`;
  return { kind: "write", change, body: { metadata: preconditionOf(live ?? ask), status: { conditions } } };
}

/**
 * Carries out `asked.taint` in one patch: the whole new list, foreign taints in their places and untouched (P4), added
 * ones stamped (R4.6), one that stands there already left as it is. Another Ready status than a harmful wish rests on
 * refutes it; what heals is refuted only by a node that is not ready after all. A NoExecute taint is added only to a
 * node that was read live, and only the one that its Ready status calls for.
 */
export function decideTaints(ask: BodyOf<"asked.taint">, live: ObservedNode | null, wallMs: number): NodeWriteDecision {
  const changed = identityProblem(ask, live);
  if (changed !== null) return changed;
  const ready = live === null ? ask.ready : (readyConditionOf(live)?.status ?? null);
  // Taints also go where all zones are down (R6.10): whatever a node that is not ready has become, it is freed of them.
  if (ask.why === "healing" ? ask.ready === "True" && ready !== "True" : ready !== ask.ready) {
    return {
      kind: "refused",
      detail: `${ConditionType.ready} is ${ready ?? "missing"}, not ${ask.ready ?? "missing"}`,
    };
  }
  const wrong = ask.add.find((id) => isEviction(id) && (live === null || evictingTaintOf(ready)?.key !== id.key));
  if (wrong !== undefined) {
    return { kind: "refused", detail: `a node whose Ready is ${ready ?? "missing"} gets no ${taintName(wrong)}` };
  }
  const before = live === null ? ask.taints : live.taints;
  const kept = before.filter((taint) => !ask.remove.some((id) => isSame(id, taint)) && !isOpposite(taint, ask.add));
  const added = wantedOf(ask, before).filter((id) => !kept.some((taint) => isSame(id, taint)));
  if (added.length === 0 && kept.length === before.length) return SO_ALREADY;
  const removed = before.filter((taint) => !kept.includes(taint));
  const taints: Taint[] = [...kept, ...added.map((id) => ({ ...id, timeAdded: apiTime(wallMs) }))];
  const changes = [...added.map((id) => `+${taintName(id)}`), ...removed.map((id) => `-${taintName(id)}`)];
  const metadata = { ...preconditionOf(live ?? ask), ...swapAnnotation(live ?? ask, { kept, added, removed }, wallMs) };
  const spec = { taints: taints.length === 0 ? null : taints };
  return { kind: "write", change: `taints: ${changes.join(" ")}`, body: { metadata, spec } };
}

/**
 * Carries out `asked.label` on a node as just read: only the labels that differ, and annotations of our own, without a
 * resourceVersion, as nobody else minds them (R4.29). A label follows the one that it is the old name of, and an
 * annotation records taints that stand: what says anything else is refuted.
 */
export function decideLabels(ask: BodyOf<"asked.label">, live: ObservedNode): NodeWriteDecision {
  const changed = identityProblem(ask, live);
  if (changed !== null) return changed;
  const labels = Object.entries(ask.labels).filter(([label, value]) => live.labels[label] !== value);
  const annotations = Object.entries(ask.annotations ?? {});
  if (labels.length === 0 && annotations.length === 0) return SO_ALREADY;
  const isFollowing = ([label, value]: readonly [string, string]): boolean =>
    FOLLOWING_LABELS.some(([truth, follower]) => follower === label && live.labels[truth] === value);
  const strayed = labels.find((entry) => !isFollowing(entry));
  if (strayed !== undefined) return { kind: "refused", detail: `label ${strayed[0]} does not follow its new name` };
  if (!annotations.every(([name, text]) => recordsStandingTaints(name, text, live))) {
    return { kind: "refused", detail: "an annotation does not record the taints that stand" };
  }
  const metadata = {
    uid: ask.uid,
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  };
  return {
    kind: "write",
    change: [...changeText("labels", labels), ...changeText("annotations", annotations)].join(", "),
    body: { metadata },
  };
}

function recordsStandingTaints(name: string, text: string | null, { taints }: ObservedNode): boolean {
  if (text === null) return true;
  let isSound = true;
  const recorded = recordedTaints({ [name]: text }, taints, () => {
    isSound = false;
  });
  return isSound && recorded.taintsSeenAt !== undefined && recorded.taintsSeenStale !== true;
}

/** Whether the asker saw a Ready condition, which decides the grace; one without heartbeat differs in nothing else. */
function restsOnReady({ conditions }: BodyOf<"asked.condition">): boolean {
  return !conditions.some(({ type, heartbeatAt }) => type === ConditionType.ready && heartbeatAt !== null);
}

function changeText(what: string, entries: readonly (readonly [string, string | null])[]): string[] {
  if (entries.length === 0) return [];
  return [`${what}: ${entries.map(([name, value]) => (value === null ? `-${name}` : `${name}=${value}`)).join(" ")}`];
}

/** What to add: when the taint is gone that one was to take the place of, its node has to wait for its turn (P5). */
function wantedOf({ why, add, remove }: BodyOf<"asked.taint">, before: readonly Taint[]): readonly TaintId[] {
  const hasOpposite = before.some((taint) => isEviction(taint) && remove.some((id) => isSame(id, taint)));
  return why === "swap" && !hasOpposite ? add.filter((id) => !isEviction(id)) : add;
}

/**
 * What is written beside a NoExecute taint of ours that goes: when another takes its place, since when the two of them
 * stand there, because the pods' countdowns run on (R8.18); when none is left, that there is no such line any more.
 */
function swapAnnotation(
  seen: Pick<ObservedNode, "taintSwap" | "taintsSeenAt">,
  { kept, added, removed }: Readonly<Record<"kept" | "added" | "removed", readonly Taint[]>>,
  at: number,
): { readonly annotations?: Readonly<Record<string, string | null>> } {
  const replaced = removed.find(isSwappable);
  if (replaced === undefined || kept.some(isSwappable)) return {};
  const swap = added.some(isSwappable) ? taintSwapOf(replaced, seen, at) : null;
  if (swap === null && seen.taintSwap === undefined) return {};
  return { annotations: { [Annotation.taintSwap]: swap === null ? null : taintSwapText(swap) } };
}

/**
 * Whether a taint is the opposite of one that is added, not-ready of unreachable or the reverse. It goes even if the
 * asker had not seen it, because a node never carries both (L20).
 */
function isOpposite(taint: TaintId, added: readonly TaintId[]): boolean {
  return isSwappable(taint) && added.some((id) => isSwappable(id) && !isSame(id, taint));
}

function isEviction({ effect }: TaintId): boolean {
  return effect === TaintEffect.noExecute;
}

function identityProblem(ask: { readonly uid: string }, live: ObservedNode | null): NodeWriteDecision | null {
  if (live === null || live.uid === ask.uid) return null;
  return { kind: "gone", detail: "another node has taken the name" };
}

function preconditionOf({ uid, resourceVersion }: KnownVersion): KnownVersion {
  return { resourceVersion, uid };
}

function isSame(left: TaintId, right: TaintId): boolean {
  return left.key === right.key && left.effect === right.effect;
}
