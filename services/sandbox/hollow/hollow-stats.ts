/** The machine of a hollow node, as fixed values in place of what a kubelet measures. */
import type { Taint } from "../../../protocols/objects.ts";
import { fnv1a } from "../../../protocols/subjects.ts";
import { type AgentSettings, STANDARD_AGENT } from "../../agent/agent.settings.ts";
import type { ContainerImage, MachineStats } from "../../agent/machine-stats.ts";

/** A hollow node to start. Only the name is required. */
export interface HollowNodeSpec {
  readonly name: string;
  readonly zone?: string;
  readonly region?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** Pods to create once the node is registered. */
  readonly pods?: number;
  /** How many container images the node lists; by default none. */
  readonly images?: number;
}

const GIBIBYTE = 1024 ** 3;
const CORES = 8;
const MEMORY_BYTES = 32 * GIBIBYTE;
const STORAGE_BYTES = 100 * GIBIBYTE;
/** Each image is this much larger than the one before. */
const IMAGE_STEP_BYTES = 16 * 1024 ** 2;

/** The kubelet settings of a hollow node. */
export function hollowSettings(spec: HollowNodeSpec): AgentSettings {
  return {
    ...STANDARD_AGENT,
    nodeName: spec.name,
    zone: spec.zone ?? null,
    region: spec.region ?? null,
    labels: spec.labels ?? {},
    taints: spec.taints ?? [],
    nodeIps: [ipOf(spec)],
  };
}

/** The machine statistics of a hollow node. */
export function hollowStats(spec: HollowNodeSpec): MachineStats {
  const ip = ipOf(spec);
  return {
    hostname: spec.name,
    operatingSystem: "linux",
    architecture: "amd64",
    machine: {
      machineId: spec.name,
      systemUuid: spec.name,
      bootId: spec.name,
      cores: CORES,
      memoryBytes: MEMORY_BYTES,
      ephemeralStorageBytes: STORAGE_BYTES,
      hugePages: {},
      devices: { capacity: {}, allocatable: {}, removed: [] },
    },
    version: { kernel: "hollow", osImage: "Vigil hollow node", runtime: "hollow://0" },
    addresses: { local: [ip], resolved: [], defaultRoute: ip },
    images: Array.from({ length: spec.images ?? 0 }, (_, index) => imageOf(index)),
    headroom: {},
    resetExtendedResources: false,
  };
}

/** An image as a kubelet lists it: by digest and by tag. Every hollow node has pulled the same ones. */
function imageOf(index: number): ContainerImage {
  const repository = `registry.example.com/hollow/image-${index}`;
  const digest = fnv1a(repository).toString(16).padStart(8, "0").repeat(8);
  const sizeBytes = (index + 1) * IMAGE_STEP_BYTES;
  return { digests: [`${repository}@sha256:${digest}`], tags: [`${repository}:1.0.${index}`], sizeBytes };
}

/** An address in 10.0.0.0/8 whose last three octets are a hash of the name. */
function ipOf({ name }: HollowNodeSpec): string {
  const hash = fnv1a(name);
  return `10.${(hash >>> 16) & 255}.${(hash >>> 8) & 255}.${hash & 255}`;
}
