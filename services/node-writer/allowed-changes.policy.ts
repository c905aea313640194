/**
 * Which changes of a node Vigil's own services may request. Any process with the NATS seed of a requesting service can
 * publish any request, so the writer carries out only those for Vigil's own taints, labels, annotations and
 * conditions, as far as the eviction mode has them; beside upstream, for conditions alone. node-writer.policy.ts
 * decides whether a request holds for the live node.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import {
  Annotation,
  CONDITION_TAINT_KEYS,
  FOLLOWING_LABELS,
  FORCED_CONDITIONS,
  SilentReason,
  TaintEffect,
} from "../../protocols/names.ts";
import { isReservedTaintKey } from "../../protocols/node-policy.ts";
import type { TaintId } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { isOutOfService } from "../domain/out-of-service.ts";
import { isSwappable, taintName } from "../domain/toleration.ts";

/** The annotations that Vigil sets by themselves; that of a swap goes with its taints. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  Annotation.taintsSeen,
  Annotation.readyTransitions,
  Annotation.conditions,
  Annotation.conditionTaints,
  Annotation.holds,
]);

const EFFECTS: readonly string[] = Object.values(TaintEffect);

/** The annotations that Vigil takes off by themselves; people or a taint's patch set them. */
const REMOVED_ANNOTATIONS: ReadonlySet<string> = new Set([Annotation.provedDown, Annotation.outOfService]);

/** The labels that Vigil sets: deprecated names, which follow the current ones (R4.27). */
const LABELS: ReadonlySet<string> = new Set(FOLLOWING_LABELS.map(([, follower]) => follower));

type AnyNodeRequest = {
  [T in "asked.condition" | "asked.taint" | "asked.label"]: { readonly type: T; readonly body: BodyOf<T> };
}["asked.condition" | "asked.taint" | "asked.label"];

/** Why no service of Vigil would request this; null if one may. */
export function forbiddenChange(
  ask: AnyNodeRequest,
  { evictionMode, upstream }: Pick<Profile, "evictionMode" | "upstream">,
): string | null {
  if (upstream === "beside" && ask.type !== "asked.condition") {
    return "beside upstream Vigil changes no taint, label or annotation";
  }
  switch (ask.type) {
    case "asked.condition":
      return forbiddenConditions(ask.body);
    case "asked.taint":
      return forbiddenTaintChange(ask.body, evictionMode);
    case "asked.label":
      return forbiddenLabels(ask.body);
  }
}

/**
 * A grant adds one NoExecute taint and changes no other effect, a swap adds one of Vigil's two, `conditions` adds none,
 * and healing adds no taint at all. Any key that is not Kubernetes' own may be the one of a policy.
 */
function forbiddenTaintChange(
  { add, remove, why, outOfService }: Pick<BodyOf<"asked.taint">, "add" | "remove" | "why" | "outOfService">,
  evictionMode: Profile["evictionMode"],
): string | null {
  const all = [...add, ...remove];
  const foreign = all.find((id) => !isOwnTaint(id));
  if (foreign !== undefined) return `taint ${taintName(foreign)} is not one of Vigil's`;
  const evicting = all.filter(({ effect }) => effect === TaintEffect.noExecute);
  if (evictionMode === "direct" && evicting.length > 0) return "in direct mode Vigil changes no NoExecute taint";
  if (add.some(isOutOfService)) {
    const isProved = outOfService !== undefined && all.length === 1 && why === "conditions";
    return isProved ? null : "Vigil declares a node out of service by a proof, and changes no other taint with it";
  }
  const added = add.filter(({ effect }) => effect === TaintEffect.noExecute);
  const isOfItsReason = {
    granted: added.length === 1 && evicting.length === all.length && isSameKind(added, remove),
    swap: added.length === 1 && added.every(isSwappable),
    conditions: added.length === 0,
    healing: add.length === 0,
  };
  return isOfItsReason[why] ? null : `for ${why} Vigil does not add ${add.map(taintName).join(" ") || "no taint"}`;
}

/** A grant replaces the opposite taint of Vigil's two; one for a condition replaces nothing. */
function isSameKind(added: readonly TaintId[], removed: readonly TaintId[]): boolean {
  return removed.length === 0 || [...added, ...removed].every(isSwappable);
}

function forbiddenConditions({ conditions }: Pick<BodyOf<"asked.condition">, "conditions">): string | null {
  for (const { type, status, reason, message, heartbeatAt } of conditions) {
    if (!FORCED_CONDITIONS.includes(type)) return `condition ${type} is not one that Vigil sets`;
    if (status !== "Unknown") return `Vigil sets ${type} to Unknown only, not to ${status}`;
    const expected = heartbeatAt === null ? SilentReason.stopped : SilentReason.never;
    if (reason !== expected.reason || message !== expected.message) return `Vigil does not give ${type} this reason`;
  }
  return null;
}

function forbiddenLabels({ labels, annotations = {} }: BodyOf<"asked.label">): string | null {
  const label = Object.keys(labels).find((key) => !LABELS.has(key));
  if (label !== undefined) return `label ${label} is not one that Vigil sets`;
  const annotation = Object.entries(annotations).find(
    ([key, text]) => !ANNOTATIONS.has(key) && !(text === null && REMOVED_ANNOTATIONS.has(key)),
  )?.[0];
  return annotation === undefined ? null : `annotation ${annotation} is not one that Vigil sets`;
}

function isOwnTaint(id: TaintId): boolean {
  if (!isReservedTaintKey(id.key)) return EFFECTS.includes(id.effect);
  if (isSwappable(id) || isOutOfService(id)) return true;
  return id.effect === TaintEffect.noSchedule && CONDITION_TAINT_KEYS.includes(id.key);
}
