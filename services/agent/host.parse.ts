/** Reads the texts in which Linux tells of itself. Pure: it opens no file. */
import type { Headroom } from "./machine-stats.ts";
import { bytesText } from "./resource-quantity.ts";

/** How much memory there is, and how much of it could be had. */
export interface MemoryStats {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

const KIBIBYTE = 1024;

/**
 * Memory from /proc/meminfo; null when it does not tell. Available is what is free or holds file pages not used of
 * late: the capacity less the working set, as kubelet counts memory.available.
 */
export function meminfoBytes(text: string): MemoryStats | null {
  const amounts = new Map(
    [...text.matchAll(/^(\S+):\s+(\d+) kB$/gm)].map(([, name = "", amount]) => [name, Number(amount) * KIBIBYTE]),
  );
  const totalBytes = amounts.get("MemTotal");
  const freeBytes = amounts.get("MemFree");
  if (totalBytes === undefined || freeBytes === undefined) return null;
  return { totalBytes, availableBytes: freeBytes + (amounts.get("Inactive(file)") ?? 0) };
}

/** A folder of /sys/kernel/mm/hugepages as the page size it stands for; null for any other name. */
export function hugePageSize(folder: string): { folder: string; name: string; bytes: number } | null {
  const kibibytes = /^hugepages-(\d+)kB$/.exec(folder)?.[1];
  if (kibibytes === undefined) return null;
  const bytes = Number(kibibytes) * KIBIBYTE;
  return { folder, name: bytesText(bytes), bytes };
}

/** Process ids left, from pid_max, threads-max and the tasks counted in /proc/loadavg; null when they do not tell. */
export function pidHeadroom(pidMax: string, threadsMax: string, loadavg: string): Headroom | null {
  const tasks = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(loadavg)?.[1];
  const capacity = Math.min(...[pidMax, threadsMax].map(Number).filter((limit) => limit > 0));
  if (tasks === undefined || !Number.isFinite(capacity)) return null;
  return { available: capacity - Number(tasks), capacity };
}

/** An address of an interface, as the operating system tells it. */
export interface InterfaceAddress {
  readonly name: string;
  readonly address: string;
  readonly family: string;
}

/**
 * The address through which the machine reaches the world, from /proc/net/route and /proc/net/ipv6_route: one of the
 * interface with the default route and of that route's family, IPv4 before IPv6; null when there is none. Where no
 * route is told any interface will do. Link-local addresses lead nowhere.
 */
export function defaultRouteAddress(
  addresses: readonly InterfaceAddress[],
  routes: string,
  ipv6Routes: string,
): string | null {
  const byIpv4 = defaultRouteInterface(routes);
  const routed = byIpv4 ?? defaultIpv6RouteInterface(ipv6Routes);
  const usable = addresses.filter(
    ({ name, address }) => (routed === null || name === routed) && !/^(169\.254\.|fe[89ab])/i.test(address),
  );
  const family = byIpv4 === null && routed !== null ? "IPv6" : "IPv4";
  return (usable.find((each) => each.family === family) ?? usable[0])?.address ?? null;
}

/** The interface with the default route in /proc/net/route; null when there is none. */
function defaultRouteInterface(text: string): string | null {
  const routes = text.split("\n").map((line) => line.trim().split(/\s+/));
  return (
    routes.find(([, destination, , , , , , mask]) => destination === "00000000" && mask === "00000000")?.[0] ?? null
  );
}

/** The same in /proc/net/ipv6_route, where the loopback interface stands for routes that refuse. */
function defaultIpv6RouteInterface(text: string): string | null {
  const routes = text.split("\n").map((line) => line.trim().split(/\s+/));
  const isDefault = ([destination, prefix]: readonly string[]) => /^0{32}$/.test(destination ?? "") && prefix === "00";
  return routes.find((route) => isDefault(route) && route[9] !== "lo")?.[9] ?? null;
}

/** The name an operating system gives itself in /etc/os-release; null when it gives none. */
export function osImageOf(text: string): string | null {
  return /^PRETTY_NAME=(["']?)(.*)\1$/m.exec(text)?.[2] || null;
}
