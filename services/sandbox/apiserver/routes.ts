/** Parses a request into its resource, verb and object. */
import type { HttpRequest } from "../../../protocols/ports.ts";
import type { ResourceCatalog } from "./resource-catalog.ts";
import type { Place } from "./resources.ts";

/** The verb of a request. */
export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  | "unsupported";

/** A parsed request for a resource: its namespace is "" for all of them, its name "" for the whole collection. */
export interface Call extends Place {
  readonly verb: Verb;
  /** `status`, `binding`, `eviction`, or "". */
  readonly subresource: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Any other request, such as discovery, a review of access, or an unknown path. */
export interface OtherCall {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

const NO_QUERY = new URLSearchParams();

/** Parses a request for one of the resources that are served now. */
export function readCall(request: HttpRequest, catalog: ResourceCatalog): Call | OtherCall {
  const mark = request.path.indexOf("?");
  const path = mark < 0 ? request.path : request.path.slice(0, mark);
  const { method, headers, body } = request;
  const other = { method, path, headers, body };
  const segments = path.split("/").filter((segment) => segment !== "");
  const place = readPlace(segments.map(decode), catalog);
  if (place === null) return other;
  const query = mark < 0 ? NO_QUERY : new URLSearchParams(request.path.slice(mark + 1));
  return { ...place, verb: verbOf(method, place.name, query), query, headers, body };
}

/** Whether a request is for a resource. */
export function isCall(call: Call | OtherCall): call is Call {
  return "resource" in call;
}

function readPlace(segments: readonly string[], catalog: ResourceCatalog): (Place & Pick<Call, "subresource">) | null {
  const isCore = segments[0] === "api";
  if (!isCore && segments[0] !== "apis") return null;
  const apiVersion = isCore ? segments[1] : `${segments[1]}/${segments[2]}`;
  const rest = segments.slice(isCore ? 2 : 3);
  if (apiVersion === undefined || rest.length === 0) return null;
  // `namespaces/x` is the namespace, `namespaces/x/pods` the pods in it; `namespaces/x/status` is a subresource.
  const inNamespace = rest[0] === "namespaces" && rest.length > 2 && catalog.at(apiVersion, rest[2] ?? "") !== null;
  const [plural = "", name = "", subresource = "", ...more] = inNamespace ? rest.slice(2) : rest;
  const resource = catalog.at(apiVersion, plural);
  if (resource === null || more.length > 0 || (inNamespace && !resource.namespaced)) return null;
  if (name !== "" && resource.namespaced && !inNamespace) return null;
  return { resource, namespace: inNamespace ? (rest[1] ?? "") : "", name, subresource };
}

function decode(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function verbOf(method: string, name: string, query: URLSearchParams): Verb {
  switch (method) {
    case "GET":
      // An object's own path cannot be watched, only a selector.
      if (name !== "") return "get";
      return query.size > 0 && ["true", "1"].includes(query.get("watch") ?? "") ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return name === "" ? "unsupported" : "update";
    case "PATCH":
      return name === "" ? "unsupported" : "patch";
    case "DELETE":
      return name === "" ? "deletecollection" : "delete";
    default:
      return "unsupported";
  }
}
