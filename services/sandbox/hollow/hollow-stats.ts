/** The machine of a hollow node, as fixed values in place of what a kubelet measures. */
import type { Taint } from "../../../protocols/objects.ts";
import { fnv1a } from "../../../protocols/subjects.ts";
import { type AgentSettings, STANDARD_AGENT } from "../../agent/agent.settings.ts";
import type { MachineStats } from "../../agent/machine-stats.ts";

/** A hollow node to start. Only the name is required. */
export interface HollowNodeSpec {
  readonly name: string;
  readonly zone?: string;
  readonly region?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** Pods to create once the node is registered. */
  readonly pods?: number;
}

const GIBIBYTE = 1024 ** 3;
const CORES = 8;
const MEMORY_BYTES = 32 * GIBIBYTE;
const STORAGE_BYTES = 100 * GIBIBYTE;

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
    images: [],
    headroom: {},
    volumesInUse: null,
    resetExtendedResources: false,
  };
}

/** An address in 10.0.0.0/8 whose last three octets are a hash of the name. */
function ipOf({ name }: HollowNodeSpec): string {
  const hash = fnv1a(name);
  return `10.${(hash >>> 16) & 255}.${(hash >>> 8) & 255}.${hash & 255}`;
}
