/** Sets the node's addresses, from the candidates among the measurements. */
import type { AgentSettings } from "../agent.settings.ts";
import type { HostAddresses } from "../machine-stats.ts";
import { type NodeAddress, withMetadata, withStatus } from "../node-object.ts";
import type { Setter } from "./setter.ts";

/** Passes the configured addresses to the cloud provider (R9.21). */
const PROVIDED_NODE_IP = "alpha.kubernetes.io/provided-node-ip";

/** Sets status.addresses and the provided-node-ip annotation. */
export const setAddresses: Setter = (node, { stats, settings }) => {
  const invalid = settings.nodeIps.map((ip) => faultOf(ip, stats.addresses.local)).find((fault) => fault !== null);
  if (invalid !== undefined) return { node, problem: invalid };
  const given = settings.externalCloudProvider && settings.nodeIps.length > 0;
  const annotated = given || node.metadata.annotations?.[PROVIDED_NODE_IP] !== undefined;
  const marked = annotated
    ? withMetadata(node, { annotations: { [PROVIDED_NODE_IP]: given ? settings.nodeIps.join(",") : null } })
    : node;
  const hostname: NodeAddress = { type: "Hostname", address: settings.hostname ?? stats.hostname };
  if (settings.externalCloudProvider) {
    if ((node.status?.addresses ?? []).length > 0) return { node: marked };
    if (!given) return { node: withStatus(marked, { addresses: [hostname] }) };
  }
  const ips = addressesOf(hostname.address, stats.addresses, settings);
  if (ips.length === 0) return { node: marked, problem: `can't get ip address of node ${node.metadata.name}` };
  const addresses = [...ips.map((address): NodeAddress => ({ type: "InternalIP", address })), hostname];
  return { node: withStatus(marked, { addresses }) };
};

function addressesOf(hostname: string, found: HostAddresses, settings: AgentSettings): readonly string[] {
  if (settings.nodeIps.length > 0) return settings.nodeIps;
  if (isAddress(hostname)) return [hostname];
  const usable = found.resolved.filter((ip) => faultOf(ip, found.local) === null);
  const preferred = usable.find((ip) => !ip.includes(":")) ?? usable[0] ?? found.defaultRoute;
  return preferred === null ? [] : [preferred];
}

function isAddress(text: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || text.includes(":");
}

function faultOf(ip: string, local: readonly string[]): string | null {
  const refuse = (why: string) => `nodeIP ${ip}: ${why}`;
  if (!isAddress(ip)) return refuse("not an IP address");
  if (ip.startsWith("127.") || ip === "::1") return refuse("can't be loopback address");
  if (/^(22[4-9]|23\d)\./.test(ip) || /^ff/i.test(ip)) return refuse("can't be a multicast address");
  if (ip.startsWith("169.254.") || /^fe[89ab]/i.test(ip)) return refuse("can't be a link-local unicast address");
  if (ip === "0.0.0.0" || ip === "::") return refuse("can't be an all zeros address");
  return local.includes(ip) ? null : refuse("not found in the host's network interfaces");
}
