/** Reads the bodies of requests: objects, delete options and patches. Anything unusable becomes a 400, 415 or 422. */
import { type ApiObject, isObject, type Json, type JsonObject } from "./objects.ts";
import { InapplicablePatch, jsonMerge, jsonPatch } from "./patch.json.ts";
import { mergeRulesOf } from "./patch.schema.ts";
import { strategicMerge, UnusablePatch } from "./patch.strategic.ts";
import type { DeleteOptions } from "./registry.ts";
import { apiVersionOf, type Resource } from "./resources.ts";
import type { Call } from "./routes.ts";
import { ApiFailure, badRequest, unsupportedMediaType } from "./status.ts";

/** The JSON object in a body; throws a 400. */
export function jsonBody(body: string | null): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(body ?? "");
  } catch (problem) {
    throw badRequest(`the object provided is unrecognized: ${String(problem)}`);
  }
  if (!isObject(value)) throw badRequest("the object provided is unrecognized (must be of type Object)");
  return value;
}

/** Null says "not there" in the API, and is not kept. */
function withoutNulls<T extends Json>(value: T): T {
  if (Array.isArray(value)) for (const item of value) withoutNulls(item);
  else if (isObject(value)) {
    for (const [field, child] of Object.entries(value)) {
      if (child === null) delete value[field];
      else withoutNulls(child);
    }
  }
  return value;
}

/** The object in the body of a create or an update, checked to be of the resource and place of the path. */
export function objectIn(call: Call): ApiObject {
  const object = withoutNulls(jsonBody(call.body));
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const name = typeof metadata.name === "string" ? metadata.name : "";
  const checked = { ...object, metadata: { ...metadata, name } } as ApiObject;
  checkType(call.resource, checked);
  checkPlace(call, checked);
  return checked;
}

function checkType(resource: Resource, object: ApiObject): void {
  object.kind ??= resource.kind;
  object.apiVersion ??= apiVersionOf(resource);
  if (object.kind === resource.kind && object.apiVersion === apiVersionOf(resource)) return;
  throw badRequest(
    `${object.kind} in version ${JSON.stringify(object.apiVersion)} cannot be handled as a ${resource.kind}: ` +
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${apiVersionOf(resource)})`,
  );
}

function checkPlace(call: Call, { metadata }: ApiObject): void {
  const { namespace = "", name } = metadata;
  if (call.resource.namespaced && namespace !== "" && namespace !== call.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (call.name !== "" && name !== "" && name !== call.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${call.name})`);
  }
}

/** The options of a delete, from its body or its query. */
export function deleteOptionsIn(call: Call): DeleteOptions {
  const options = call.body === null || call.body === "" ? {} : jsonBody(call.body);
  const preconditions = isObject(options.preconditions) ? options.preconditions : {};
  const { uid, resourceVersion } = preconditions;
  const seconds = options.gracePeriodSeconds ?? call.query.get("gracePeriodSeconds");
  return {
    uid: typeof uid === "string" ? uid : null,
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : null,
    gracePeriodSeconds: seconds === null ? null : Number(seconds),
  };
}

/** A change of an object. */
export type Patch = (before: ApiObject) => ApiObject;

const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
] as const;

/** The patch in the body of a request, by its content type. */
export function patchIn(call: Call): Patch {
  const type = (call.headers["content-type"] ?? "").split(";")[0]?.trim() ?? "";
  switch (type) {
    case "application/json-patch+json":
      return applying(call, () => parseList(call.body), jsonPatch);
    case "application/merge-patch+json":
      return applying(call, () => jsonBody(call.body), jsonMerge);
    case "application/strategic-merge-patch+json": {
      const rules = mergeRulesOf(call.resource.kind);
      return applying(
        call,
        () => jsonBody(call.body),
        (object, patch) => strategicMerge(object, patch, rules),
      );
    }
    default:
      throw unsupportedMediaType(PATCH_TYPES);
  }
}

function parseList(body: string | null): Json {
  try {
    return JSON.parse(body ?? "");
  } catch (problem) {
    throw badRequest(`error decoding patch: ${String(problem)}`);
  }
}

function applying<P>(call: Call, read: () => P, patch: (object: JsonObject, patch: P) => JsonObject): Patch {
  const body = read();
  return (before) => {
    const patched = attempt(() => patch(before, body));
    return objectIn({ ...call, body: JSON.stringify(patched) });
  };
}

function attempt(patch: () => JsonObject): JsonObject {
  try {
    return patch();
  } catch (problem) {
    if (problem instanceof UnusablePatch) throw badRequest(problem.message);
    if (!(problem instanceof InapplicablePatch)) throw problem;
    const message = `the server rejected our request due to an error in our request: ${problem.message}`;
    throw new ApiFailure({ code: 422, reason: "Invalid", message, details: {} });
  }
}
