/** Decides whether a request about a node still applies, and builds its patch. */
import type { BodyOf } from "../../protocols/messages.ts";
import { Annotation, ConditionType, PROOF_SEAL_LABEL } from "../../protocols/names.ts";
import type { NodeShadowChange, ObservedNode, Taint } from "../../protocols/objects.ts";
import type { PolicySet } from "../../protocols/policy-set.ts";
import type { KubeObject } from "../../protocols/ports.ts";
import { apiTime, epochMsOf } from "../domain/api-time.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { isOutOfService, OUT_OF_SERVICE } from "../domain/out-of-service.ts";
import { isSameTaint, taintName } from "../domain/toleration.ts";
import type { ConditionPatch } from "../platform/kube/write/sent-bodies.ts";
import type { PatchBasis, VersionedPatch } from "../platform/requests/guarded-patch.ts";
import { recordOf } from "../structures/json.ts";
import { foundedVerdict } from "./rules/conditions.policy.ts";
import { foundedLabels } from "./rules/labels.policy.ts";
import { foundedRecords, foundedTaintStarts } from "./rules/records.policy.ts";
import { annotationsOf, basisOf, foundedTaints } from "./rules/rules.ts";
import { isEviction, isOpposite, isUnwarrantedEviction, wantedOf } from "./rules/taints.policy.ts";

/**
 * What to do about a request: write, or end it because nothing is left to change, it is refuted, or the node is gone.
 */
export type NodeWriteDecision =
  | {
      readonly kind: "write";
      readonly change: string;
      readonly body: NodePatch;
      /** What else a patch of the live node depends on; absent for nothing. */
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
    readonly labels?: Readonly<Record<string, string | null>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
}

/** A version of a node: the one a request names, or the live one. */
export type KnownVersion = Pick<ObservedNode, "uid" | "resourceVersion">;

const UNCHANGED: NodeWriteDecision = { kind: "ok", detail: "nothing is left to change" };

/**
 * Decides `asked.condition`. `live` is the node as just read; null to rely on the resourceVersion of the request. A
 * heartbeat other than the verdict's refutes it. Conditions that are Unknown by now stay as they are.
 */
export function decideConditions(
  request: BodyOf<"asked.condition">,
  live: ObservedNode | null,
  wallMs: number,
): NodeWriteDecision {
  const changed = identityProblem(request, live);
  if (changed !== null) return changed;
  const ready = live === null ? null : readyConditionOf(live);
  if (ready?.status === "Unknown") return UNCHANGED;
  const known = new Set(live?.conditions.map(({ type }) => type));
  const refuted = live === null ? null : foundedVerdict(request, live);
  if (refuted !== null) return { kind: "refused", detail: refuted };
  const unknown = new Set(live?.conditions.filter(({ status }) => status === "Unknown").map(({ type }) => type));
  const wanted = request.conditions.filter(({ type }) => !unknown.has(type));
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
  const body = { metadata: preconditionOf(live ?? request), status: { conditions } };
  const transitionAt = epochMsOf(apiTime(wallMs));
  const forced = wanted.map(({ type, status, reason, heartbeatAt }) => ({
    type,
    status,
    reason,
    heartbeatAt,
    transitionAt,
  }));
  return { kind: "write", change, body, shadow: { verdict: { at: wallMs, ...request.basis, conditions: forced } } };
}

/**
 * Decides `asked.taint` in one patch of the whole list: foreign taints stay in place (P4), added ones are stamped
 * (R4.6), and present ones keep their stamps. A changed Ready status refutes the request; healing is refuted only by a
 * node that is not ready after all. A NoExecute taint is added only to a node that was read live, and only the one that
 * its Ready status requires.
 */
export function decideTaints(
  request: BodyOf<"asked.taint">,
  live: ObservedNode | null,
  wallMs: number,
  policies: PolicySet | null = null,
): NodeWriteDecision {
  const gone = identityProblem(request, live);
  if (gone !== null) return gone;
  const ready = live === null ? request.ready : (readyConditionOf(live)?.status ?? null);
  // When all zones are down, taints are also removed from nodes that are not ready (R6.10), whatever their status has
  // become.
  if (request.why === "healing" ? request.ready === "True" && ready !== "True" : ready !== request.ready) {
    return {
      kind: "refused",
      detail: `${ConditionType.ready} is ${ready ?? "missing"}, not ${request.ready ?? "missing"}`,
    };
  }
  const invalid = request.add.find((id) => isUnwarrantedEviction(id, live, ready));
  if (invalid !== undefined) {
    return { kind: "refused", detail: `a node whose Ready is ${ready ?? "missing"} gets no ${taintName(invalid)}` };
  }
  const context = { live, seen: live ?? request, wallMs, policies };
  const { add, remove, unfounded } = foundedTaints(request, context);
  const before = live === null ? request.taints : live.taints;
  const kept = before.filter((taint) => !remove.some((id) => isSameTaint(id, taint)) && !isOpposite(taint, add));
  const added = wantedOf({ ...request, add, remove }, before).filter(
    (id) => !kept.some((taint) => isSameTaint(id, taint)),
  );
  if (added.length === 0 && kept.length === before.length) {
    return unfounded === null ? UNCHANGED : { kind: "refused", detail: unfounded };
  }
  const removed = before.filter((taint) => !kept.includes(taint));
  const stamped = added.map((id) => ({ ...(isOutOfService(id) ? OUT_OF_SERVICE : id), timeAdded: apiTime(wallMs) }));
  const taints: Taint[] = [...kept, ...stamped];
  const changes = [...added.map((id) => `+${taintName(id)}`), ...removed.map((id) => `-${taintName(id)}`)];
  const patch = { kept, added, removed };
  const annotations = annotationsPart(annotationsOf(patch, context));
  const spec = { taints: taints.length === 0 ? null : taints };
  const body = { metadata: { ...preconditionOf(live ?? request), ...annotations }, spec };
  const change = `taints: ${changes.join(" ")}`;
  return {
    kind: "write",
    change,
    body,
    ...basisOf(patch, context),
    shadow: { added: stamped, removed, ...annotations },
  };
}

