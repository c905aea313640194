/** Access checks on a request to the console: the host name it uses and the token it carries. Pure. */
import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";

/** Paths that need no token, because a kubelet's probes carry none. Their answers contain nothing of nodes or pods. */
const PROBES: readonly string[] = ["/livez", "/healthz", "/readyz"];

/** Name suffixes that public DNS does not have: nobody outside the cluster can register a name under them. */
const PRIVATE_SUFFIXES: readonly string[] = [".localhost", ".svc", ".cluster.local"];

const PORT = /:\d*$/;

/** Whether a path is that of a probe. */
export function isProbe(pathname: string): boolean {
  return PROBES.includes(pathname);
}

/**
 * Whether a Host header names this console. It prevents DNS rebinding: a foreign page whose name resolves to this host
 * sends that public name. An address, a name without a dot and a name of the cluster pass, because no foreign site can
 * own one. `hosts` are the public names that the operator gave to the console. An absent header passes, because
 * browsers always send it.
 */
export function isOwnHost(header: string | undefined, hosts: readonly string[]): boolean {
  if (header === undefined) return true;
  const host = hostIn(header);
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0 || !host.includes(".")) return true;
  return PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix)) || hosts.some((name) => hostIn(name) === host);
}

/**
 * The token in an Authorization header: a bearer token, or the password of any user, which a browser asks for and sends
 * with the event stream too. Empty for none.
 */
export function tokenIn(header: string | undefined): string {
  const [, scheme = "", credentials = ""] = /^(bearer|basic) +(\S+)$/i.exec(header ?? "") ?? [];
  return scheme.toLowerCase() === "basic" ? passwordIn(credentials) : credentials;
}

/** Whether an Authorization header carries this token. */
export function carriesToken(header: string | undefined, token: string): boolean {
  // timingSafeEqual takes values of one length only, hence the digests.
  return timingSafeEqual(digestOf(tokenIn(header)), digestOf(token));
}

function hostIn(header: string): string {
  return header.replace(PORT, "").toLowerCase().replace(/\.$/, "");
}

function passwordIn(credentials: string): string {
  const [, password = ""] = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials, "base64").toString("utf8")) ?? [];
  return password;
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
