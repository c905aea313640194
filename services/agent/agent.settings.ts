/** The agent's settings with kubelet's defaults. services/cli reads the flags. */
import type { Taint } from "../../protocols/objects.ts";
import type { Signal } from "./machine-stats.ts";
import type { ResourceList } from "./node-object.ts";

/** A signal means pressure below an amount, or below a fraction of the capacity. */
export type Threshold = { readonly signal: Signal } & ({ readonly below: number } | { readonly belowFraction: number });

/** All settings of an agent. Durations in milliseconds. */
export interface AgentSettings {
  readonly nodeName: string;
  /** Overrides the machine's hostname. */
  readonly hostname: string | null;
  /** One address, or one of each family. */
  readonly nodeIps: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly zone: string | null;
  readonly region: string | null;
  readonly instanceType: string | null;
  readonly providerId: string | null;
  readonly registerNode: boolean;
  readonly externalCloudProvider: boolean;
  readonly maxPods: number;
  /** 0 means that only maxPods counts. */
  readonly podsPerCore: number;
  /** Reserved for the system: allocatable is the capacity less this. */
  readonly reserved: ResourceList;
  readonly thresholds: readonly Threshold[];
  /** How long a pressure condition stays True after the pressure ends. */
  readonly pressureTransitionMs: number;
  readonly kubeletVersion: string;
  readonly statusComputeMs: number;
  readonly statusReportMs: number;
  readonly leaseSeconds: number;
  readonly runtimeCheckMs: number;
  readonly runtimeDownMs: number;
  /** First pause between attempts to register; doubles. */
  readonly registerFirstMs: number;
  readonly registerMaxMs: number;
  /** Period of the status checks while a new node is not ready, and how long they continue. */
  readonly fastStatusMs: number;
  readonly fastStatusLimitMs: number;
  readonly deleteLeaseOnStop: boolean;
}

const MEBIBYTE = 1024 * 1024;

/** kubelet's defaults. The thresholds are its eviction-hard; the one of process ids is Vigil's. */
export const STANDARD_AGENT: Omit<AgentSettings, "nodeName"> = {
  hostname: null,
  nodeIps: [],
  labels: {},
  taints: [],
  zone: null,
  region: null,
  instanceType: null,
  providerId: null,
  registerNode: true,
  externalCloudProvider: false,
  maxPods: 110,
  podsPerCore: 0,
  reserved: {},
  thresholds: [
    { signal: "memory.available", below: 100 * MEBIBYTE },
    { signal: "nodefs.available", belowFraction: 0.1 },
    { signal: "nodefs.inodesFree", belowFraction: 0.05 },
    { signal: "pid.available", belowFraction: 0.1 },
  ],
  pressureTransitionMs: 300_000,
  kubeletVersion: "v1.36.0-vigil",
  statusComputeMs: 10_000,
  statusReportMs: 300_000,
  leaseSeconds: 40,
  runtimeCheckMs: 5_000,
  runtimeDownMs: 30_000,
  registerFirstMs: 100,
  registerMaxMs: 7_000,
  fastStatusMs: 100,
  fastStatusLimitMs: 120_000,
  deleteLeaseOnStop: false,
};