/**
 * Decides `asked.label` on a live node, whose metadata are as the API sent them: labels and annotations that differ,
 * without a resourceVersion because no other component writes them (R4.29). A label must follow its current name, and
 * an annotation must be a record of Vigil's.
 */
export function decideLabels(
  request: BodyOf<"asked.label">,
  live: ObservedNode,
  metadata: KubeObject["metadata"],
): NodeWriteDecision {
  const changed = identityProblem(request, live);
  if (changed !== null) return changed;
  const labels = Object.entries(request.labels).filter(([label, value]) => live.labels[label] !== value);
  const [hasAnnotations, hasLabels] = [recordOf(metadata.annotations), recordOf(metadata.labels)];
  const isChanged = ([name, text]: [string, string | null]): boolean => (hasAnnotations[name] ?? null) !== text;
  const annotations = Object.entries(request.annotations ?? {}).filter(isChanged);
  // A proof is removed with its seal, so that its kubelet cannot write it again.
  const isUnsealed = request.annotations?.[Annotation.provedDown] === null && hasLabels[PROOF_SEAL_LABEL] !== undefined;
  const written = [...labels, ...(isUnsealed ? [[PROOF_SEAL_LABEL, null] as const] : [])];
  if (written.length === 0 && annotations.length === 0) return UNCHANGED;
  const invalid = foundedLabels(Object.fromEntries(labels), live) ?? foundedRecords(request.annotations ?? {}, live);
  if (invalid !== null) return { kind: "refused", detail: invalid };
  const other = otherTaint(request.taints ?? [], live.taints);
  if (other !== undefined)
    return { kind: "refused", detail: `taint ${taintName(other)} has another timeAdded than the request saw` };
  const patched = {
    uid: request.uid,
    ...(written.length === 0 ? {} : { labels: Object.fromEntries(written) }),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  };
  return {
    kind: "write",
    change: [
      ...changeText("labels", annotations.length === 0 ? written : labels),
      ...changeText("annotations", annotations),
    ].join(", "),
    body: { metadata: patched },
    shadow: { labels: Object.fromEntries(labels), annotations: Object.fromEntries(annotations) },
  };
}

/**
 * Decides a record of taint starts, or its removal, on the taints that the request names. The patch is bound to that
 * version and those taints, so it needs no live read. A request with taints is for that annotation alone.
 */
export function decideTaintStarts(request: BodyOf<"asked.label">, taints: readonly Taint[]): NodeWriteDecision {
  const { labels, annotations = {} } = request;
  const changed = [...Object.keys(labels), ...Object.keys(annotations)];
  const starts = changed.length === 1 ? annotations[Annotation.taintsSeen] : undefined;
  const invalid = starts === null ? null : foundedTaintStarts(starts ?? "", taints);
  if (invalid !== null) return { kind: "refused", detail: invalid };
  return {
    kind: "write",
    change: changeText("annotations", Object.entries(annotations)).join(),
    body: { metadata: { ...preconditionOf(request), annotations } },
    shadow: { labels, annotations },
  };
}

/**
 * A NoExecute taint with another stamp than the request saw: the start of the one it saw is not the start of this one.
 */
function otherTaint(seen: readonly Taint[], present: readonly Taint[]): Taint | undefined {
  const before = seen.filter(isEviction);
  return present.find((taint) => before.some((each) => isSameTaint(each, taint) && each.timeAdded !== taint.timeAdded));
}

function changeText(what: string, entries: readonly (readonly [string, string | null])[]): string[] {
  if (entries.length === 0) return [];
  return [`${what}: ${entries.map(([name, value]) => (value === null ? `-${name}` : `${name}=${value}`)).join(" ")}`];
}

function annotationsPart(annotations: Readonly<Record<string, string | null>>): {
  readonly annotations?: Readonly<Record<string, string | null>>;
} {
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

function identityProblem(request: { readonly uid: string }, live: ObservedNode | null): NodeWriteDecision | null {
  if (live === null || live.uid === request.uid) return null;
  return { kind: "gone", detail: "another node has this name now" };
}

function preconditionOf({ uid, resourceVersion }: KnownVersion): KnownVersion {
  return { resourceVersion, uid };
}
