/** Discovery, version and probes. api-verbs.ts serves the resources. */
import { type Answer, objectAnswer } from "../answer.ts";
import type { JsonObject } from "../api-objects.ts";
import { noSuchPath } from "../api-status.ts";
import { apiVersionOf, type Resource } from "../resources.ts";
import type { OtherCall } from "../routes.ts";
import { objectBody } from "./bodies.ts";
import { openApi } from "./openapi.ts";

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];

/** The served version: the one whose rules Vigil follows, and no older than what hollow nodes report. */
const VERSION = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.0-vigil",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "embedded",
};

const PROBES = ["/healthz", "/livez", "/readyz"];

/** The user that every client counts as. */
const USER = { username: "system:admin", groups: ["system:masters", "system:authenticated"] };
const EVERYTHING = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
const EVERY_PATH = { verbs: ["*"], nonResourceURLs: ["*"] };

/**
 * The reviews that a client requests of itself, by path: for `kubectl auth can-i`, `auth can-i --list` and `auth whoami`.
 * All clients are alike here and may do everything.
 */
const REVIEWS: ReadonlyMap<string, { readonly kind: string; readonly status: JsonObject }> = new Map([
  [
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      kind: "SelfSubjectAccessReview",
      status: { allowed: true, reason: "the embedded API admits every request" } as JsonObject,
    },
  ],
  [
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    {
      kind: "SelfSubjectRulesReview",
      status: { resourceRules: [EVERYTHING], nonResourceRules: [EVERY_PATH], incomplete: false },
    },
  ],
  ["/apis/authentication.k8s.io/v1/selfsubjectreviews", { kind: "SelfSubjectReview", status: { userInfo: USER } }],
]);

/** Responds to a request that is for no resource. */
export function discover({ method, path, headers, body }: OtherCall, resources: readonly Resource[]): Answer {
  const trimmed = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  if (PROBES.includes(trimmed))
    return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: "ok" };
  const review = REVIEWS.get(trimmed);
  if (review !== undefined && method === "POST") {
    return objectAnswer(201, { ...objectBody(body, review.kind), status: review.status });
  }
  const documents = documentsOf(resources);
  const document = documents.get(trimmed);
  if (document !== undefined) return objectAnswer(200, document);
  const schemas = openApi(trimmed, headers.accept ?? "", resources);
  if (schemas !== null) return schemas;
  if (isUnderVersion(trimmed, resources)) throw noSuchPath();
  return trimmed.startsWith("/api")
    ? { status: 404, headers: { "content-type": "text/plain; charset=utf-8" }, body: "404 page not found\n" }
    : objectAnswer(404, { paths: [...documents.keys(), ...PROBES].sort() });
}

/** Whether the path is below a served version and so names an unknown resource. */
function isUnderVersion(path: string, resources: readonly Resource[]): boolean {
  return resources.some((resource) => {
    const version = apiVersionOf(resource);
    return path.startsWith(version === "v1" ? "/api/v1/" : `/apis/${version}/`);
  });
}

type Documents = ReadonlyMap<string, JsonObject>;

const known = new WeakMap<readonly Resource[], Documents>();

/** The documents of discovery by path, built once for a list of resources. */
function documentsOf(resources: readonly Resource[]): Documents {
  const documents = known.get(resources) ?? newDocuments(resources);
  known.set(resources, documents);
  return documents;
}

function newDocuments(resources: readonly Resource[]): Documents {
  const names = new Set(resources.map(({ group }) => group).filter((group) => group !== ""));
  const groups = [...names].map((name) => groupOf(name, resources));
  return new Map([
    ["/api", { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] } as JsonObject],
    ["/apis", { kind: "APIGroupList", apiVersion: "v1", groups }],
    ["/version", VERSION],
    ...groups.map((group) => [`/apis/${group.name}`, { kind: "APIGroup", apiVersion: "v1", ...group }] as const),
    ...[...new Set(resources.map(apiVersionOf))].map(
      (version) => [version === "v1" ? "/api/v1" : `/apis/${version}`, listOf(version, resources)] as const,
    ),
  ]);
}

function groupOf(name: string, resources: readonly Resource[]): JsonObject & { name: string } {
  const own = resources.filter(({ group }) => group === name).map(({ version }) => version);
  const versions = [...new Set(own)].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] ?? null };
}

function listOf(apiVersion: string, served: readonly Resource[]): JsonObject {
  const resources = served.filter((resource) => apiVersionOf(resource) === apiVersion).flatMap(entriesOf);
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
