/** When a write is refused: it means another object, another state of it, or something invalid. It writes nothing. */

import type { ApiObject, ObjectMeta } from "../api-objects.ts";
import { type ApiFailure, badRequest, conflict, invalid, STALE_VERSION } from "../api-status.ts";
import type { Resource } from "../resources.ts";
import { wrong } from "../validation/problems.ts";
import { problemsOf } from "../validation/validation.ts";
import type { DeleteOptions } from "./deletion.ts";
import type { Place } from "./registry.ts";
import type { Stored } from "./stored.ts";
import { STRATEGIES } from "./strategy.ts";

/** Which verb an update came by; they differ in how they refuse another object's uid. */
export type UpdateVerb = "update" | "patch";

/** Refuses an update that names another uid or another resourceVersion, or none where one is needed. */
export function checkVersion(place: Place, stored: Stored, meta: ObjectMeta, verb: UpdateVerb): void {
  const { uid = "", resourceVersion = "" } = meta;
  const { resource, name } = place;
  const otherUid = uid !== "" && uid !== stored.uid;
  if (otherUid && verb === "update") throw otherObject(place, uid, stored.uid);
  if (resourceVersion !== "" && resourceVersion !== String(stored.revision)) {
    throw conflict(resource, name, STALE_VERSION);
  }
  // A patch names another uid as if it wanted to change it, and is refused for that.
  const fixed = wrong("metadata.uid", uid, "field is immutable");
  if (otherUid) throw invalid(resource, name, [fixed, fixed]);
  if (resourceVersion === "" && !STRATEGIES[resource.storage].updatesUnconditionally) {
    const message = "Invalid value: 0x0: must be specified for an update";
    const problem = { type: "FieldValueInvalid", field: "metadata.resourceVersion", message } as const;
    throw invalid({ ...resource, kind: resource.plural }, name, [problem]);
  }
}

/** Refuses an update that means an object which is not there any more: whoever names a uid never wants a new one. */
export function checkAbsent(place: Place, { uid = "" }: ObjectMeta): void {
  if (uid !== "") throw otherObject(place, uid, "");
}

/** The same for what is applied, in other words. */
export function checkAbsentApplied({ resource, name }: Place, { uid = "" }: ObjectMeta): void {
  if (uid === "") return;
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  throw conflict(resource, name, why);
}

function otherObject(place: Place, uid: string, present: string): ApiFailure {
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${present}`;
  const error = `StorageError: invalid object, Code: 4, ${keyText(place)}, AdditionalErrorMsg: ${why}`;
  return conflict(place.resource, place.name, error);
}

/** Where the real server would keep the object; nodes are still minions there. */
function keyText({ resource, namespace, name }: Place): string {
  const folder = resource.storage === "nodes" ? "minions" : resource.storage;
  const path = ["registry", folder, namespace, name].filter((part) => part !== "");
  return `Key: /${path.join("/")}, ResourceVersion: 0`;
}

/** Refuses an object that goes by another name than its place. */
export function checkName({ name }: Place, { metadata }: ApiObject): void {
  if (name === metadata.name) return;
  throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

/** Only a delete sets the time of a deletion. Upstream tells a problem of metadata twice. */
export function checkDeletion({ resource, name }: Place, { metadata }: ApiObject, before: ApiObject): void {
  const { deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined || deletionTimestamp === before.metadata.deletionTimestamp) return;
  const problem = wrong("metadata.deletionTimestamp", deletionTimestamp, "field is immutable");
  throw invalid(resource, name, [problem, problem]);
}

/** Refuses an object, or a change from `before`, that is not valid. */
export function checkValid(resource: Resource, object: ApiObject, before: ApiObject | null): void {
  const problems = problemsOf(resource.storage, object, before);
  // Both versions of Event are told about in the words of the older.
  const subject = resource.storage === "events" ? { ...resource, group: "" } : resource;
  if (problems.length > 0) throw invalid(subject, object.metadata.name, problems);
}

/** Refuses a delete that was meant for another object, or for another state of it, with a 409. */
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
