/** Parses Linux's /proc, /sys and /etc texts. It opens no file. */
import type { Headroom } from "./machine-stats.ts";
import { bytesText } from "./resource-quantity.ts";

/** Total and available memory. */
export interface MemoryStats {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

const KIBIBYTE = 1024;

/**
 * Memory from /proc/meminfo; null if missing there. Available is free memory and inactive file pages: the capacity less
 * the working set, as kubelet computes memory.available.
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

/** The page size of a folder of /sys/kernel/mm/hugepages; null for another name. */
export function hugePageSize(folder: string): { folder: string; name: string; bytes: number } | null {
  const kibibytes = /^hugepages-(\d+)kB$/.exec(folder)?.[1];
  if (kibibytes === undefined) return null;
  const bytes = Number(kibibytes) * KIBIBYTE;
  return { folder, name: bytesText(bytes), bytes };
}

/** Process ids left, from pid_max, threads-max and the tasks in /proc/loadavg; null if these are missing. */
export function pidHeadroom(pidMax: string, threadsMax: string, loadavg: string): Headroom | null {
  const tasks = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(loadavg)?.[1];
  const capacity = Math.min(...[pidMax, threadsMax].map(Number).filter((limit) => limit > 0));
  if (tasks === undefined || !Number.isFinite(capacity)) return null;
  return { available: capacity - Number(tasks), capacity };
}

/** An address of a network interface. */
export interface InterfaceAddress {
  readonly name: string;
  readonly address: string;
  readonly family: string;
}

/**
 * The address of the default route, from /proc/net/route and /proc/net/ipv6_route: an address of its interface and
 * family, IPv4 before IPv6, or of any interface without a default route. Link-local addresses do not count. Null if
 * there is none.
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

function defaultRouteInterface(text: string): string | null {
  const routes = text.split("\n").map((line) => line.trim().split(/\s+/));
  return (
    routes.find(([, destination, , , , , , mask]) => destination === "00000000" && mask === "00000000")?.[0] ?? null
  );
}

/** In ipv6_route, routes of the loopback interface reject packets. */
function defaultIpv6RouteInterface(text: string): string | null {
  const routes = text.split("\n").map((line) => line.trim().split(/\s+/));
  const isDefault = ([destination, prefix]: readonly string[]) => /^0{32}$/.test(destination ?? "") && prefix === "00";
  return routes.find((route) => isDefault(route) && route[9] !== "lo")?.[9] ?? null;
}

/** PRETTY_NAME of /etc/os-release; null if missing. */
export function osImageOf(text: string): string | null {
  return /^PRETTY_NAME=(["']?)(.*)\1$/m.exec(text)?.[2] || null;
}
