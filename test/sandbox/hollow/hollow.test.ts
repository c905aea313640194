/** Hollow nodes against the embedded API on virtual time: heartbeats, pods, deletion underneath. */
import { beforeEach, describe, expect, it } from "vitest";
import type { HollowNodes } from "../../../services/sandbox/hollow/hollow.service.ts";
import { HollowWorld, SECOND } from "./hollow-world.ts";

const PODS = "/api/v1/namespaces/default/pods";

let api: HollowWorld;
let hollow: HollowNodes;

beforeEach(() => {
  api = new HollowWorld();
});

describe("hollow nodes", () => {
  it("register with zone, capacity, all conditions and an owned lease", () => {
    hollow = api.start(1);
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
    hollow = api.start(400);
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
    // Those of 50 ms go together: a process that wakes for each takes twice the processor.
    const instants = new Set(api.requests.filter(({ method }) => method === "PUT").map(({ atMs }) => atMs));
    expect(instants.size).toBeLessThanOrEqual(10_200 / 50 + 1);
  });

  it("post their status once in 5 min, spread as well", () => {
    hollow = api.start(100);
    api.forget();
    api.clock.advance(311 * SECOND);
    const posts = api.sent("PATCH");
    expect(posts.length).toBeGreaterThanOrEqual(100);
    expect(posts.length).toBeLessThan(140);
  });

  it("take over nodes that are there already, with their whole status", () => {
    api.send("POST", "/api/v1/nodes", { metadata: { name: "n-0", labels: { mine: "1" } } });
    hollow = api.start(1);
    expect(api.node("n-0")).toMatchObject({
      metadata: { labels: { mine: "1", "topology.kubernetes.io/zone": "z-0" } },
    });
    expect(api.condition("Ready", "n-0")?.status).toBe("True");
    expect(api.node("n-0")?.status?.capacity).toMatchObject({ cpu: "8" });
  });

  it("run the version that the API server says it is", () => {
    hollow = api.start(1);
    const { gitVersion } = api.get("/version") as { gitVersion?: string };
    expect(api.node("n-0")?.status?.nodeInfo?.kubeletVersion).toBe(gitVersion);
  });

  it("register when the API comes up later", () => {
    const back = api.server.faults.refuse();
    hollow = api.start(3);
    api.clock.advance(20 * SECOND);
    back();
    api.clock.advance(10 * SECOND);
    expect(hollow.summary().registered).toBe(3);
  });
});

describe("a deleted hollow node", () => {
  it("registers again while it lives (better than R9.4)", () => {
    hollow = api.start(1);
    const before = api.node("n-0")?.metadata.uid;
    api.send("DELETE", "/api/v1/nodes/n-0");
    api.clock.advance(SECOND);
    expect(api.node("n-0")?.metadata.uid).not.toBe(before);
    api.clock.advance(11 * SECOND);
    expect(api.lease("n-0")?.metadata.ownerReferences).toMatchObject([{ uid: api.node("n-0")?.metadata.uid }]);
  });

  it("can stay deleted until it is ordered to resume", () => {
    hollow = api.start(1, {}, { staysDeleted: true });
    api.send("DELETE", "/api/v1/nodes/n-0");
    api.clock.advance(60 * SECOND);
    expect(api.node("n-0")).toBeUndefined();
    hollow.resume({});
    api.clock.advance(SECOND);
    expect(api.condition("Ready", "n-0")?.status).toBe("True");
  });

  it("stays away while stopped, and registers when it resumes", () => {
    hollow = api.start(1);
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

  it("are created and run, ready as kubectl counts it", () => {
    hollow = api.start(3, { pods: 2 });
    expect(hollow.summary()).toMatchObject({ pods: 6, podsCreated: 6 });
    expect([pod("n-2-pod-1")?.status?.phase, ready("n-2-pod-1")]).toEqual(["Running", "True"]);
    expect(pod("n-2-pod-1")?.status?.containerStatuses).toMatchObject([{ ready: true }]);
  });

  it("being deleted go at once, from a stopped node on resume", () => {
    hollow = api.start(2, { pods: 1 });
    hollow.stop({ names: ["n-1"] });
    for (const name of ["n-0-pod-0", "n-1-pod-0"]) api.send("DELETE", `${PODS}/${name}`);
    api.clock.advance(120 * SECOND);
    expect([pod("n-0-pod-0"), pod("n-1-pod-0") === undefined]).toEqual([undefined, false]);
    hollow.resume({});
    api.clock.advance(0);
    expect(pod("n-1-pod-0")).toBeUndefined();
  });

  it("whose finalising failed are finalised at the next heartbeat", () => {
    hollow = api.start(1, { pods: 1 });
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

  it("that were marked are ready again once their node is Ready", () => {
    hollow = api.start(1, { pods: 1 });
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
  it("leaves no timer, no request, and the nodes", () => {
    hollow = api.start(5, { pods: 1 });
    hollow.flap({ names: ["n-0"] }, 5 * SECOND);
    hollow.shutdown();
    api.clock.advance(SECOND);
    api.forget();
    api.clock.advance(600 * SECOND);
    expect([api.sent(), api.node("n-0") === undefined]).toEqual([[], false]);
  });
});
