/** Pressure from measurements, health from runtime checks, and the notation of thresholds. */
import { describe, expect, it } from "vitest";
import { STANDARD_AGENT } from "../../services/agent/agent.settings.ts";
import type { Signal } from "../../services/agent/machine-stats.ts";
import { afterMeasurement, parseThresholds, pressuresAt } from "../../services/agent/pressure.policy.ts";
import {
  afterCheck,
  networkProblems,
  runtimeProblems,
  UNCHECKED_RUNTIME,
} from "../../services/agent/runtime-check.policy.ts";

const MEBIBYTE = 1024 ** 2;
const { thresholds, pressureTransitionMs, runtimeDownMs } = STANDARD_AGENT;
const CALM = { memory: false, disk: false, pid: false };

function measure(signal: Signal, available: number, capacity: number) {
  return pressuresAt(
    afterMeasurement({}, { [signal]: { available, capacity } }, thresholds, 0),
    0,
    pressureTransitionMs,
  );
}

describe("pressure", () => {
  it.each<[Signal, number, number, object]>([
    ["memory.available", 100 * MEBIBYTE, 1000 * MEBIBYTE, {}],
    ["memory.available", 100 * MEBIBYTE - 1, 1000 * MEBIBYTE, { memory: true }],
    ["nodefs.available", 100, 1000, {}],
    ["nodefs.available", 99, 1000, { disk: true }],
    ["nodefs.inodesFree", 50, 1000, {}],
    ["nodefs.inodesFree", 49, 1000, { disk: true }],
    ["pid.available", 3276, 32_760, {}],
    ["pid.available", 3275, 32_760, { pid: true }],
  ])("of %s at %d of %d is %j", (signal, available, capacity, pressed) => {
    expect(measure(signal, available, capacity)).toEqual({ ...CALM, ...pressed });
  });

  it("is false for a signal without a measurement", () => {
    expect(pressuresAt(afterMeasurement({}, {}, thresholds, 0), 0, pressureTransitionMs)).toEqual(CALM);
  });

  it("stays for the transition period after its last measurement", () => {
    const tight = { "memory.available": { available: 0, capacity: 1 } };
    const free = { "memory.available": { available: 1e12, capacity: 1e12 } };
    let state = afterMeasurement({}, tight, thresholds, 0);
    state = afterMeasurement(state, tight, thresholds, 60_000);
    state = afterMeasurement(state, free, thresholds, 70_000);
    const at = (nowMs: number) => pressuresAt(state, nowMs, pressureTransitionMs).memory;
    expect([at(60_000 + pressureTransitionMs - 1), at(60_000 + pressureTransitionMs)]).toEqual([true, false]);
  });

  it("without a transition period is there only while it is measured", () => {
    const state = afterMeasurement({}, { "pid.available": { available: 0, capacity: 1 } }, thresholds, 5);
    expect([pressuresAt(state, 5, 0).pid, pressuresAt(state, 6, 0).pid]).toEqual([true, false]);
  });
});

describe("thresholds", () => {
  it("are read as kubelet's --eviction-hard writes them", () => {
    expect(
      parseThresholds("memory.available<100Mi, nodefs.available<10%,nodefs.inodesFree<5%,pid.available<10%"),
    ).toEqual(thresholds);
    expect(parseThresholds("")).toEqual([]);
  });

  it.each([
    ["memory<1Gi", "memory: not a signal"],
    ["memory.available<110%", "memory.available<110%: write it as"],
    ["memory.available<lots", "memory.available<lots: write it as"],
    ["memory.available", "memory.available: write it as"],
  ])("refuse %j: %s", (text, problem) => {
    expect(() => parseThresholds(text)).toThrow(problem);
  });
});

describe("the runtime check", () => {
  const good = { runtimeProblem: null, networkProblem: null };
  const checked = afterCheck(UNCHECKED_RUNTIME, good, 1000);

  it("before the first success keeps the node from being ready", () => {
    expect(runtimeProblems(UNCHECKED_RUNTIME, 0, runtimeDownMs)).toEqual([
      "container runtime status check may not have completed yet",
    ]);
    expect(networkProblems(UNCHECKED_RUNTIME)).toEqual(["network state unknown"]);
  });

  it("clears all problems on success", () => {
    expect([...runtimeProblems(checked, 1000, runtimeDownMs), ...networkProblems(checked)]).toEqual([]);
  });

  it("reports it down exactly 30 s after the last success (R9.20)", () => {
    expect(runtimeProblems(checked, 30_999, runtimeDownMs)).toEqual([]);
    expect(runtimeProblems(checked, 31_000, runtimeDownMs)).toEqual(["container runtime is down"]);
  });

  it("without an answer keeps the age of the last success (R9.20)", () => {
    expect(afterCheck(checked, null, 20_000)).toBe(checked);
  });

  it("of a runtime not ready is a problem and no success (R9.20)", () => {
    const bad = afterCheck(checked, { runtimeProblem: "RuntimeReady=false", networkProblem: null }, 20_000);
    expect(runtimeProblems(bad, 20_000, runtimeDownMs)).toEqual(["container runtime not ready: RuntimeReady=false"]);
    expect(bad.readyAtMs).toBe(1000);
  });

  it("of a network not ready is a problem and a success (R9.20)", () => {
    const bad = afterCheck(checked, { runtimeProblem: null, networkProblem: "NetworkReady=false" }, 20_000);
    expect(networkProblems(bad)).toEqual(["container runtime network not ready: NetworkReady=false"]);
    expect(bad.readyAtMs).toBe(20_000);
  });
});
