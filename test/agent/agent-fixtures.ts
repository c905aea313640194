/** Nodes, measurements and settings for the agent's tests: one healthy machine, to be varied. */
import { type AgentSettings, STANDARD_AGENT } from "../../services/agent/agent.settings.ts";
import type { Machine, MachineStats, MachineStatsSource } from "../../services/agent/machine-stats.ts";
import type { NodeCondition, NodeObject } from "../../services/agent/node-object.ts";
import type { SetterInput } from "../../services/agent/setters/setter.ts";

const NOW_MS = Date.UTC(2026, 0, 1, 12);
/** The instant of the tests. */
export const NOW = "2026-01-01T12:00:00Z";
/** An hour before. */
export const EARLIER = "2026-01-01T11:00:00Z";
/** Bytes of a gibibyte. */
export const GIBIBYTE = 1024 ** 3;

/** A machine of four cores. */
export const MACHINE: Machine = {
  machineId: "machine-1",
  systemUuid: "uuid-1",
  bootId: "boot-1",
  cores: 4,
  memoryBytes: 8 * GIBIBYTE,
  ephemeralStorageBytes: 100 * GIBIBYTE,
  hugePages: {},
  devices: { capacity: {}, allocatable: {}, removed: [] },
};

/** What is measured on it. */
export const STATS: MachineStats = {
  hostname: "host-1",
  operatingSystem: "linux",
  architecture: "amd64",
  machine: MACHINE,
  version: { kernel: "6.1.0", osImage: "Debian", runtime: "test://1" },
  addresses: { local: ["10.0.0.7"], resolved: [], defaultRoute: "10.0.0.7" },
  images: [],
  headroom: {},
  resetExtendedResources: false,
};

/** The standard settings of an agent, with changes. */
export function settingsOf(changes: Partial<AgentSettings> = {}): AgentSettings {
  return { ...STANDARD_AGENT, nodeName: "node-1", ...changes };
}

/** A setter's input for a healthy machine. */
export function inputOf(changes: Partial<SetterInput> = {}): SetterInput {
  return {
    stats: STATS,
    settings: settingsOf(),
    nowMs: NOW_MS,
    pressures: { memory: false, disk: false, pid: false },
    health: { runtime: [], network: [], shuttingDown: false },
    reported: { unschedulable: false, reboot: false },
    ...changes,
  };
}

/** A node object of that name, with changes. */
export function nodeOf(changes: Omit<NodeObject, "metadata"> & { metadata?: object } = {}): NodeObject {
  return { ...changes, metadata: { name: "node-1", ...changes.metadata } };
}

/** A condition of a node. */
export function conditionWith(type: string, status: string, changes: Partial<NodeCondition> = {}): NodeCondition {
  return {
    type,
    status,
    reason: "Because",
    message: "as it was",
    lastHeartbeatTime: EARLIER,
    lastTransitionTime: EARLIER,
    ...changes,
  };
}

/** Measurements that a test changes while an agent reads them. */
export class FakeStats implements MachineStatsSource {
  current: MachineStats;
  runtimeProblem: string | null = null;
  networkProblem: string | null = null;
  /** False makes the runtime answer nothing at all. */
  answers = true;
  readonly #soon: (run: () => void) => void;

  constructor(soon: (run: () => void) => void, stats: MachineStats = STATS) {
    this.#soon = soon;
    this.current = stats;
  }

  read(done: (stats: MachineStats) => void): void {
    this.#soon(() => done(this.current));
  }

  checkRuntime(done: Parameters<MachineStatsSource["checkRuntime"]>[0]): void {
    const { runtimeProblem, networkProblem } = this;
    this.#soon(() => done(this.answers ? { runtimeProblem, networkProblem } : null));
  }
}
