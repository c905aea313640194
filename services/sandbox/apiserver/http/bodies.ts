/** Parses request bodies into objects and options; throws a 400 for malformed ones. patches.ts parses patches. */

import { type ApiObject, childObject, isObject, type Json, type JsonObject, textOf } from "../api-objects.ts";
import { badRequest, unsupportedMediaType } from "../api-status.ts";
import { dropNulls, fillDefaults, pruned, type StructuralSchema } from "../custom/structural-schema.ts";
import { apiVersionOf, type Resource } from "../resources.ts";
import type { Call } from "../routes.ts";
import type { DeleteOptions } from "../store/deletion.ts";
import { canonical, UnreadableField } from "../views/canonical.ts";
import { shapeOf } from "../views/object-shapes.ts";

/** The JSON value in a body; `complain` words the 400. */
export function jsonIn(body: string | null, complain: (problem: string) => string): Json {
  try {
    return JSON.parse(body ?? "");
  } catch (problem) {
    throw badRequest(complain(problem instanceof Error ? problem.message : "unreadable"));
  }
}

/** The JSON object in a body. Throws a 400. */
export function objectBody(body: string | null, kind: string): JsonObject {
  const complain = (problem: string): string =>
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${problem}`;
  const value = jsonIn(body, complain);
  if (!isObject(value)) throw badRequest(complain("it is not an object"));
  return value;
}

/** The object in the body of a create or update, in the stored version and canonical form. */
export function objectIn(call: Call): ApiObject {
  const { resource, body } = call;
  checkReadable(call);
  try {
    return storedForm(call, withKind(resource, objectBody(body, resource.kind)));
  } catch (problem) {
    if (!(problem instanceof UnreadableField)) throw problem;
    throw badRequest(`${unusable(resource.kind, resource)}: ${problem.message}`);
  }
}

const BODY_TYPES = ["application/json", "application/apply-patch+yaml"];

function checkReadable({ headers }: Call): void {
  const type = contentTypeOf(headers);
  if (type !== "" && !BODY_TYPES.includes(type)) throw unsupportedMediaType(BODY_TYPES.slice(0, 1));
}

/** The media type of a body, without its parameters. */
export function contentTypeOf(headers: Call["headers"]): string {
  return (headers["content-type"] ?? "").split(";")[0]?.trim() ?? "";
}

/**
 * The stored form of an object from a client; changes its argument. Throws a 400 when its place differs from the
 * request's, and an UnreadableField.
 */
export function storedForm(call: Call, shown: JsonObject): ApiObject {
  const { resource } = call;
  const { metadata = {} } = shown;
  if (!isObject(metadata)) throw new UnreadableField("metadata: expected object");
  if (typeof (metadata.name ?? "") !== "string") throw new UnreadableField("name: expected text");
  const named = { ...shown, metadata: { ...metadata, name: textOf(metadata, "name") } };
  // A patch cannot change the kind; its own value is ignored.
  const own = { kind: resource.kind, apiVersion: apiVersionOf(resource) };
  const typed = { ...(resource.custom === null ? withoutNulls(named) : named), ...own } as ApiObject;
  checkPlace(call, typed);
  // A cluster-scoped object is in no namespace, whatever it contains.
  if (!resource.namespaced) delete typed.metadata.namespace;
  if (resource.custom !== null) structure(call, typed, resource.custom.schema);
  return canonical(typed, shapeOf(resource)) as ApiObject;
}

/**
 * Gives a custom resource the structure of its schema: drops unknown fields and nulls, and sets defaults; changes its
 * argument. A client may request an error instead of dropped fields.
 */
function structure({ query }: Call, object: ApiObject, schema: StructuralSchema): void {
  withoutNulls(object.metadata);
  const unknown = pruned(object, schema);
  if (unknown.length > 0 && query.get("fieldValidation") === "Strict") {
    const words = unknown.map((field) => `unknown field ${JSON.stringify(field)}`);
    throw new UnreadableField(`strict decoding error: ${words.join(", ")}`);
  }
  dropNulls(object, schema);
  fillDefaults(object, schema);
}

/** Null means absent in the API and is not stored. */
function withoutNulls<T extends Json>(value: T): T {
  if (Array.isArray(value)) for (const item of value) withoutNulls(item);
  else if (isObject(value)) {
    for (const [field, child] of Object.entries(value)) {
      if (child === null) delete value[field];
      else if (typeof child === "object") withoutNulls(child);
    }
  }
  return value;
}

function unusable(kind: string, resource: Resource): string {
  return `${kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}`;
}

/** The object, if it is of the resource's kind or, for a built-in kind, names none. Throws a 400. */
function withKind(resource: Resource, object: JsonObject): JsonObject {
  const isCustom = resource.custom !== null;
  if (isCustom && object.kind === undefined) {
    throw badRequest(`${unusable(resource.kind, resource)}: Object 'Kind' is missing in '${JSON.stringify(object)}'`);
  }
  const { kind = resource.kind, apiVersion = apiVersionOf(resource) } = object;
  const isOtherVersion = apiVersion !== apiVersionOf(resource);
  if (kind !== resource.kind && !(isCustom && isOtherVersion)) {
    throw badRequest(
      `${unusable(String(kind as string), resource)}: converting (${String(kind as string)}) to (${resource.kind})`,
    );
  }
  if (isOtherVersion) {
    const given = `the API version in the data (${String(apiVersion as string)})`;
    throw badRequest(`${given} does not match the expected API version (${apiVersionOf(resource)})`);
  }
  return object;
}

function checkPlace(call: Call, { metadata }: ApiObject): void {
  const { namespace = "", name } = metadata;
  if (call.resource.namespaced && namespace !== "" && namespace !== call.namespace) {
    throw badRequest(
      call.verb === "create"
        ? "the namespace of the provided object does not match the namespace sent on the request"
        : `the namespace of the object (${namespace}) does not match the namespace on the request (${call.namespace})`,
    );
  }
  if (call.verb === "update" && name === "") {
    throw badRequest(`the name of the object (${call.name} based on URL) was undeterminable: name must be provided`);
  }
  if (call.name !== "" && name !== "" && name !== call.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${call.name})`);
  }
}

/** The options of a delete, from its body or its query. */
export function deleteOptionsIn(call: Call): DeleteOptions {
  const options = call.body === null || call.body === "" ? {} : objectBody(call.body, "DeleteOptions");
  const requested = call.query.get("gracePeriodSeconds");
  return deleteOptionsOf({ ...(requested !== null && { gracePeriodSeconds: Number(requested) }), ...options });
}

/** The options of the delete in an eviction. Throws a 400 for an eviction of another pod. */
export function evictionOptionsIn(body: string | null, name: string): DeleteOptions {
  const eviction = objectBody(body, "Eviction");
  if (textOf(childObject(eviction, "metadata"), "name") !== name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  return deleteOptionsOf(childObject(eviction, "deleteOptions"));
}

function deleteOptionsOf(options: JsonObject): DeleteOptions {
  const { uid, resourceVersion } = childObject(options, "preconditions");
  const { gracePeriodSeconds, dryRun } = options;
  return {
    uid: typeof uid === "string" ? uid : null,
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : null,
    gracePeriodSeconds: typeof gracePeriodSeconds === "number" ? gracePeriodSeconds : null,
    ...(dryRun !== undefined && { dryRun: true }),
  };
}
