/** Hollow nodes against the embedded API on virtual time: heartbeats, orders, pods, deletion underneath. */
import { beforeEach, describe, expect, it } from "vitest";
import type { HollowNodeSpec } from "../../services/agent/hollow.figures.ts";
import { type HollowNodes, startHollowNodes } from "../../services/agent/hollow.service.ts";
import { VirtualApi } from "./virtual-api.ts";

const SECOND = 1000;
const PODS = "/api/v1/namespaces/default/pods";

let api: VirtualApi;
let hollow: HollowNodes;

beforeEach(() => {
  api = new VirtualApi();
});

function start(count: number, changes: Partial<HollowNodeSpec> = {}): void {
  const { clock, kube, random, log } = api;
  const nodes = Array.from({ length: count }, (_, index) => ({
    name: `n-${index}`,
    zone: `z-${index % 2}`,
    ...changes,
  }));
  hollow = startHollowNodes({ clock, kube, random, log, nodes });
  clock.advance(SECOND);
}

/** How many milliseconds ago a node renewed its lease. */
function silenceMs(name: string): number {
  return api.clock.wallMs() - Date.parse(String(api.lease(name)?.spec?.renewTime));
}

describe("hollow nodes", () => {
  it("are registered whole: zone, capacity, every condition, lease with owner", () => {
    start(1);
    expect(api.node("n-0")).toMatchObject({
      metadata: { labels: { "topology.kubernetes.io/zone": "z-0", "kubernetes.io/hostname": "n-0" } },
      status: { capacity: { cpu: "8", memory: "32Gi" }, nodeInfo: { osImage: "Vigil hollow node" } },
    });
    const conditions = api.node("n-0")?.status?.conditions?.map(({ type, status }) => `${type}=${status}`);
    expect(conditions).toEqual(["MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=True"]);
    expect(api.lease("n-0")?.metadata.ownerReferences).toMatchObject([{ uid: api.node("n-0")?.metadata.uid }]);
    expect(hollow.summary()).toMatchObject({ nodes: 1, registered: 1, stopped: 0 });
  });

  it("renew each 10 s × [1, 1.04), spread over the whole period", () => {
    start(400);
    api.clock.advance(30 * SECOND);
    api.forget();
    api.clock.advance(10.2 * SECOND);
    const perSecond = Array.from({ length: 10 }, (_, second) => {
      const fromMs = 31 * SECOND + second * SECOND;
      return api.requests.filter(({ method, atMs }) => method === "PUT" && atMs >= fromMs && atMs < fromMs + SECOND)
        .length;
    });
    expect(api.sent("PUT").length).toBeGreaterThan(380);
    expect(Math.min(...perSecond)).toBeGreaterThan(15);
    expect(Math.max(...perSecond)).toBeLessThan(80);
  });

  it("post their status once in 5 min, spread as well", () => {
    start(100);
    api.forget();
    api.clock.advance(311 * SECOND);
    const posts = api.sent("PATCH");
    expect(posts.length).toBeGreaterThanOrEqual(100);
    expect(posts.length).toBeLessThan(140);
  });

  it("take over nodes that are there already, with their whole status", () => {
    api.send("POST", "/api/v1/nodes", { metadata: { name: "n-0", labels: { mine: "1" } } });
    start(1);
    expect(api.node("n-0")).toMatchObject({
      metadata: { labels: { mine: "1", "topology.kubernetes.io/zone": "z-0" } },
    });
    expect(api.condition("Ready", "n-0")?.status).toBe("True");
    expect(api.node("n-0")?.status?.capacity).toMatchObject({ cpu: "8" });
  });

  it("register when the API comes up later", () => {
    const back = api.server.faults.refuse();
    start(3);
    api.clock.advance(20 * SECOND);
    back();
    api.clock.advance(10 * SECOND);
    expect(hollow.summary().registered).toBe(3);
  });
});

describe("an order to hollow nodes", () => {
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
    start(10);
    expect(hollow.stop(selector)).toBe(count);
    expect(hollow.summary().stopped).toBe(count);
  });

  it("to stop silences a node at once, to resume brings a heartbeat at once", () => {
    start(2);
    hollow.stop({ names: ["n-0"] });
    api.clock.advance(60 * SECOND);
    expect(silenceMs("n-0")).toBeGreaterThan(59 * SECOND);
    expect(silenceMs("n-1")).toBeLessThan(10.4 * SECOND);
    hollow.resume({ names: ["n-0"] });
    api.clock.advance(0);
    expect(silenceMs("n-0")).toBe(0);
  });

  it("to resume mends within one heartbeat what a controller forced meanwhile", () => {
    start(1);
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
    start(1);
    hollow.set({}, type, status);
    api.clock.advance(0);
    expect(api.condition(type, "n-0")).toMatchObject({ status, reason });
    api.clock.advance(400 * SECOND);
    expect(api.condition(type, "n-0")).toMatchObject({ status, reason });
    hollow.set({}, type, status === "True" ? "False" : "True");
    api.clock.advance(0);
    expect(api.condition(type, "n-0")?.status).toBe(status === "True" ? "False" : "True");
  });

  it("to lag lengthens the pause between heartbeats until it is taken back", () => {
    start(1);
    hollow.lag({}, 45 * SECOND);
    api.clock.advance(60 * SECOND);
    api.forget();
    api.clock.advance(300 * SECOND);
    expect(api.sent("PUT").length).toBeGreaterThanOrEqual(5);
    expect(api.sent("PUT").length).toBeLessThanOrEqual(6);
    hollow.lag({}, 0);
    api.clock.advance(56 * SECOND);
    expect(silenceMs("n-0")).toBeLessThan(10.4 * SECOND);
  });

  it("to flap stops and resumes in turn until it is taken back", () => {
    start(1);
    const states: number[] = [];
    hollow.flap({}, 20 * SECOND);
    for (let turn = 0; turn < 4; turn++) {
      states.push(hollow.summary().stopped);
      api.clock.advance(20 * SECOND);
    }
    expect(states).toEqual([1, 0, 1, 0]);
    hollow.flap({}, 0);
    api.clock.advance(60 * SECOND);
    expect([hollow.summary().stopped, silenceMs("n-0") < 10.4 * SECOND]).toEqual([0, true]);
  });

  it("to be removed deletes node and lease, and they stay away", () => {
    start(2);
    expect(hollow.remove({ names: ["n-0"] })).toBe(1);
    api.clock.advance(60 * SECOND);
    expect([api.node("n-0"), api.lease("n-0")]).toEqual([undefined, undefined]);
    expect(hollow.summary().nodes).toBe(1);
  });
});

