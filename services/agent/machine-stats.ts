/**
 * The port through which a kubelet learns about its machine. The real machine and made-up ones are adapters elsewhere.
 */
import type { ResourceList } from "./node-object.ts";

/** A figure that could not be had, and why. */
export interface Problem {
  readonly problem: string;
}

/** Whether a figure could not be had. */
export function isProblem<T extends object>(value: T | Problem): value is Problem {
  return "problem" in value;
}

/** What the machine has. */
export interface Machine {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly cores: number;
  readonly memoryBytes: number;
  /** Size of the file system that holds pods' storage; null when it is not known. */
  readonly ephemeralStorageBytes: number | null;
  /** Bytes by page size: `{"2Mi": 1073741824}`. */
  readonly hugePages: Readonly<Record<string, number>>;
  readonly devices: Devices;
}

/** Extended resources that device plugins offer. */
export interface Devices {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugin has left. */
  readonly removed: readonly string[];
}

/** What runs on the machine. */
export interface SystemVersion {
  readonly kernel: string;
  readonly osImage: string;
  /** `type://version` of the container runtime; null when it could not be asked. */
  readonly runtime: string | null;
}

/** Where the machine can be reached. */
export interface HostAddresses {
  /** Addresses of all interfaces. */
  readonly local: readonly string[];
  /** What the node's name resolves to. */
  readonly resolved: readonly string[];
  /** The address of the interface with the default route. */
  readonly defaultRoute: string | null;
}

/** A container image kept on the machine. */
export interface ContainerImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  readonly sizeBytes: number;
}

/** The signals of kubelet's eviction thresholds. */
export const SIGNALS = ["memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available"] as const;
/** A signal of kubelet's eviction thresholds. */
export type Signal = (typeof SIGNALS)[number];

/** How much is left of something, and of how much; bytes, inodes or process ids. */
export interface Headroom {
  readonly available: number;
  readonly capacity: number;
}

/** All that a kubelet knows of its machine at one moment. */
export interface MachineStats {
  readonly hostname: string;
  /** `linux`, as in kubernetes.io/os. */
  readonly operatingSystem: string;
  /** `amd64`, as in kubernetes.io/arch. */
  readonly architecture: string;
  readonly machine: Machine | Problem;
  readonly version: SystemVersion | Problem;
  readonly addresses: HostAddresses;
  readonly images: readonly ContainerImage[] | Problem;
  /** A signal that could not be measured is missing, and shows no pressure. */
  readonly headroom: Readonly<Partial<Record<Signal, Headroom>>>;
  /** Volumes attached and in use; null until that is known. */
  readonly volumesInUse: readonly string[] | null;
  /** Whether the extended resources of a node met at registration are from before the machine was made anew (9.5). */
  readonly resetExtendedResources: boolean;
}

/** What a check of the container runtime found; null where all is well. */
export interface RuntimeReport {
  readonly runtimeProblem: string | null;
  readonly networkProblem: string | null;
}

/** Where figures come from. Answers come later, each exactly once, never within the call. */
export interface MachineStatsSource {
  read(done: (stats: MachineStats) => void): void;
  /** Asks the container runtime how it is; null when it does not answer (R9.20). */
  checkRuntime(done: (report: RuntimeReport | null) => void): void;
}
