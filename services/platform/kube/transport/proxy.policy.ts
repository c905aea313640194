/**
 * Decides which proxy of the environment leads to a server, as Go does for kubectl. Node itself supports neither
 * address ranges nor subdomains in NO_PROXY.
 */
import { BlockList, isIP } from "node:net";

/** The environment's proxy variables. */
export type ProxyVariables = Readonly<Record<string, string | undefined>>;

const NAME_AND_PORT = /^(?<name>\[.*\]|[^:]*)(?::(?<only>\d+))?$/;
const PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** The proxy's address; null for a direct connection. Throws a one-line Error for a bad one. */
export function proxyOf(server: URL, variables: ProxyVariables): string | null {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = variableOf(variables, name);
  if (proxy === null || isDirect(server, variableOf(variables, "NO_PROXY") ?? "")) return null;
  const address = proxy.includes("://") ? proxy : `http://${proxy}`;
  if (/^https?:/i.test(address) && URL.canParse(address)) return address;
  const fix = `give such a one, or name ${server.host} in NO_PROXY`;
  throw new Error(`${name} "${withoutPassword(address)}" is not an http or https URL: ${fix}`);
}

/** A proxy's address without the user and password it may contain. */
export function withoutPassword(address: string): string {
  return address.replace(/\/\/.*@/, "//***@");
}

/** The upper-case spelling takes precedence, unless it is empty. */
function variableOf(variables: ProxyVariables, name: string): string | null {
  return variables[name] || variables[name.toLowerCase()] || null;
}

/** Connections to this machine never use a proxy. */
function isDirect(server: URL, exceptions: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, "");
  const port = server.port || (PORTS[server.protocol] ?? "");
  if (host === "localhost" || isWithin(host, "127.0.0.0/8") || isWithin(host, "::1/128")) return true;
  const excepted = exceptions.toLowerCase().split(",");
  return excepted.some((exception) => isExcepted(host, port, exception.trim()));
}

function isExcepted(host: string, port: string, exception: string): boolean {
  if (exception === "*" || isWithin(host, exception)) return true;
  const parts = isIP(exception) > 0 ? { name: exception } : NAME_AND_PORT.exec(exception)?.groups;
  const { name = "", only = port }: { readonly name?: string; readonly only?: string } = parts ?? {};
  if (name === "" || only !== port) return false;
  const plain = name.replace(/^\[|\]$/g, "");
  if (isIP(plain) > 0) return isWithin(host, `${plain}/${isIP(plain) === 6 ? 128 : 32}`);
  const domain = plain.replace(/^\*/, "");
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** Whether an address is in a range such as `10.96.0.0/12`; a name is in none. */
function isWithin(host: string, range: string): boolean {
  const [network = "", prefix = ""] = range.split("/");
  const version = isIP(network);
  if (version === 0 || !/^\d+$/.test(prefix) || Number(prefix) > (version === 6 ? 128 : 32)) return false;
  if (isIP(host) !== version) return false;
  const family = version === 6 ? "ipv6" : "ipv4";
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), family);
  return list.check(host, family);
}
