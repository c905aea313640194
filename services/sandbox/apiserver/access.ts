/** Who may do what: bearer tokens, all powerful or read-only. The real server's RBAC is not here, only its answers. */

import { forbidden, unauthorized } from "./api-status.ts";
import type { Call } from "./routes.ts";

/** Someone a token stands for. */
export interface Identity {
  readonly user: string;
  /** Whether get, list and watch are all that is granted. */
  readonly readOnly: boolean;
}

/** Identities by bearer token; null lets everyone in. */
export type Access = ReadonlyMap<string, Identity> | null;

/** Paths that probes may ask without a token. */
const OPEN_PATHS = ["/healthz", "/livez", "/readyz", "/version"];

/** Refuses a request whose token is unknown with a 401. */
export function identify(access: Access, path: string, headers: Readonly<Record<string, string>>): Identity | null {
  if (access === null || OPEN_PATHS.includes(path)) return null;
  const token = /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
  const identity = access.get(token);
  if (identity === undefined) throw unauthorized();
  return identity;
}

/** Refuses a write by someone who may only read with a 403. */
export function authorize(identity: Identity | null, call: Call): void {
  if (identity === null || !identity.readOnly || ["get", "list", "watch"].includes(call.verb)) return;
  const { resource, namespace, name, subresource, verb } = call;
  const plural = subresource === "" ? resource.plural : `${resource.plural}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const why = `User "${identity.user}" cannot ${verb} resource "${plural}" in API group "${resource.group}" ${where}`;
  throw forbidden(resource, name, why);
}
