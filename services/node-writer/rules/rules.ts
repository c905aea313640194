/** Every kind of taint that the node-writer changes, and their joint decision about one patch. */
import type { TaintId } from "../../../protocols/objects.ts";
import type { PatchBasis } from "../../platform/requests/guarded-patch.ts";
import { CONDITION_TAINTS } from "./condition-taints.policy.ts";
import { OUT_OF_SERVICE_TAINT } from "./out-of-service.policy.ts";
import type { AnnotationPatch, TaintContext, TaintPatch, TaintRequest, TaintRule, WantedTaint } from "./taint-rule.ts";
import { startsAnnotation, UPSTREAM_TAINTS } from "./taints.policy.ts";

/** The rules; each taint of Vigil's has one. */
const TAINT_RULES: readonly TaintRule[] = [UPSTREAM_TAINTS, OUT_OF_SERVICE_TAINT, CONDITION_TAINTS];

/** The rule of a taint; null for one that is not Vigil's. */
export function taintRuleOf(id: TaintId): TaintRule | null {
  return TAINT_RULES.find((rule) => rule.owns(id)) ?? null;
}

/**
 * The change without what the live node and its policy do not require. `unfounded` is why a part is left out; null if
 * none is.
 */
export function foundedTaints(
  { add, remove }: Pick<TaintRequest, "add" | "remove">,
  context: TaintContext,
): Pick<TaintRequest, "add" | "remove"> & { readonly unfounded: string | null } {
  const problemOf = (change: "add" | "remove", id: WantedTaint) =>
    taintRuleOf(id)?.founded(change, id, context) ?? null;
  const problems = [...add.map((id) => problemOf("add", id)), ...remove.map((id) => problemOf("remove", id))].filter(
    (problem) => problem !== null,
  );
  return {
    add: add.filter((id) => problemOf("add", id) === null),
    remove: remove.filter((id) => problemOf("remove", id) === null),
    unfounded: problems[0] ?? null,
  };
}

/** The rules of the taints that a patch changes. */
function rulesOf({ added, removed }: TaintPatch): readonly TaintRule[] {
  const changed = [...added, ...removed].map(taintRuleOf);
  return TAINT_RULES.filter((rule) => changed.includes(rule));
}

/** What else a patch of taints depends on; nothing for most. */
export function basisOf(patch: TaintPatch, context: TaintContext): { readonly basis?: PatchBasis } {
  const bases = rulesOf(patch).map((rule) => rule.basis(patch, context));
  const conditions = [...new Set(bases.flatMap((basis) => basis.conditions))];
  const starts = Object.keys(startsAnnotation(patch, context));
  const annotations = [...starts, ...bases.flatMap((basis) => basis.annotations)];
  return conditions.length === 0 && annotations.length === 0 ? {} : { basis: { conditions, annotations } };
}

/** The annotations that are part of a patch of taints. */
export function annotationsOf(patch: TaintPatch, context: TaintContext): AnnotationPatch {
  const annotations = rulesOf(patch).map((rule) => rule.annotations(patch, context));
  return Object.assign({}, startsAnnotation(patch, context), ...annotations);
}
