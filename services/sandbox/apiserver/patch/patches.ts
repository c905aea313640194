/** Parses the patch in a request's body and applies it to an object. */

import { type ApiObject, isObject, type Json, type JsonObject } from "../api-objects.ts";
import { ApiFailure, badRequest, unsupportedMediaType } from "../api-status.ts";
import { contentTypeOf, jsonIn, storedForm } from "../http/bodies.ts";
import type { Resource } from "../resources.ts";
import type { Call } from "../routes.ts";
import { UnreadableField } from "../views/canonical.ts";
import { InapplicablePatch, jsonMerge, jsonPatch } from "./json-patch.ts";
import { mergeRulesIn, mergeRulesOf } from "./schema.ts";
import { strategicMerge, UnusablePatch } from "./strategic.ts";

/** A change of an object; may be applied once. */
export type Patch = (before: ApiObject) => ApiObject;

type Apply = (object: JsonObject, patch: Json, resource: Resource) => JsonObject;

const APPLY_TYPE = "application/apply-patch+yaml";
/** Custom resources have no such patch, because a schema names no keys for it. */
const STRATEGIC_TYPE = "application/strategic-merge-patch+json";

const strategic: Apply = (object, patch, { kind, custom }) =>
  strategicMerge(object, objectOnly(patch), custom === null ? mergeRulesOf(kind) : mergeRulesIn(custom.schema));

/** The patch algorithms by content type. */
const WAYS: Readonly<Record<string, Apply>> = {
  "application/json-patch+json": (object, patch) => jsonPatch(object, operationsOnly(patch)),
  "application/merge-patch+json": (object, patch) => jsonMerge(object, objectOnly(patch)),
  [STRATEGIC_TYPE]: strategic,
  // Field ownership is not tracked, so an apply never removes what an earlier one set.
  [APPLY_TYPE]: strategic,
};

/** Whether a patch is a server-side apply, which creates a missing object. */
export function isApply(call: Call): boolean {
  return contentTypeOf(call.headers) === APPLY_TYPE;
}

/** The patch in a request's body. Throws a 400 or a 415. */
export function patchIn(call: Call): Patch {
  const type = contentTypeOf(call.headers);
  const isCustom = call.resource.custom !== null;
  const apply = isCustom && type === STRATEGIC_TYPE ? undefined : WAYS[type];
  if (apply === undefined) {
    const hidden = isCustom ? [STRATEGIC_TYPE] : [APPLY_TYPE];
    throw unsupportedMediaType(Object.keys(WAYS).filter((way) => !hidden.includes(way)));
  }
  const patch = jsonIn(call.body, (problem) => problem);
  return (before) => attempt(() => storedForm(call, apply(before, patch, call.resource)));
}

function objectOnly(patch: Json): JsonObject {
  if (!isObject(patch)) throw badRequest("json: cannot unmarshal the patch into a map");
  return patch;
}

function operationsOnly(patch: Json): Json[] {
  if (!Array.isArray(patch)) throw badRequest("json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  return patch;
}

function attempt(patch: () => ApiObject): ApiObject {
  try {
    return patch();
  } catch (problem) {
    if (problem instanceof UnusablePatch) {
      throw new ApiFailure({ code: 500, reason: "", message: problem.message });
    }
    if (problem instanceof UnreadableField) throw unreadablePatch(problem.message);
    if (!(problem instanceof InapplicablePatch)) throw problem;
    const message = "the server rejected our request due to an error in our request";
    throw new ApiFailure({ code: 422, reason: "Invalid", message, details: {} });
  }
}

/** The refusal of a patch whose result is no object of its kind; upstream names neither the kind nor the object. */
function unreadablePatch(why: string): ApiFailure {
  const causes = [{ reason: "FieldValueInvalid", message: `Invalid value: ${why}`, field: "patch" }];
  const message = ` "" is invalid: patch: Invalid value: ${why}`;
  return new ApiFailure({ code: 422, reason: "Invalid", message, details: { causes } });
}
