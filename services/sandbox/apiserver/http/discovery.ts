/** Discovery, version and probes. api-verbs.ts serves the resources. */
import { type Answer, objectAnswer } from "../answer.ts";
import type { JsonObject } from "../api-objects.ts";
import { noSuchPath } from "../api-status.ts";
import { apiVersionOf, RESOURCES, type Resource } from "../resources.ts";
import type { OtherCall } from "../routes.ts";
import { openApi } from "./openapi.ts";

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];

/** The served version; the minor number is that of the clients tested against this server. */
const VERSION = {
  major: "1",
  minor: "32",
  gitVersion: "v1.32.0+vigil",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "embedded",
};

const PROBES = ["/healthz", "/livez", "/readyz"];

/** Responds to a request that is for no resource. */
export function discover({ path, headers }: OtherCall): Answer {
  const trimmed = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  if (PROBES.includes(trimmed))
    return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: "ok" };
  const document = DOCUMENTS.get(trimmed);
  if (document !== undefined) return objectAnswer(200, document);
  const schemas = openApi(trimmed, headers.accept ?? "");
  if (schemas !== null) return schemas;
  if (isUnderVersion(trimmed)) throw noSuchPath();
  return trimmed.startsWith("/api")
    ? { status: 404, headers: { "content-type": "text/plain; charset=utf-8" }, body: "404 page not found\n" }
    : objectAnswer(404, { paths: [...DOCUMENTS.keys(), ...PROBES].sort() });
}

/** Whether the path is below a served version and so names an unknown resource. */
function isUnderVersion(path: string): boolean {
  return RESOURCES.some((resource) => {
    const version = apiVersionOf(resource);
    return path.startsWith(version === "v1" ? "/api/v1/" : `/apis/${version}/`);
  });
}

const GROUPS = [...new Set(RESOURCES.map(({ group }) => group))].filter((group) => group !== "");
const DOCUMENTS: ReadonlyMap<string, JsonObject> = new Map([
  ["/api", { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] } as JsonObject],
  ["/apis", { kind: "APIGroupList", apiVersion: "v1", groups: GROUPS.map(groupOf) }],
  ["/version", VERSION],
  ...GROUPS.map((group) => [`/apis/${group}`, { kind: "APIGroup", apiVersion: "v1", ...groupOf(group) }] as const),
  ...[...new Set(RESOURCES.map(apiVersionOf))].map(
    (version) => [version === "v1" ? "/api/v1" : `/apis/${version}`, resourcesOf(version)] as const,
  ),
]);

function groupOf(group: string): JsonObject {
  const versions = RESOURCES.filter((resource) => resource.group === group).map((resource) => ({
    groupVersion: apiVersionOf(resource),
    version: resource.version,
  }));
  return { name: group, versions, preferredVersion: versions[0] ?? null };
}

function resourcesOf(apiVersion: string): JsonObject {
  const resources = RESOURCES.filter((resource) => apiVersionOf(resource) === apiVersion).flatMap(entriesOf);
  const own = apiVersion === "v1" ? {} : { apiVersion: "v1" };
  return { kind: "APIResourceList", ...own, groupVersion: apiVersion, resources };
}

function entriesOf(resource: Resource): JsonObject[] {
  const { plural, singular, kind, namespaced, shortNames, categories, hasStatus, storage } = resource;
  // Namespaces cannot be deleted as a collection.
  const verbs = storage === "namespaces" ? VERBS.filter((verb) => verb !== "deletecollection") : VERBS;
  const names = shortNames.length === 0 ? {} : { shortNames: [...shortNames] };
  const kinds = categories.length === 0 ? {} : { categories: [...categories] };
  const entry = { name: plural, singularName: singular, namespaced, kind, verbs, ...names, ...kinds };
  const sub = { singularName: "", namespaced };
  const status = hasStatus ? [{ ...sub, name: `${plural}/status`, kind, verbs: STATUS_VERBS }] : [];
  if (storage !== "pods") return [entry, ...status];
  const create = { ...sub, verbs: ["create"] };
  return [
    entry,
    { ...create, name: "pods/binding", kind: "Binding" },
    { ...create, name: "pods/eviction", group: "policy", version: "v1", kind: "Eviction" },
    ...status,
  ];
}
