/** Sets capacity, allocatable and the identity of the machine. */
import type { AgentSettings } from "../agent.settings.ts";
import { type Devices, isProblem, type Machine } from "../machine-stats.ts";
import { type ResourceList, withStatus } from "../node-object.ts";
import { amountOf, isExtended, isHugePages, quantityText } from "../resource-quantity.ts";
import type { NodeEvent, Setter } from "./setter.ts";

/** Sets capacity, allocatable and the identity of the machine; emits the Event of a reboot once. */
export const setMachine: Setter = (node, { stats, settings, reported }) => {
  const { machine } = stats;
  const before = node.status?.capacity ?? {};
  if (isProblem(machine)) {
    const capacity = { ...before, cpu: "0", memory: "0", pods: String(settings.maxPods) };
    const allocatable = allocatableOf(capacity, node.status?.allocatable ?? {}, settings, {});
    return { node: withStatus(node, { capacity, allocatable }), problem: machine.problem };
  }
  const capacity = capacityOf(machine, before, settings);
  const allocatable = allocatableOf(capacity, node.status?.allocatable ?? {}, settings, machine.devices.allocatable);
  const { machineId: machineID, systemUuid: systemUUID, bootId: bootID } = machine;
  const bootBefore = node.status?.nodeInfo?.bootID ?? "";
  const rebooted = bootBefore !== "" && bootBefore !== bootID && !reported.reboot;
  const nodeInfo = { ...node.status?.nodeInfo, machineID, systemUUID, bootID };
  const events: NodeEvent[] = rebooted ? [rebootEvent(node.metadata.name, bootID)] : [];
  return { node: withStatus(node, { capacity, allocatable, nodeInfo }), events };
};

function rebootEvent(name: string, bootId: string): NodeEvent {
  return { type: "Warning", reason: "Rebooted", message: `Node ${name} has been rebooted, boot id: ${bootId}` };
}

function capacityOf(machine: Machine, before: ResourceList, settings: AgentSettings): ResourceList {
  const { maxPods, podsPerCore } = settings;
  const pods = podsPerCore > 0 ? Math.min(Math.floor(machine.cores) * podsPerCore, maxPods) : maxPods;
  const amounts: Record<string, number> = { cpu: machine.cores, memory: machine.memoryBytes, pods };
  if (machine.ephemeralStorageBytes !== null) amounts["ephemeral-storage"] = machine.ephemeralStorageBytes;
  for (const [size, bytes] of Object.entries(machine.hugePages)) amounts[`hugepages-${size}`] = bytes;
  return { ...before, ...textOf(amounts), ...devicesOf(machine.devices) };
}

function devicesOf(devices: Devices): ResourceList {
  return { ...devices.capacity, ...Object.fromEntries(devices.removed.map((resource) => [resource, "0"])) };
}

/**
 * Capacity less reservations, memory also less huge pages, at least 0; the values of device plugins take precedence.
 */
function allocatableOf(
  capacity: ResourceList,
  before: ResourceList,
  settings: AgentSettings,
  devices: ResourceList,
): ResourceList {
  const allocatable: Record<string, string> = {};
  for (const [resource, quantity] of Object.entries(before)) {
    if (resource in capacity || !isExtended(resource)) allocatable[resource] = quantity;
  }
  for (const [resource, quantity] of Object.entries(capacity)) {
    const reserved = reservationOf(resource, capacity, settings);
    allocatable[resource] = reserved === 0 ? quantity : less(resource, quantity, reserved);
  }
  Object.assign(allocatable, devices);
  const hugePages = Object.keys(capacity).filter(isHugePages);
  const inHugePages = hugePages.reduce((sum, resource) => sum + (amountOf(capacity[resource] ?? "0") ?? 0), 0);
  if (inHugePages > 0) allocatable.memory = less("memory", allocatable.memory ?? "0", inHugePages);
  return allocatable;
}

/** The configured reserve of a resource and its hard eviction threshold. */
function reservationOf(resource: string, capacity: ResourceList, settings: AgentSettings): number {
  const signal = { memory: "memory.available", "ephemeral-storage": "nodefs.available" }[resource];
  const threshold = settings.thresholds.find((each) => each.signal === signal);
  const reserved = amountOf(settings.reserved[resource] ?? "0") ?? 0;
  if (threshold === undefined) return reserved;
  if ("below" in threshold) return reserved + threshold.below;
  return reserved + Math.floor(threshold.belowFraction * (amountOf(capacity[resource] ?? "0") ?? 0));
}

function less(resource: string, quantity: string, reserved: number): string {
  return quantityText(resource, Math.max(0, (amountOf(quantity) ?? 0) - reserved));
}

function textOf(amounts: Readonly<Record<string, number>>): ResourceList {
  return Object.fromEntries(
    Object.entries(amounts).map(([resource, amount]) => [resource, quantityText(resource, amount)]),
  );
}
