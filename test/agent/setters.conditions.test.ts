/** The condition setters: pressures and Ready, with their texts, times and Events. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { conditionOf } from "../../services/agent/node-object.ts";
import { setDiskPressure, setMemoryPressure, setPidPressure } from "../../services/agent/setters/pressure.ts";
import { setReady } from "../../services/agent/setters/ready.ts";
import type { Health } from "../../services/agent/setters/setter.ts";
import { conditionWith, EARLIER, inputOf, NOW, nodeOf } from "./agent-fixtures.ts";

const WELL: Health = { runtime: [], network: [], shuttingDown: false };
const CAPACITY = { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" };

const PRESSURES = [
  {
    type: "MemoryPressure",
    resource: "memory",
    setter: setMemoryPressure,
    pressed: ["KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"],
    free: ["KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"],
  },
  {
    type: "DiskPressure",
    resource: "disk",
    setter: setDiskPressure,
    pressed: ["KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"],
    free: ["KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"],
  },
  {
    type: "PIDPressure",
    resource: "pid",
    setter: setPidPressure,
    pressed: ["KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"],
    free: ["KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"],
  },
] as const;

describe.each(PRESSURES)("$type", ({ type, resource, setter, pressed, free }) => {
  const pressures = { memory: false, disk: false, pid: false };

  it.each([
    { before: undefined, under: true },
    { before: undefined, under: false },
    { before: "Unknown", under: true },
    { before: "Unknown", under: false },
    { before: "True", under: false },
    { before: "False", under: true },
  ])("goes from $before to pressure $under with texts, transition and Event", ({ before, under }) => {
    const conditions = before === undefined ? [] : [conditionWith(type, before)];
    const { node, events } = setter(
      nodeOf({ status: { conditions } }),
      inputOf({ pressures: { ...pressures, [resource]: under } }),
    );
    const [reason, message, event] = under ? pressed : free;
    expect(conditionOf(node, type)).toEqual({
      type,
      status: under ? "True" : "False",
      reason,
      message,
      lastHeartbeatTime: NOW,
      lastTransitionTime: NOW,
    });
    expect(events).toEqual([{ type: "Normal", reason: event, message: `Node node-1 status is now: ${event}` }]);
  });

  it.each([true, false])("keeps an old reason while pressure stays %s; only its heartbeat is new", (under) => {
    const before = conditionWith(type, under ? "True" : "False");
    const { node, events } = setter(
      nodeOf({ status: { conditions: [before] } }),
      inputOf({ pressures: { ...pressures, [resource]: under } }),
    );
    expect(conditionOf(node, type)).toEqual({ ...before, lastHeartbeatTime: NOW });
    expect(events ?? []).toEqual([]);
  });
});

describe("Ready", () => {
  it.each<[string, Partial<Health>, string]>([
    ["one problem verbatim", { runtime: ["PLEG is not healthy: late"] }, "PLEG is not healthy: late"],
    [
      "problems in kubelet's order",
      {
        network: ["network state unknown"],
        runtime: ["container runtime is down"],
        shuttingDown: true,
      },
      "[container runtime is down, network state unknown, node is shutting down]",
    ],
    ["the same problem once", { runtime: ["x"], network: ["x"] }, "x"],
  ])("reports %s", (_, health, message) => {
    const { node } = setReady(nodeOf({ status: { capacity: CAPACITY } }), inputOf({ health: { ...WELL, ...health } }));
    expect(conditionOf(node, "Ready")).toMatchObject({ status: "False", reason: "KubeletNotReady", message });
  });

  it("is True with kubelet's message without problems", () => {
    const { node } = setReady(nodeOf({ status: { capacity: CAPACITY } }), inputOf());
    expect(conditionOf(node, "Ready")).toMatchObject({
      status: "True",
      reason: "KubeletReady",
      message: "kubelet is posting ready status",
    });
  });

  it("names every missing capacity", () => {
    const { node } = setReady(nodeOf({ status: { capacity: { cpu: "1" } } }), inputOf());
    const message = "missing node capacity for resources: memory, pods, ephemeral-storage";
    expect(conditionOf(node, "Ready")?.message).toBe(message);
  });

  it("starts without an Event, with its transition now (R9.19)", () => {
    const { node, events } = setReady(nodeOf({ status: { capacity: CAPACITY } }), inputOf());
    expect(conditionOf(node, "Ready")?.lastTransitionTime).toBe(NOW);
    expect(events).toEqual([]);
  });

  it.each([
    ["True", false, "NodeNotReady"],
    ["Unknown", true, "NodeReady"],
    ["False", true, "NodeReady"],
    ["Unknown", false, "NodeNotReady"],
  ])("reports a change from %s (healthy: %s) in the Event %s (R9.19)", (before, well, reason) => {
    const health = { ...WELL, runtime: well ? [] : ["down"] };
    const conditions = [conditionWith("Ready", before)];
    const { node, events } = setReady(nodeOf({ status: { capacity: CAPACITY, conditions } }), inputOf({ health }));
    expect(conditionOf(node, "Ready")?.lastTransitionTime).toBe(NOW);
    expect(events).toEqual([{ type: "Normal", reason, message: `Node node-1 status is now: ${reason}` }]);
  });

  it("keeps the transition time when only reason or message change (R9.19)", () => {
    const status = { capacity: CAPACITY, conditions: [conditionWith("Ready", "True")] };
    const { node, events } = setReady(nodeOf({ status }), inputOf());
    expect(conditionOf(node, "Ready")).toEqual({
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      message: "kubelet is posting ready status",
      lastHeartbeatTime: NOW,
      lastTransitionTime: EARLIER,
    });
    expect(events).toEqual([]);
  });

  it("is True exactly without problems", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 2 });
    const health = fc.record({ runtime: texts, network: texts, shuttingDown: fc.boolean() });
    fc.assert(
      fc.property(health, (given) => {
        const { node } = setReady(nodeOf({ status: { capacity: CAPACITY } }), inputOf({ health: given }));
        const problems = given.runtime.length + given.network.length + Number(given.shuttingDown);
        expect(conditionOf(node, "Ready")?.status).toBe(problems === 0 ? "True" : "False");
      }),
    );
  });
});
