/**
 * The OpenAPI that kubectl reads: before it applies an object, which requests support fieldValidation; for `kubectl
 * explain`, the schemas of custom resources. Built-in kinds have none here: kubectl knows how to apply them.
 */
import { type Answer, objectAnswer } from "../answer.ts";
import type { JsonObject } from "../api-objects.ts";
import { apiVersionOf, type Resource } from "../resources.ts";

const ROOT = "/openapi/v3";
const OBJECT_FIELDS: JsonObject = {
  apiVersion: { type: "string", description: "The group and version of the API." },
  kind: { type: "string", description: "The kind of the object." },
  metadata: { type: "object", description: "The name, labels and annotations of the object." },
};
const INFO = { title: "Vigil's embedded Kubernetes API", version: "unversioned" };

/** The response for a path of OpenAPI; null for any other path. */
export function openApi(path: string, accept: string, resources: readonly Resource[]): Answer | null {
  if (path === "/openapi/v2") return emptyVersion2(accept);
  const versions = [...new Set(resources.map(apiVersionOf))];
  if (path === ROOT) return objectAnswer(200, index(versions));
  const version = versions.find((apiVersion) => path === `${ROOT}${prefixOf(apiVersion)}`);
  if (version === undefined) return null;
  return objectAnswer(200, documentOf(resources.filter((resource) => apiVersionOf(resource) === version)));
}

const VERSION_2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/** A document without schemas: kubectl reads it before it applies a list, and then validates nothing itself. */
function emptyVersion2(accept: string): Answer {
  if (!accept.includes(VERSION_2_PROTOBUF)) return objectAnswer(200, { swagger: "2.0", info: INFO, paths: {} });
  const text = (number: number, value: string): string => String.fromCharCode(number * 8 + 2, value.length) + value;
  const body = text(1, "2.0") + text(2, text(1, INFO.title) + text(2, INFO.version));
  return { status: 200, headers: { "content-type": "application/octet-stream" }, body };
}

function prefixOf(apiVersion: string): string {
  return apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
}

function index(versions: readonly string[]): JsonObject {
  const paths = versions.map((version) => {
    const prefix = prefixOf(version);
    return [prefix.slice(1), { serverRelativeURL: ROOT + prefix }] as const;
  });
  return { paths: Object.fromEntries(paths) };
}

function documentOf(resources: readonly Resource[]): JsonObject {
  return {
    openapi: "3.0.0",
    info: INFO,
    paths: Object.fromEntries(resources.map((resource) => [pathOf(resource), { patch: patchOf(resource) }])),
    components: { schemas: Object.fromEntries(resources.flatMap(schemasOf)) },
  };
}

/** The schema of a custom resource by its name, with the fields of every object, which it need not name itself. */
function schemasOf({ group, version, kind, custom }: Resource): [string, JsonObject][] {
  if (custom === null) return [];
  const identity = { "x-kubernetes-group-version-kind": [{ group, version, kind }] };
  const properties = { ...(custom.schema.properties as JsonObject), ...OBJECT_FIELDS };
  const name = `${group.split(".").reverse().join(".")}.${version}.${kind}`;
  return [[name, { ...(custom.schema as JsonObject), ...identity, properties }]];
}

function pathOf(resource: Resource): string {
  const scope = resource.namespaced ? "/namespaces/{namespace}" : "";
  return `${prefixOf(apiVersionOf(resource))}${scope}/${resource.plural}/{name}`;
}

function patchOf({ group, version, kind }: Resource): JsonObject {
  const parameter = { name: "fieldValidation", in: "query", schema: { type: "string", uniqueItems: true } };
  return {
    parameters: [parameter],
    responses: { "200": { description: "OK" } },
    "x-kubernetes-action": "patch",
    "x-kubernetes-group-version-kind": { group, version, kind },
  };
}
