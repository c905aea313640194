/**
 * Which changes of a node Vigil's own services may request. Any process with the NATS seed of a requesting service can
 * publish any request, so the writer carries out only those for Vigil's own taints, labels, annotations and conditions,
 * as far as the eviction mode has them; beside upstream, for conditions alone. node-writer.policy.ts decides whether
 * the live node requires a request.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";
import { isOutOfService } from "../domain/out-of-service.ts";
import { taintName } from "../domain/toleration.ts";
import { allowsConditions } from "./rules/conditions.policy.ts";
import { allowsLabels } from "./rules/labels.policy.ts";
import { allowsOutOfService } from "./rules/out-of-service.policy.ts";
import { allowsRecords } from "./rules/records.policy.ts";
import { taintRuleOf } from "./rules/rules.ts";
import type { TaintRequest } from "./rules/taint-rule.ts";
import { allowsTaints, isEviction } from "./rules/taints.policy.ts";

type AnyNodeRequest = {
  [T in "asked.condition" | "asked.taint" | "asked.label"]: { readonly type: T; readonly body: BodyOf<T> };
}["asked.condition" | "asked.taint" | "asked.label"];

/** Why no service of Vigil requests this; null if one may. */
export function forbiddenChange(
  request: AnyNodeRequest,
  { evictionMode, upstream }: Pick<Profile, "evictionMode" | "upstream">,
): string | null {
  if (upstream === "beside" && request.type !== "asked.condition") {
    return "beside upstream Vigil changes no taint, label or annotation";
  }
  switch (request.type) {
    case "asked.condition":
      return allowsConditions(request.body);
    case "asked.taint":
      return forbiddenTaintChange(request.body, evictionMode);
    case "asked.label":
      return allowsLabels(request.body.labels) ?? allowsRecords(request.body.annotations ?? {});
  }
}

function forbiddenTaintChange(request: TaintRequest, evictionMode: Profile["evictionMode"]): string | null {
  const { add, remove } = request;
  const all = [...add, ...remove];
  const foreign = all.find((id) => taintRuleOf(id) === null);
  if (foreign !== undefined) return `taint ${taintName(foreign)} is not one of Vigil's`;
  if (evictionMode === "direct" && all.some(isEviction)) return "in direct mode Vigil changes no NoExecute taint";
  return add.some(isOutOfService) ? allowsOutOfService(request) : allowsTaints(request);
}
