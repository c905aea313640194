/** Whether a request may be answered: by the name it asks under, and by the token it carries. Pure. */
import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";

/** Paths that need no token: a kubelet's probes carry none. They tell nothing of nodes or pods. */
const PROBES: readonly string[] = ["/livez", "/healthz", "/readyz"];

/** Top-level names that public DNS does not have, so that nobody outside the cluster can point one of them at it. */
const PRIVATE_SUFFIXES: readonly string[] = [".localhost", ".svc", ".cluster.local"];

/** The last colon and what follows it, where that is a port. */
const PORT = /:\d*$/;

/** Whether a probe asks. */
export function isProbe(pathname: string): boolean {
  return PROBES.includes(pathname);
}

/**
 * Whether a Host header is one that only a client who means this console sends. A page of a foreign site whose name was
 * pointed at this address (DNS rebinding) sends that site's name: a public one. No foreign site has an address, a name
 * without a dot or a name of the cluster for its own. `hosts` are the public names that the operator gave to the
 * console. Browsers always send the header, so one that is absent is no danger.
 */
export function isOwnHost(header: string | undefined, hosts: readonly string[]): boolean {
  if (header === undefined) return true;
  const host = hostIn(header);
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0 || !host.includes(".")) return true;
  return PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix)) || hosts.some((name) => hostIn(name) === host);
}

/**
 * The token that an Authorization header carries: as a bearer token, or as the password of any user, because a browser
 * asks its user for that and then sends it with the event stream too. Empty for none.
 */
export function tokenIn(header: string | undefined): string {
  const [, scheme = "", credentials = ""] = /^(bearer|basic) +(\S+)$/i.exec(header ?? "") ?? [];
  return scheme.toLowerCase() === "basic" ? passwordIn(credentials) : credentials;
}

/** Whether an Authorization header carries this token. */
export function carriesToken(header: string | undefined, token: string): boolean {
  const given = tokenIn(header);
  // Digests have one length, and comparing them takes as long for a token that is nearly right.
  return timingSafeEqual(digestOf(given), digestOf(token));
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
