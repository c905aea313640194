/** The machine setter: capacity, allocatable, identity and reboots. */
import { describe, expect, it } from "vitest";
import type { AgentSettings } from "../../services/agent/agent.settings.ts";
import type { Machine, MachineStats } from "../../services/agent/machine-stats.ts";
import type { NodeStatus } from "../../services/agent/node-object.ts";
import { setMachine } from "../../services/agent/setters/capacity.ts";
import { GIBIBYTE, inputOf, MACHINE, nodeOf, STATS, settingsOf } from "./agent-fixtures.ts";

const NO_THRESHOLDS: Partial<AgentSettings> = { thresholds: [] };

function set(machine: Partial<Machine>, settings: Partial<AgentSettings> = NO_THRESHOLDS, status: NodeStatus = {}) {
  const stats: MachineStats = { ...STATS, machine: { ...MACHINE, ...machine } };
  return setMachine(nodeOf({ status }), inputOf({ stats, settings: settingsOf(settings) }));
}

describe("the machine setter", () => {
  it("sets the capacity of the machine", () => {
    expect(set({}).node.status).toEqual({
      capacity: { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" },
      allocatable: { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" },
      nodeInfo: { machineID: "machine-1", systemUUID: "uuid-1", bootID: "boot-1" },
    });
  });

  it.each([
    [0, 110, "110"],
    [10, 110, "40"],
    [50, 110, "110"],
  ])("with %d pods per core and at most %d offers %s pods", (podsPerCore, maxPods, pods) => {
    expect(set({}, { podsPerCore, maxPods }).node.status?.capacity?.pods).toBe(pods);
  });

  it("offers only pods for an unreadable machine, keeps the rest", () => {
    const stats: MachineStats = { ...STATS, machine: { problem: "no /proc" } };
    const status = { capacity: { cpu: "4", "example.com/gpu": "1" } };
    const { node, problem } = setMachine(nodeOf({ status }), inputOf({ stats }));
    expect(node.status?.capacity).toEqual({ cpu: "0", memory: "0", pods: "110", "example.com/gpu": "1" });
    expect(problem).toBe("no /proc");
  });

  it("keeps reservations and thresholds from pods, never below 0", () => {
    const settings: Partial<AgentSettings> = {
      reserved: { cpu: "500m", memory: "1Gi", pods: "200" },
      thresholds: [
        { signal: "memory.available", below: GIBIBYTE },
        { signal: "nodefs.available", belowFraction: 0.1 },
      ],
    };
    expect(set({}, settings).node.status?.allocatable).toEqual({
      cpu: "3500m",
      memory: "6Gi",
      pods: "0",
      "ephemeral-storage": "90Gi",
    });
  });

  it("takes huge pages from allocatable memory, floored at 0", () => {
    const allocatable = (bytes: number) => set({ hugePages: { "2Mi": bytes } }).node.status?.allocatable;
    expect(allocatable(GIBIBYTE)).toMatchObject({ memory: "7Gi", "hugepages-2Mi": "1Gi" });
    expect(allocatable(9 * GIBIBYTE)).toMatchObject({ memory: "0", "hugepages-2Mi": "9Gi" });
  });

  it("takes devices from plugins, and 0 for one that is gone", () => {
    const devices = {
      capacity: { "example.com/gpu": "4" },
      allocatable: { "example.com/gpu": "3" },
      removed: ["example.com/fpga"],
    };
    const { node } = set({ devices }, NO_THRESHOLDS, { capacity: { "example.com/fpga": "2" } });
    expect(node.status?.capacity).toMatchObject({ "example.com/gpu": "4", "example.com/fpga": "0" });
    expect(node.status?.allocatable).toMatchObject({ "example.com/gpu": "3", "example.com/fpga": "0" });
  });

  it("drops allocatable extended resources without capacity", () => {
    const { node } = set({}, NO_THRESHOLDS, { allocatable: { "example.com/gpu": "1", "hugepages-2Mi": "0" } });
    expect(node.status?.allocatable).not.toHaveProperty("example.com/gpu");
    expect(node.status?.allocatable).toHaveProperty("hugepages-2Mi");
  });

  it.each([
    ["", false, 0],
    ["boot-1", false, 0],
    ["boot-0", false, 1],
    ["boot-0", true, 0],
  ])("after boot id %j, with a reboot reported %s, emits %d Events", (bootID, reboot, count) => {
    const node = nodeOf({ status: { nodeInfo: { bootID } } });
    const { events } = setMachine(node, inputOf({ reported: { unschedulable: false, reboot } }));
    const message = "Node node-1 has been rebooted, boot id: boot-1";
    expect(events).toEqual(Array.from({ length: count }, () => ({ type: "Warning", reason: "Rebooted", message })));
  });
});
