/** Reads the patch in a request's body and applies it to an object. The ways of patching are in patch.*.ts. */

import { type ApiObject, isObject, type Json, type JsonObject } from "../api-objects.ts";
import { ApiFailure, badRequest, unsupportedMediaType } from "../api-status.ts";
import { contentTypeOf, jsonIn, storedForm } from "../http/bodies.ts";
import type { Call } from "../routes.ts";
import { UnreadableField } from "../views/canonical.ts";
import { viewOf } from "../views/views.ts";
import { InapplicablePatch, jsonMerge, jsonPatch } from "./json-patch.ts";
import { mergeRulesOf } from "./schema.ts";
import { strategicMerge, UnusablePatch } from "./strategic.ts";

/** What becomes of an object, from and to its stored form. It may be applied once. */
export type Patch = (before: ApiObject) => ApiObject;

/** One way of patching an object of a kind. */
type Apply = (object: JsonObject, patch: Json, kind: string) => JsonObject;

const APPLY_TYPE = "application/apply-patch+yaml";

const strategic: Apply = (object, patch, kind) => strategicMerge(object, objectOnly(patch), mergeRulesOf(kind));

/** The ways of patching by content type. */
const WAYS: Readonly<Record<string, Apply>> = {
  "application/json-patch+json": (object, patch) => jsonPatch(object, operationsOnly(patch)),
  "application/merge-patch+json": (object, patch) => jsonMerge(object, objectOnly(patch)),
  "application/strategic-merge-patch+json": strategic,
  // Nobody's fields are remembered here, so an apply never takes away what an earlier one set.
  [APPLY_TYPE]: strategic,
};

/** Whether a patch creates the object when it is not there: a server-side apply does. */
export function isApply(call: Call): boolean {
  return contentTypeOf(call.headers) === APPLY_TYPE;
}

/** The patch in the body of a request, by its content type. Throws a 400 or a 415. */
export function patchIn(call: Call): Patch {
  const apply = WAYS[contentTypeOf(call.headers)];
  if (apply === undefined) throw unsupportedMediaType(Object.keys(WAYS).filter((type) => type !== APPLY_TYPE));
  const patch = jsonIn(call.body, (problem) => problem);
  const view = viewOf(call.resource);
  return (before) => attempt(() => storedForm(call, apply(view.show(before), patch, call.resource.kind)));
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

/** A patch whose result is no object of its kind; upstream names neither the kind nor the object. */
function unreadablePatch(why: string): ApiFailure {
  const causes = [{ reason: "FieldValueInvalid", message: `Invalid value: ${why}`, field: "patch" }];
  const message = ` "" is invalid: patch: Invalid value: ${why}`;
  return new ApiFailure({ code: 422, reason: "Invalid", message, details: { causes } });
}
