/** Access to the embedded API: a bearer token admits to everything. */
import { unauthorized } from "./api-status.ts";

/** The bearer token to accept; null admits every request. */
export type Access = string | null;

/** Paths that probes may request without a token. */
const OPEN_PATHS = ["/healthz", "/livez", "/readyz", "/version"];

/** Throws a 401 for an unknown token; `path` is "" for a resource. */
export function authenticate(access: Access, path: string, headers: Readonly<Record<string, string>>): void {
  if (access === null || OPEN_PATHS.includes(path)) return;
  if (/^Bearer\s+(\S+)$/i.exec(headers.authorization ?? "")?.[1] !== access) throw unauthorized();
}
