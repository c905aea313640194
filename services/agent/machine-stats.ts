/** The port through which an agent measures its machine. host.stats.ts and the hollow nodes implement it. */
import type { ResourceList } from "./node-object.ts";

/** A failed measurement, and why it failed. */
export interface Problem {
  readonly problem: string;
}

/** Whether a measurement failed. */
export function isProblem<T extends object>(value: T | Problem): value is Problem {
  return "problem" in value;
}

/** Identity and hardware of the machine. */
export interface Machine {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly cores: number;
  readonly memoryBytes: number;
  /** Size of the file system of the pods' storage; null if unknown. */
  readonly ephemeralStorageBytes: number | null;
  /** Bytes by page size: `{"2Mi": 1073741824}`. */
  readonly hugePages: Readonly<Record<string, number>>;
  readonly devices: Devices;
}

/** Extended resources that device plugins offer. */
export interface Devices {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugin is gone. */
  readonly removed: readonly string[];
}

/** Versions of the software on the machine. */
export interface SystemVersion {
  readonly kernel: string;
  readonly osImage: string;
  /** `type://version` of the container runtime; null if it does not answer. */
  readonly runtime: string | null;
}

/** Addresses of the machine. */
export interface HostAddresses {
  /** Of all interfaces. */
  readonly local: readonly string[];
  /** What the node's name resolves to. */
  readonly resolved: readonly string[];
  /** The address of the interface with the default route. */
  readonly defaultRoute: string | null;
}

/** A container image on the machine. */
export interface ContainerImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  readonly sizeBytes: number;
}

/** The signals of kubelet's eviction thresholds. */
export const SIGNALS = ["memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available"] as const;
/** A signal of kubelet's eviction thresholds. */
export type Signal = (typeof SIGNALS)[number];

/** What is left of a capacity, in bytes, inodes or process ids. */
export interface Headroom {
  readonly available: number;
  readonly capacity: number;
}

/** All measurements of one moment. */
export interface MachineStats {
  readonly hostname: string;
  /** `linux`, as in kubernetes.io/os. */
  readonly operatingSystem: string;
  /** `amd64`, as in kubernetes.io/arch. */
  readonly architecture: string;
  readonly machine: Machine | Problem;
  readonly version: SystemVersion | Problem;
  readonly addresses: HostAddresses;
  readonly images: readonly ContainerImage[];
  /** A signal without a measurement is missing and counts as no pressure. */
  readonly headroom: Readonly<Partial<Record<Signal, Headroom>>>;
  /** Whether the machine was recreated, so that the extended resources of an existing node are obsolete. */
  readonly resetExtendedResources: boolean;
}

/** The result of a check of the container runtime; null means no problem. */
export interface RuntimeReport {
  readonly runtimeProblem: string | null;
  readonly networkProblem: string | null;
}

/** Source of measurements. Answers come later, each exactly once, never within the call. */
export interface MachineStatsSource {
  read(done: (stats: MachineStats) => void): void;
  /** Checks the container runtime; null if it does not answer (R9.20). */
  checkRuntime(done: (report: RuntimeReport | null) => void): void;
}
