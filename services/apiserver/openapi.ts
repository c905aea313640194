/**
 * As much OpenAPI as kubectl looks for before it applies an object: which requests know fieldValidation. There are no
 * schemas.
 */
import type { JsonObject } from "./objects.ts";
import { apiVersionOf, RESOURCES, type Resource } from "./resources.ts";

const ROOT = "/openapi/v3";

/** The document under a path; null when there is none. */
export function openApi(path: string): JsonObject | null {
  if (path === ROOT) return index();
  const version = VERSIONS.find((apiVersion) => path === `${ROOT}${prefixOf(apiVersion)}`);
  return version === undefined ? null : documentOf(version);
}

const VERSIONS = [...new Set(RESOURCES.map(apiVersionOf))];

function prefixOf(apiVersion: string): string {
  return apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
}

function index(): JsonObject {
  const paths = VERSIONS.map((version) => {
    const prefix = prefixOf(version);
    return [prefix.slice(1), { serverRelativeURL: ROOT + prefix }] as const;
  });
  return { paths: Object.fromEntries(paths) };
}

function documentOf(apiVersion: string): JsonObject {
  const resources = RESOURCES.filter((resource) => apiVersionOf(resource) === apiVersion);
  return {
    openapi: "3.0.0",
    info: { title: "Vigil's embedded Kubernetes API", version: "unversioned" },
    paths: Object.fromEntries(resources.map((resource) => [pathOf(resource), { patch: patchOf(resource) }])),
    components: {},
  };
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
