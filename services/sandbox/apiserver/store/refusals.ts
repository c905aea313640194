/** Preconditions of writes: the object's uid, version, name and validity. */

import type { ApiObject, ObjectMeta } from "../api-objects.ts";
import { type ApiFailure, badRequest, conflict, invalid, STALE_VERSION } from "../api-status.ts";
import type { Place, Resource } from "../resources.ts";
import { invalidField } from "../validation/problems.ts";
import { problemsOf } from "../validation/validation.ts";
import type { DeleteOptions } from "./deletion.ts";
import type { Stored } from "./stored.ts";
import { strategyOf } from "./strategy.ts";

/** The verb of an update. PUT and PATCH differ in how they refuse another uid. */
export type UpdateVerb = "update" | "patch";

/** Refuses an update with another uid or resourceVersion, or without a resourceVersion where one is required. */
export function checkVersion(place: Place, stored: Stored, meta: ObjectMeta, verb: UpdateVerb): void {
  const { uid = "", resourceVersion = "" } = meta;
  const { resource, name } = place;
  const otherUid = uid !== "" && uid !== stored.uid;
  if (otherUid && verb === "update") throw otherObject(place, uid, stored.uid);
  if (resourceVersion !== "" && resourceVersion !== String(stored.revision)) {
    throw conflict(resource, name, STALE_VERSION);
  }
  // A patch with another uid is refused as a change of an immutable field.
  const fixed = invalidField("metadata.uid", uid, "field is immutable");
  if (otherUid) throw invalid(resource, name, [fixed, fixed]);
  if (resourceVersion === "" && !strategyOf(resource).updatesUnconditionally) {
    const message = "Invalid value: 0x0: must be specified for an update";
    const problem = { type: "FieldValueInvalid", field: "metadata.resourceVersion", message } as const;
    throw invalid({ ...resource, kind: resource.plural }, name, [problem]);
  }
}

/** Refuses an update or apply that names the uid of a deleted object: it must not create a new one. */
export function checkAbsent(place: Place, { uid = "" }: ObjectMeta): void {
  if (uid !== "") throw otherObject(place, uid, "");
}

function otherObject({ resource, name }: Place, uid: string, present: string): ApiFailure {
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${present}`;
  return conflict(resource, name, why);
}

/** Refuses an object with another name than its path. */
export function checkName({ name }: Place, { metadata }: ApiObject): void {
  if (name === metadata.name) return;
  throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

/** Refuses a change of the deletionTimestamp, which only a delete sets. Upstream reports problems of metadata twice. */
export function checkDeletion({ resource, name }: Place, { metadata }: ApiObject, before: ApiObject): void {
  const { deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined || deletionTimestamp === before.metadata.deletionTimestamp) return;
  const problem = invalidField("metadata.deletionTimestamp", deletionTimestamp, "field is immutable");
  throw invalid(resource, name, [problem, problem]);
}

/** Refuses an invalid object, or an invalid change from `before`. */
export function checkValid(resource: Resource, object: ApiObject, before: ApiObject | null): void {
  const problems = problemsOf(resource, object, before);
  if (problems.length > 0) throw invalid(resource, object.metadata.name, problems);
}

/** Refuses with a 409 a delete whose preconditions are not met. */
export function checkPreconditions({ resource, name }: Place, stored: Stored, options: DeleteOptions): void {
  const { uid, resourceVersion } = options;
  if (uid !== null && uid !== stored.uid) {
    const why =
      `the UID in the precondition (${uid}) does not match the UID in record (${stored.uid}). ` +
      "The object might have been deleted and then recreated";
    throw conflict({ ...resource, plural: resource.kind }, name, why);
  }
  if (resourceVersion !== null && resourceVersion !== String(stored.revision)) {
    const why =
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record ` +
      `(${stored.revision}). The object might have been modified`;
    throw conflict({ ...resource, plural: resource.kind }, name, why);
  }
}
