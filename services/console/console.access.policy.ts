/** Access checks on a request to the console: its path and the token it carries. Pure. */
import { createHash, timingSafeEqual } from "node:crypto";

/** Paths that need no token, because a kubelet's probes carry none. Their answers contain nothing of nodes or pods. */
const PROBES: readonly string[] = ["/livez", "/healthz", "/readyz"];

/** Whether a path is that of a probe. */
export function isProbe(pathname: string): boolean {
  return PROBES.includes(pathname);
}

/**
 * The token in an Authorization header: a bearer token, or the password of any user, which a browser prompts for and
 * sends with the event stream too. Empty for none.
 */
export function tokenIn(header: string | undefined): string {
  const [, scheme = "", credentials = ""] = /^(bearer|basic) +(\S+)$/i.exec(header ?? "") ?? [];
  return scheme.toLowerCase() === "basic" ? passwordIn(credentials) : credentials;
}

/** Whether an Authorization header carries this token. */
export function carriesToken(header: string | undefined, token: string): boolean {
  // timingSafeEqual requires values of equal length, which digests have.
  return timingSafeEqual(digestOf(tokenIn(header)), digestOf(token));
}

function passwordIn(credentials: string): string {
  const [, password = ""] = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials, "base64").toString("utf8")) ?? [];
  return password;
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
