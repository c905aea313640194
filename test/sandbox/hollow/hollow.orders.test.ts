/** Orders to hollow nodes against the embedded API on virtual time, and conditions set by others. */
import { beforeEach, describe, expect, it } from "vitest";
import type { HollowNodes } from "../../../services/sandbox/hollow/hollow.service.ts";
import { HollowWorld, SECOND } from "./hollow-world.ts";

let api: HollowWorld;
let hollow: HollowNodes;

beforeEach(() => {
  api = new HollowWorld();
});

describe("an order", () => {
  it.each([
    [{}, 10],
    [{ names: ["n-1", "n-2", "nobody"] }, 2],
    [{ match: "n-[0-4]" }, 5],
    [{ match: "n" }, 0],
    [{ zone: "z-1" }, 5],
    [{ zone: "z-1", match: "n-1|n-2" }, 1],
    [{ fraction: 0.25 }, 3],
    [{ zone: "z-0", fraction: 0.5 }, 3],
  ])("for %j reaches %d of 10", (selector, count) => {
    hollow = api.start(10);
    expect(hollow.stop(selector)).toBe(count);
    expect(hollow.summary().stopped).toBe(count);
  });

  it("to stop silences a node, to resume brings a heartbeat at once", () => {
    hollow = api.start(2);
    hollow.stop({ names: ["n-0"] });
    api.clock.advance(60 * SECOND);
    expect(api.silenceMs("n-0")).toBeGreaterThan(59 * SECOND);
    expect(api.silenceMs("n-1")).toBeLessThan(10.4 * SECOND);
    hollow.resume({ names: ["n-0"] });
    api.clock.advance(0);
    expect(api.silenceMs("n-0")).toBe(0);
  });

  it("to resume repairs forced conditions within one heartbeat", () => {
    hollow = api.start(1);
    hollow.stop({});
    const forced = ["Ready", "MemoryPressure"].map((type) => ({
      type,
      status: "Unknown",
      reason: "NodeStatusUnknown",
    }));
    api.send("PATCH", "/api/v1/nodes/n-0/status", { status: { conditions: forced } });
    api.clock.advance(60 * SECOND);
    expect(api.condition("Ready", "n-0")?.status).toBe("Unknown");
    hollow.resume({});
    api.clock.advance(0);
    expect(api.condition("Ready", "n-0")).toMatchObject({ status: "True", reason: "KubeletReady" });
    expect(api.condition("MemoryPressure", "n-0")).toMatchObject({ status: "False" });
  });

  it.each([
    ["MemoryPressure", "True", "KubeletHasInsufficientMemory"],
    ["Ready", "False", "KubeletNotReady"],
    ["NetworkUnavailable", "True", "HollowOrder"],
  ] as const)("to show %s=%s does so at once and keeps at it", (type, status, reason) => {
    hollow = api.start(1);
    hollow.set({}, type, status);
    api.clock.advance(0);
    expect(api.condition(type, "n-0")).toMatchObject({ status, reason });
    api.clock.advance(400 * SECOND);
    expect(api.condition(type, "n-0")).toMatchObject({ status, reason });
    hollow.set({}, type, status === "True" ? "False" : "True");
    api.clock.advance(0);
    expect(api.condition(type, "n-0")?.status).toBe(status === "True" ? "False" : "True");
  });

  it("to lag lengthens pauses between heartbeats until taken back", () => {
    hollow = api.start(1);
    hollow.lag({}, 45 * SECOND);
    api.clock.advance(60 * SECOND);
    api.forget();
    api.clock.advance(300 * SECOND);
    expect(api.sent("PUT").length).toBeGreaterThanOrEqual(5);
    expect(api.sent("PUT").length).toBeLessThanOrEqual(6);
    hollow.lag({}, 0);
    api.clock.advance(56 * SECOND);
    expect(api.silenceMs("n-0")).toBeLessThan(10.4 * SECOND);
  });

  it("to flap stops and resumes in turn until it is taken back", () => {
    hollow = api.start(1);
    const states: number[] = [];
    hollow.flap({}, 20 * SECOND);
    for (let turn = 0; turn < 4; turn++) {
      states.push(hollow.summary().stopped);
      api.clock.advance(20 * SECOND);
    }
    expect(states).toEqual([1, 0, 1, 0]);
    hollow.flap({}, 0);
    api.clock.advance(60 * SECOND);
    expect([hollow.summary().stopped, api.silenceMs("n-0") < 10.4 * SECOND]).toEqual([0, true]);
  });

  it.each(["stop", "resume"] as const)("to %s ends a flap", (order) => {
    hollow = api.start(1);
    hollow.flap({}, 20 * SECOND);
    api.clock.advance(order === "stop" ? 20 * SECOND : 0);
    hollow[order]({});
    const states = [hollow.summary().stopped];
    for (let turn = 0; turn < 3; turn++) {
      api.clock.advance(20 * SECOND);
      states.push(hollow.summary().stopped);
    }
    expect(states).toEqual(order === "stop" ? [1, 1, 1, 1] : [0, 0, 0, 0]);
  });

  it("to be removed is executed under load, and a refusal is logged", () => {
    hollow = api.start(2);
    const fault = { kind: "status", code: 429, retryAfterSeconds: 1 } as const;
    api.server.faults.add({ fault, when: ({ verb }) => verb === "delete", times: 3 });
    hollow.remove({ names: ["n-0"] });
    let over = false;
    hollow.whenRemoved(() => {
      over = true;
    });
    api.clock.advance(500);
    expect(over).toBe(false);
    api.clock.advance(10 * SECOND);
    expect(over).toBe(true);
    expect([api.node("n-0"), api.lease("n-0")]).toEqual([undefined, undefined]);
    api.server.faults.add({ fault: { kind: "status", code: 403 }, when: ({ verb }) => verb === "delete" });
    hollow.remove({});
    api.clock.advance(10 * SECOND);
    expect(api.log.lines.map(({ message }) => message)).toContain("hollow node not deleted");
  });

  it("to be removed deletes node and lease, and they stay away", () => {
    hollow = api.start(2);
    expect(hollow.remove({ names: ["n-0"] })).toBe(1);
    api.clock.advance(60 * SECOND);
    expect([api.node("n-0"), api.lease("n-0")]).toEqual([undefined, undefined]);
    expect(hollow.summary().nodes).toBe(1);
  });
});

