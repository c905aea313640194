/**
 * Access to the embedded API: bearer tokens with full or read-only rights. It imitates the responses of RBAC, not its
 * rules.
 */

import { forbidden, unauthorized } from "./api-status.ts";
import type { Call } from "./routes.ts";

/** The user that a token authenticates. */
export interface Identity {
  readonly user: string;
  /** Whether only get, list and watch are allowed. */
  readonly readOnly: boolean;
}

/** Identities by bearer token; null admits every request. */
export type Access = ReadonlyMap<string, Identity> | null;

/** Paths that probes may request without a token. */
const OPEN_PATHS = ["/healthz", "/livez", "/readyz", "/version"];

/** The identity of a request. Throws a 401 for an unknown token. */
export function identify(access: Access, path: string, headers: Readonly<Record<string, string>>): Identity | null {
  if (access === null || OPEN_PATHS.includes(path)) return null;
  const token = /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
  const identity = access.get(token);
  if (identity === undefined) throw unauthorized();
  return identity;
}

/** Throws a 403 for a write with read-only rights. */
export function authorize(identity: Identity | null, call: Call): void {
  if (identity === null || !identity.readOnly || ["get", "list", "watch"].includes(call.verb)) return;
  const { resource, namespace, name, subresource, verb } = call;
  const plural = subresource === "" ? resource.plural : `${resource.plural}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const why = `User "${identity.user}" cannot ${verb} resource "${plural}" in API group "${resource.group}" ${where}`;
  throw forbidden(resource, name, why);
}
