/** Validation of CustomResourceDefinitions, with the real server's messages where there is one. */
import { isColumnPath } from "../../../structures/json-path.ts";
import { type ApiObject, childList, childObject, isObject, type JsonObject, textOf } from "../api-objects.ts";
import { textsOf } from "../custom/definition.ts";
import type { StructuralSchema } from "../custom/structural-schema.ts";
import { dnsSubdomainProblems } from "./object-names.ts";
import { type FieldProblem, forbiddenValue, invalidField, required, unsupported } from "./problems.ts";
import { schemaProblems } from "./schema-problems.ts";

const SCOPES = ["Cluster", "Namespaced"];
const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"];
const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
/** Keywords of OpenAPI that a structural schema may not use. */
const FORBIDDEN = ["$ref", "additionalItems", "definitions", "dependencies", "patternProperties"];

/** The problems of a definition. */
export function definitionProblems(definition: ApiObject): FieldProblem[] {
  const spec = childObject(definition, "spec");
  const names = childObject(spec, "names");
  const expected = `${textOf(names, "plural")}.${textOf(spec, "group")}`;
  const { name } = definition.metadata;
  const scope = textOf(spec, "scope");
  return [
    ...(name === expected ? [] : [invalidField("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]),
    ...groupProblems(textOf(spec, "group")),
    ...(SCOPES.includes(scope) ? [] : [scopeProblem(scope)]),
    ...nameProblems(names),
    ...versionProblems(spec),
  ];
}

function scopeProblem(scope: string): FieldProblem {
  return scope === "" ? required("spec.scope") : unsupported("spec.scope", scope, SCOPES);
}

function groupProblems(group: string): FieldProblem[] {
  if (group === "") return [required("spec.group")];
  if (!group.includes(".")) return [invalidField("spec.group", group, "should be a domain with at least one dot")];
  return dnsSubdomainProblems(group).map((why) => invalidField("spec.group", group, why));
}

function nameProblems(names: JsonObject): FieldProblem[] {
  const single = ["plural", "singular", "kind", "listKind"].flatMap((field) => {
    const name = textOf(names, field);
    if (name === "") return [required(`spec.names.${field}`)];
    return dns1035Problems(name, field.toLowerCase().endsWith("kind"), `spec.names.${field}`);
  });
  return [
    ...single,
    ...["shortNames", "categories"].flatMap((field) =>
      textsOf(names, field).flatMap((name, index) => dns1035Problems(name, false, `spec.names.${field}[${index}]`)),
    ),
  ];
}

/** The problems of a name that begins with a letter; a kind may have capitals. */
function dns1035Problems(name: string, isKind: boolean, at: string): FieldProblem[] {
  if (/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(isKind ? name.toLowerCase() : name)) return [];
  const why =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
  return [invalidField(at, name, why)];
}

function versionProblems(spec: JsonObject): FieldProblem[] {
  const versions = childList(spec, "versions");
  const stored = versions.filter(({ storage }) => storage === true).length;
  const names = versions.map((version) => textOf(version, "name"));
  const why = "must have exactly one version marked as storage version";
  return [
    ...(stored === 1 ? [] : [invalidField("spec.versions", names, why)]),
    ...versions.flatMap((version, index) => {
      const name = textOf(version, "name");
      const at = `spec.versions[${index}]`;
      const twice = names.indexOf(name) < index;
      return [
        ...dns1035Problems(name, false, `${at}.name`),
        ...(twice ? [invalidField(`${at}.name`, name, "must be unique")] : []),
        // The real server names the schema of a single version so.
        ...rootProblems(version, versions.length === 1 ? "spec.validation" : `${at}.schema`, at),
        ...columnProblems(version, `${at}.additionalPrinterColumns`),
      ];
    }),
  ];
}

function columnProblems(version: JsonObject, at: string): FieldProblem[] {
  return childList(version, "additionalPrinterColumns").flatMap((column, index) => {
    const [type, path] = [textOf(column, "type"), textOf(column, "jsonPath")];
    return [
      ...(textOf(column, "name") === "" ? [required(`${at}[${index}].name`)] : []),
      ...(COLUMN_TYPES.includes(type) ? [] : [unsupported(`${at}[${index}].type`, type, COLUMN_TYPES)]),
      ...(isColumnPath(path)
        ? []
        : [invalidField(`${at}[${index}].jsonPath`, path, "must be a simple json path with leading .")]),
    ];
  });
}

function rootProblems(version: JsonObject, at: string, versionAt: string): FieldProblem[] {
  const schema = childObject(version, "schema").openAPIV3Schema;
  if (!isObject(schema)) return [required(`${versionAt}.schema.openAPIV3Schema`, "schemas are required")];
  const field = `${at}.openAPIV3Schema`;
  const { type = "" } = schema;
  if (type === "") return [required(`${field}.type`, "must not be empty at the root")];
  if (type !== "object") return [invalidField(`${field}.type`, type, "must be object at the root")];
  if (schema.additionalProperties !== undefined) {
    return [forbiddenValue(`${field}.additionalProperties`, "must not be used at the root")];
  }
  return partProblems(schema, field);
}

/** The problems of a schema and of the schemas below it; only the parts of a choice need no type. */
function partProblems(schema: StructuralSchema, at: string): FieldProblem[] {
  const { type = "", properties = {}, additionalProperties, items } = schema;
  const isUntyped =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const hasBoth = Object.keys(properties).length > 0 && additionalProperties !== undefined;
  const field = /(properties\[[^\]]*\]|additionalProperties|items)$/.exec(at)?.[1] ?? "";
  const what = field === "items" ? "array items" : "object fields";
  return [
    ...(type === "" && !isUntyped ? [required(`${at}.type`, `must not be empty for specified ${what}`)] : []),
    ...(type === "" || TYPES.includes(type) ? [] : [unsupported(`${at}.type`, type, TYPES)]),
    ...FORBIDDEN.filter((keyword) => keyword in schema).map((keyword) =>
      forbiddenValue(`${at}.${keyword}`, `${keyword} is not supported`),
    ),
    ...(schema.uniqueItems === true ? [forbiddenValue(`${at}.uniqueItems`, UNIQUE)] : []),
    ...(hasBoth ? [forbiddenValue(`${at}.additionalProperties`, BOTH)] : []),
    ...(type === "array" && !isObject(items) ? [required(`${at}.items`, "must be specified")] : []),
    ...(schema.default === undefined ? [] : schemaProblems(schema.default, schema, `${at}.default`)),
    ...Object.entries(properties).flatMap(([name, part]) => partProblems(part, `${at}.properties[${name}]`)),
    ...(isObject(items) ? partProblems(items, `${at}.items`) : []),
    ...(isObject(additionalProperties) ? partProblems(additionalProperties, `${at}.additionalProperties`) : []),
  ];
}

const UNIQUE = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
const BOTH = "additionalProperties and properties are mutual exclusive";
