/** Whether the sender of an HTTP request means this server, by the host name that it uses. Pure. */
import { isIP } from "node:net";

/** Name suffixes that public DNS does not have: no attacker outside the cluster can register a name under them. */
const PRIVATE_SUFFIXES: readonly string[] = [".localhost", ".internal", ".svc", ".cluster.local"];

const PORT = /:\d*$/;

/**
 * Whether a Host header names this server. It prevents DNS rebinding: a foreign page whose name resolves to this host
 * sends that public name. An address, a name without a dot and a name of the cluster pass, because no foreign site can
 * own one. `hosts` are the public names that the operator gave to the server. An absent header passes, because
 * browsers always send it.
 */
export function isOwnHost(header: string | undefined, hosts: readonly string[]): boolean {
  if (header === undefined) return true;
  const host = hostIn(header);
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0 || !host.includes(".")) return true;
  return PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix)) || hosts.some((name) => hostIn(name) === host);
}

function hostIn(header: string): string {
  return header.replace(PORT, "").toLowerCase().replace(/\.$/, "");
}