describe("a condition set by others", () => {
  const foreign = (status: string, reason: string) => [{ type: "KernelDeadlock", status, reason, message: reason }];

  it("stays theirs, set before the node or changed later", () => {
    api.send("POST", "/api/v1/nodes", {
      metadata: { name: "n-0" },
      status: { conditions: foreign("False", "NoDeadlock") },
    });
    hollow = api.start(1);
    api.send("PATCH", "/api/v1/nodes/n-0/status", { status: { conditions: foreign("True", "Deadlock") } });
    api.clock.advance(400 * SECOND);
    hollow.set({}, "MemoryPressure", "True");
    api.clock.advance(SECOND);
    expect(api.condition("MemoryPressure", "n-0")?.status).toBe("True");
    expect(api.condition("KernelDeadlock", "n-0")).toMatchObject(foreign("True", "Deadlock")[0] ?? {});
  });
});

describe("orders to unregistered nodes", () => {
  it("keep stopped ones away until they resume", () => {
    const back = api.server.faults.refuse();
    hollow = api.start(200, { pods: 1 });
    hollow.stop({ zone: "z-0" });
    back();
    api.clock.advance(20 * SECOND);
    expect(hollow.summary()).toMatchObject({ registered: 100, podsCreated: 100 });
    hollow.resume({ fraction: 1 });
    hollow.resume({});
    api.clock.advance(20 * SECOND);
    expect(hollow.summary()).toMatchObject({ registered: 200, podsCreated: 200 });
  });
});
