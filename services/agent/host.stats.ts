/** Measurements of the machine this process runs on, from files and the operating system. */
import { lookup } from "node:dns/promises";
import { readdir, readFile, statfs } from "node:fs/promises";
import {
  arch,
  availableParallelism,
  cpus,
  freemem,
  hostname,
  networkInterfaces,
  platform,
  release,
  totalmem,
} from "node:os";
import type { Clock } from "../../protocols/ports.ts";
import {
  defaultRouteAddress,
  hugePageSize,
  type MemoryStats,
  meminfoBytes,
  osImageOf,
  pidHeadroom,
} from "./host.parse.ts";
import type { HostAddresses, Machine, MachineStats, MachineStatsSource, Problem, Signal } from "./machine-stats.ts";

/** How this machine is read. */
export interface HostStatsOptions {
  readonly clock: Clock;
  /** Name to resolve for the node's address; null if addresses are given. */
  readonly resolve: string | null;
  /** A path on the file system that holds pods' storage. */
  readonly storagePath: string;
  /** `type://version` of the container runtime. */
  readonly runtime: string;
}

/** How long an answer of the name service is cached. */
const RESOLVED_FOR_MS = 60_000;
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" };
const PLATFORMS: Readonly<Record<string, string>> = { win32: "windows" };
const HUGE_PAGES = "/sys/kernel/mm/hugepages";

/** This machine, measured at each read. There is no container runtime, so its check always succeeds. */
export function hostStats(options: HostStatsOptions): MachineStatsSource {
  const resolved = resolver(options);
  return {
    read: (done) => {
      readStats(options, resolved).then(done, (error: unknown) => done(statsWithout(String(error))));
    },
    checkRuntime: (done) => options.clock.soon(() => done({ runtimeProblem: null, networkProblem: null })),
  };
}

async function readStats(options: HostStatsOptions, resolved: () => Promise<readonly string[]>): Promise<MachineStats> {
  const [memory, storage, pids, osRelease] = await Promise.all([
    readMemory(),
    storageOf(options.storagePath),
    readPids(),
    textOf("/etc/os-release"),
  ]);
  const headroom: MachineStats["headroom"] = {
    "memory.available": { available: memory.availableBytes, capacity: memory.totalBytes },
    ...storage?.headroom,
    ...(pids !== null && { "pid.available": pids }),
  };
  return {
    ...BASE,
    hostname: hostname().trim().toLowerCase(),
    machine: await readMachine(memory, storage?.bytes ?? null),
    version: { kernel: release(), osImage: osImageOf(osRelease) ?? platform(), runtime: options.runtime },
    addresses: await readAddresses(await resolved()),
    headroom,
  };
}

const BASE = {
  operatingSystem: PLATFORMS[platform()] ?? platform(),
  architecture: ARCHITECTURES[arch()] ?? arch(),
  images: [],
  resetExtendedResources: false,
} as const;

function statsWithout(problem: string): MachineStats {
  const missing: Problem = { problem };
  const addresses = { local: [], resolved: [], defaultRoute: null };
  return { ...BASE, hostname: hostname(), machine: missing, version: missing, addresses, headroom: {} };
}

async function readMachine(memory: MemoryStats, ephemeralStorageBytes: number | null): Promise<Machine> {
  const [machineId, productUuid, bootId, hugePages] = await Promise.all([
    firstTextOf("/etc/machine-id", "/var/lib/dbus/machine-id"),
    firstTextOf("/sys/class/dmi/id/product_uuid", "/proc/device-tree/vm,uuid"),
    firstTextOf("/proc/sys/kernel/random/boot_id"),
    readHugePages(),
  ]);
  return {
    machineId,
    systemUuid: productUuid === "" ? machineId : productUuid,
    bootId,
    // cpus() is empty without /proc, and a node without cores could run no pods.
    cores: cpus().length || availableParallelism(),
    memoryBytes: memory.totalBytes,
    ephemeralStorageBytes,
    hugePages,
    devices: { capacity: {}, allocatable: {}, removed: [] },
  };
}

async function readMemory(): Promise<MemoryStats> {
  const meminfo = meminfoBytes(await textOf("/proc/meminfo"));
  return meminfo ?? { totalBytes: totalmem(), availableBytes: freemem() };
}

async function readHugePages(): Promise<Record<string, number>> {
  const folders = await readdir(HUGE_PAGES).catch(() => []);
  const sizes = folders.map(hugePageSize).filter((size) => size !== null);
  const entries = sizes.map(async ({ folder, name, bytes }): Promise<[string, number]> => {
    const count = Number(await textOf(`${HUGE_PAGES}/${folder}/nr_hugepages`));
    return [name, count * bytes];
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function storageOf(path: string): Promise<{ bytes: number; headroom: MachineStats["headroom"] } | null> {
  const stats = await statfs(path).catch(() => null);
  if (stats === null) return null;
  const bytes = stats.blocks * stats.bsize;
  const headroom: Partial<Record<Signal, { available: number; capacity: number }>> = {
    "nodefs.available": { available: stats.bavail * stats.bsize, capacity: bytes },
  };
  // A file system that allocates inodes on demand reports none.
  if (stats.files > 0) headroom["nodefs.inodesFree"] = { available: stats.ffree, capacity: stats.files };
  return { bytes, headroom };
}

async function readPids() {
  const kernel = "/proc/sys/kernel";
  const texts = [`${kernel}/pid_max`, `${kernel}/threads-max`, "/proc/loadavg"].map(textOf);
  const [pidMax = "", threadsMax = "", loadavg = ""] = await Promise.all(texts);
  return pidHeadroom(pidMax, threadsMax, loadavg);
}

async function readAddresses(resolved: readonly string[]): Promise<HostAddresses> {
  const interfaces = networkInterfaces();
  const usable = Object.entries(interfaces).flatMap(([name, entries = []]) =>
    entries.filter(({ internal }) => !internal).map(({ address, family }) => ({ name, address, family })),
  );
  const routes = await Promise.all(["/proc/net/route", "/proc/net/ipv6_route"].map(textOf));
  const [ipv4Routes = "", ipv6Routes = ""] = routes;
  const defaultRoute = defaultRouteAddress(usable, ipv4Routes, ipv6Routes);
  return { local: usable.map(({ address }) => address), resolved, defaultRoute };
}

/** Resolves at most once a minute; a name without an answer has no addresses. */
function resolver({ clock, resolve }: HostStatsOptions): () => Promise<readonly string[]> {
  let answer: Promise<readonly string[]> = Promise.resolve([]);
  let askedMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (resolve === null || clock.monotonicMs() - askedMs < RESOLVED_FOR_MS) return answer;
    askedMs = clock.monotonicMs();
    answer = lookup(resolve, { all: true }).then(
      (found) => found.map(({ address }) => address),
      () => [],
    );
    return answer;
  };
}

async function textOf(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(() => "");
}

async function firstTextOf(...paths: string[]): Promise<string> {
  const texts = await Promise.all(paths.map(textOf));
  return texts.map((text) => text.replaceAll("\0", "").trim()).find((text) => text !== "") ?? "";
}