describe("hollow nodes ordered about before they are registered", () => {
  it("stay away while stopped, let the others register, and get their pods when they resume", () => {
    const back = api.server.faults.refuse();
    start(200, { pods: 1 });
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

describe("a hollow node deleted underneath", () => {
  it("registers again while it lives (better than R9.4)", () => {
    start(1);
    const before = api.node("n-0")?.metadata.uid;
    api.send("DELETE", "/api/v1/nodes/n-0");
    api.clock.advance(SECOND);
    expect(api.node("n-0")?.metadata.uid).not.toBe(before);
    api.clock.advance(11 * SECOND);
    expect(api.lease("n-0")?.metadata.ownerReferences).toMatchObject([{ uid: api.node("n-0")?.metadata.uid }]);
  });

  it("stays away while it is stopped, and registers when it resumes", () => {
    start(1);
    hollow.stop({});
    api.send("DELETE", "/api/v1/nodes/n-0");
    api.clock.advance(60 * SECOND);
    expect(api.node("n-0")).toBeUndefined();
    hollow.resume({});
    api.clock.advance(SECOND);
    expect(api.condition("Ready", "n-0")?.status).toBe("True");
  });
});

describe("pods of hollow nodes", () => {
  interface ShownPod {
    readonly status?: { readonly phase?: string; readonly containerStatuses?: readonly { readonly ready: boolean }[] };
  }
  const pod = (name: string) => api.get(`${PODS}/${name}`) as ShownPod | undefined;
  const ready = (name: string) =>
    api.get(`${PODS}/${name}`)?.status?.conditions?.find(({ type }) => type === "Ready")?.status;

  it("are created and run, with their container ready, as kubectl counts it", () => {
    start(3, { pods: 2 });
    expect(hollow.summary()).toMatchObject({ pods: 6, podsCreated: 6 });
    expect([pod("n-2-pod-1")?.status?.phase, ready("n-2-pod-1")]).toEqual(["Running", "True"]);
    expect(pod("n-2-pod-1")?.status?.containerStatuses).toMatchObject([{ ready: true }]);
  });

  it("that are being deleted are gone at once from a live node, and stay on a stopped one until it resumes", () => {
    start(2, { pods: 1 });
    hollow.stop({ names: ["n-1"] });
    for (const name of ["n-0-pod-0", "n-1-pod-0"]) api.send("DELETE", `${PODS}/${name}`);
    api.clock.advance(120 * SECOND);
    expect([pod("n-0-pod-0"), pod("n-1-pod-0") === undefined]).toEqual([undefined, false]);
    hollow.resume({});
    api.clock.advance(0);
    expect(pod("n-1-pod-0")).toBeUndefined();
  });

  it("whose finalising failed are finalised at the next heartbeat", () => {
    start(1, { pods: 1 });
    api.server.faults.add({
      fault: { kind: "status", code: 500 },
      when: ({ headers, verb }) => verb === "delete" && "accept" in headers,
      times: 1,
    });
    api.send("DELETE", `${PODS}/n-0-pod-0`);
    expect(pod("n-0-pod-0")).toBeDefined();
    api.clock.advance(10.4 * SECOND);
    expect(pod("n-0-pod-0")).toBeUndefined();
  });

  it("that a controller marked not ready are ready again when the node is back, not while it says it is not", () => {
    start(1, { pods: 1 });
    hollow.set({}, "Ready", "False");
    const conditions = [{ type: "Ready", status: "False" }];
    api.send("PATCH", `${PODS}/n-0-pod-0/status`, { status: { conditions } });
    api.clock.advance(60 * SECOND);
    expect(ready("n-0-pod-0")).toBe("False");
    hollow.set({}, "Ready", "True");
    api.clock.advance(10.4 * SECOND);
    expect(ready("n-0-pod-0")).toBe("True");
  });
});

describe("a shutdown of hollow nodes", () => {
  it("leaves no timer and no request behind, and the nodes at the API", () => {
    start(5, { pods: 1 });
    hollow.flap({ names: ["n-0"] }, 5 * SECOND);
    hollow.shutdown();
    api.clock.advance(SECOND);
    api.forget();
    api.clock.advance(600 * SECOND);
    expect([api.sent(), api.node("n-0") === undefined]).toEqual([[], false]);
  });
});
