/** The HTTP requests of writes, and in which version of the Eviction API a server accepts evictions. */
import type { HttpRequest, WriteRequest } from "../../../../protocols/ports.ts";
import { listOf, parsed, recordOf, textOf } from "../../../structures/json.ts";
import type { Answer } from "../transport/call.ts";
import { collectionPathOf, objectPath } from "../transport/paths.ts";
import type { DeleteOptionsBody, EvictionBody } from "./sent-bodies.ts";

/** The media type of JSON. */
export const JSON_TYPE = "application/json";
/** Everything but the storage: authorization, schema, defaults and admission. */
const DRY_RUN = "?dryRun=All";
const PATCH_TYPE = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
} as const;

/** The HTTP request of a write that is sent now; null for one that is not to be sent any more. */
export function httpRequestOf(request: Exclude<WriteRequest, EvictionRequest>): HttpRequest | null {
  const { ref, subresource } = request;
  const path = subresource === undefined ? objectPath(ref) : `${objectPath(ref)}/${subresource}`;
  switch (request.verb) {
    case "create":
      return httpRequest("POST", `${collectionPathOf(ref)}${request.isDryRun ? DRY_RUN : ""}`, JSON_TYPE, request.body);
    case "update":
      return httpRequest("PUT", path, JSON_TYPE, request.body);
    case "patch": {
      const body = "bodyAtSend" in request ? request.bodyAtSend() : request.body;
      return body === null ? null : httpRequest("PATCH", path, PATCH_TYPE[request.patch], body);
    }
    case "delete":
      return httpRequest("DELETE", path, JSON_TYPE, deleteOptions(request));
  }
}

/** A request with a JSON body. */
export function httpRequest(method: string, path: string, type: string, body: unknown): HttpRequest {
  return { method, path, headers: { accept: JSON_TYPE, "content-type": type }, body: JSON.stringify(body) };
}

/** `JSON.stringify` leaves undefined fields out. */
function deleteOptions(request: Extract<WriteRequest, { verb: "delete" }>): DeleteOptionsBody {
  const { uid, resourceVersion, gracePeriodSeconds } = request;
  const isAny = uid === undefined && resourceVersion === undefined;
  const preconditions = isAny ? undefined : { uid, resourceVersion };
  return { kind: "DeleteOptions", apiVersion: "v1", preconditions, gracePeriodSeconds };
}

/** The request for an eviction. */
export type EvictionRequest = Extract<WriteRequest, { readonly verb: "evict" }>;

/** Where a server says which version of the Eviction API it has: `policy/v1beta1` before Kubernetes 1.22. */
export const EVICTION_DISCOVERY_PATH = "/api/v1";

/** The apiVersion of an Eviction by that document; null when the server has none or did not answer. */
export function evictionVersionOf(answer: Answer): string | null {
  if (answer.kind === "lost" || answer.status !== 200) return null;
  const resources = listOf(recordOf(parsed(answer.text)).resources).map(recordOf);
  const eviction = resources.find(({ name }) => name === "pods/eviction");
  const version = textOf(eviction?.version);
  return version === null ? null : `${textOf(eviction?.group) ?? "policy"}/${version}`;
}

/** The HTTP request of an eviction. */
export function evictionRequest({ ref, uid, resourceVersion }: EvictionRequest, apiVersion: string): HttpRequest {
  const { namespace, name } = ref;
  const deleteOptions = { preconditions: { uid, resourceVersion } };
  const body: EvictionBody = { apiVersion, kind: "Eviction", metadata: { namespace, name }, deleteOptions };
  return httpRequest("POST", `${objectPath(ref)}/eviction`, JSON_TYPE, body);
}
