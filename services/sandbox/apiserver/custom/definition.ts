/** What a CustomResourceDefinition says: the resources to serve, their names, schemas and columns. Pure. */
import { type ApiObject, childList, childObject, isObject, type JsonObject, textOf } from "../api-objects.ts";
import type { PrinterColumn, Resource, StorageName } from "../resources.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** The collection of a definition's objects; it has the definition's name. */
export function storageOf(definition: ApiObject): StorageName {
  const spec = childObject(definition, "spec");
  return `${textOf(childObject(spec, "names"), "plural")}.${textOf(spec, "group")}`;
}

/** The versions that a definition serves, the preferred one first. */
export function resourcesOf(definition: ApiObject): Resource[] {
  const spec = childObject(definition, "spec");
  const names = childObject(childObject(definition, "status"), "acceptedNames");
  const versions = childList(spec, "versions");
  const group = textOf(spec, "group");
  const stored = versions.find(({ storage }) => storage === true) ?? {};
  const named = {
    group,
    kind: textOf(names, "kind"),
    plural: textOf(names, "plural"),
    singular: textOf(names, "singular"),
    shortNames: textsOf(names, "shortNames"),
    categories: textsOf(names, "categories"),
    namespaced: spec.scope === "Namespaced",
    storage: storageOf(definition),
    storedVersion: textOf(stored, "name"),
  };
  return versions
    .filter(({ served }) => served === true)
    .map((version) => ({
      ...named,
      version: textOf(version, "name"),
      hasStatus: isObject(childObject(version, "subresources").status),
      custom: {
        schema: childObject(childObject(version, "schema"), "openAPIV3Schema") as StructuralSchema,
        columns: columnsOf(version),
      },
    }))
    .sort((left, right) => byPriority(left.version, right.version));
}

/** The columns of a version; the age alone when it names none. */
function columnsOf(version: JsonObject): PrinterColumn[] {
  const columns = childList(version, "additionalPrinterColumns");
  const age = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
  return (columns.length === 0 ? [age] : columns).map((column: JsonObject) => ({
    name: textOf(column, "name"),
    type: textOf(column, "type"),
    format: textOf(column, "format"),
    description:
      textOf(column, "description") ||
      `Custom resource definition column (in JSONPath format): ${textOf(column, "jsonPath")}`,
    priority: typeof column.priority === "number" ? column.priority : 0,
    jsonPath: textOf(column, "jsonPath"),
  }));
}

/** The strings in a list field. */
export function textsOf(parent: JsonObject, field: string): string[] {
  const list = parent[field];
  return Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGES = [undefined, "beta", "alpha"];

/** Stable versions come before beta and alpha ones, later before earlier ones, and other names last. */
function byPriority(left: string, right: string): number {
  const [a, b] = [VERSION.exec(left), VERSION.exec(right)];
  if (a === null || b === null) return a === b ? Number(left > right) : Number(a === null) * 2 - 1;
  const stages = STAGES.indexOf(a[2]) - STAGES.indexOf(b[2]);
  return stages || Number(b[1]) - Number(a[1]) || Number(b[3]) - Number(a[3]);
}
