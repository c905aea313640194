/** Validation of metadata, with the real server's messages. */

import { type ApiObject, childList, childObject, type JsonObject, type ObjectMeta, textOf } from "../api-objects.ts";
import type { StorageName } from "../resources.ts";
import { dnsLabelProblems, dnsSubdomainProblems, labelValueProblems, qualifiedNameProblems } from "./object-names.ts";
import { type FieldProblem, invalidField, required } from "./problems.ts";

/** The problems of an object's name, labels, annotations and owners. */
export function metadataProblems(storage: StorageName, { metadata }: ApiObject): FieldProblem[] {
  const { name } = metadata;
  if (name === "") return [required("metadata.name", "name or generateName is required")];
  const words = storage === "namespaces" ? dnsLabelProblems(name) : dnsSubdomainProblems(name);
  const nameProblems = words.map((why) => invalidField("metadata.name", name, why));
  return [...nameProblems, ...labelProblems(metadata), ...annotationProblems(metadata), ...ownerProblems(metadata)];
}

function labelProblems(metadata: ObjectMeta): FieldProblem[] {
  const labels = childObject(metadata, "labels");
  return Object.keys(labels).flatMap((key) => [
    ...qualifiedNameProblems(key).map((why) => invalidField("metadata.labels", key, why)),
    ...labelValueProblems(textOf(labels, key)).map((why) => invalidField("metadata.labels", textOf(labels, key), why)),
  ]);
}

/** Annotation keys may contain upper case in the prefix; label keys may not. */
function annotationProblems(metadata: ObjectMeta): FieldProblem[] {
  return Object.keys(childObject(metadata, "annotations")).flatMap((key) =>
    qualifiedNameProblems(key.toLowerCase()).map((why) => invalidField("metadata.annotations", key, why)),
  );
}

function ownerProblems(metadata: ObjectMeta): FieldProblem[] {
  return childList(metadata, "ownerReferences").flatMap((owner) => [
    ...missing(owner, "apiVersion", "version"),
    ...missing(owner, "kind", "kind"),
    ...missing(owner, "name", "name"),
    ...missing(owner, "uid", "uid"),
  ]);
}

function missing(owner: JsonObject, field: string, called: string): FieldProblem[] {
  if (textOf(owner, field) !== "") return [];
  return [invalidField(`metadata.ownerReferences.${field}`, "", `${called} must not be empty`)];
}
