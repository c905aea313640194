/** The agent at the API: registration, status, lease and Events on virtual time. */
import { beforeEach, describe, expect, it } from "vitest";
import { STATS } from "./agent-fixtures.ts";
import { AgentWorld, NODE, STATUS } from "./agent-world.ts";

let api: AgentWorld;

beforeEach(() => {
  api = new AgentWorld();
});

describe("registration", () => {
  it("creates node, status, lease and Events after 0.1 s (R9.4, L46)", () => {
    const agent = api.start();
    api.clock.advance(99);
    expect([agent.registered(), api.node()]).toEqual([false, undefined]);
    api.clock.advance(1);
    expect(agent.registered()).toBe(true);
    expect(api.condition("Ready")).toMatchObject({ status: "True", reason: "KubeletReady" });
    expect(api.node()?.status?.capacity).toMatchObject({ cpu: "4", memory: "8Gi" });
    expect(api.lease()).toMatchObject({ spec: { holderIdentity: "node-1" } });
    expect(api.events()).toEqual([
      "Starting",
      "NodeHasSufficientMemory",
      "NodeHasNoDiskPressure",
      "NodeHasSufficientPID",
    ]);
  });

  it("pauses 0.1, 0.2, 0.4, … up to 7 s before each attempt (R9.4)", () => {
    api.refuse("create", 9);
    api.start();
    api.clock.advance(60_000);
    const at = api.requests.filter(({ method, path }) => method === "POST" && path === "/api/v1/nodes");
    expect(at.map(({ atMs }) => atMs)).toEqual([100, 300, 700, 1500, 3100, 6300, 12_700, 19_700, 26_700, 33_700]);
    expect(api.node()).toBeDefined();
  });

  it("reconciles an existing node and leaves its spec alone (R9.5, R9.6)", () => {
    api.send("POST", "/api/v1/nodes", {
      metadata: { name: "node-1", labels: { mine: "1" } },
      spec: { unschedulable: true },
    });
    api.start({ zone: "z", taints: [{ key: "new", effect: "NoExecute" }] });
    api.clock.advance(100);
    expect(api.node()?.metadata.labels).toMatchObject({ mine: "1", "topology.kubernetes.io/zone": "z" });
    expect(api.node()?.spec?.unschedulable).toBe(true);
    expect(JSON.stringify(api.node()?.spec?.taints)).not.toContain("new");
    expect(api.condition("Ready")?.status).toBe("True");
    expect(api.events()).toContain("NodeNotSchedulable");
  });

  it("reconciles even when it may not create (R9.5)", () => {
    api.send("POST", "/api/v1/nodes", { metadata: { name: "node-1" } });
    api.refuse("create", 1, 403);
    const agent = api.start();
    api.clock.advance(100);
    expect([agent.registered(), api.condition("Ready")?.status]).toEqual([true, "True"]);
  });

  it("retries while it may not create a missing node", () => {
    const permit = api.refuse("create", undefined, 403);
    const agent = api.start();
    api.clock.advance(30_000);
    expect([agent.registered(), api.node()]).toEqual([false, undefined]);
    permit();
    api.clock.advance(7_000);
    expect(agent.registered()).toBe(true);
  });

  it("is left out if set so, but an existing node is updated", () => {
    api.send("POST", "/api/v1/nodes", { metadata: { name: "node-1" } });
    api.start({ registerNode: false });
    api.clock.advance(0);
    expect(api.sent("POST /api/v1/nodes")).toEqual([]);
    expect(api.condition("Ready")?.status).toBe("True");
    expect(api.events()[0]).toBe("Starting");
  });

  it("by others is waited for if set so; Event Starting follows once", () => {
    api.start({ registerNode: false });
    api.clock.advance(15_000);
    expect(api.events()).toEqual([]);
    api.send("POST", "/api/v1/nodes", { metadata: { name: "node-1" } });
    api.clock.advance(30_000);
    expect(api.eventCount("Starting")).toBe(1);
  });

  it("that is left out logs a missing node once for each absence", () => {
    const messages = () => api.log.lines.filter(({ message }) => message.includes("--register-node"));
    api.start({ registerNode: false });
    api.clock.advance(35_000);
    expect(messages()).toMatchObject([{ level: "warn", fields: { node: "node-1" } }]);
    api.send("POST", "/api/v1/nodes", { metadata: { name: "node-1" } });
    api.clock.advance(11_000);
    api.send("DELETE", NODE);
    api.clock.advance(35_000);
    expect(messages()).toHaveLength(2);
  });

  it("is repeated for a deleted node, with a new lease owner (L47)", () => {
    api.start();
    api.clock.advance(5_000);
    const before = api.node()?.metadata.uid;
    api.send("DELETE", NODE);
    api.send("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1");
    api.clock.advance(11_000);
    const after = api.node()?.metadata.uid;
    expect([after === undefined, after === before]).toEqual([false, false]);
    expect(api.lease()?.metadata.ownerReferences).toMatchObject([{ uid: after }]);
    expect(api.events().filter((reason) => reason === "Starting")).toHaveLength(1);
  });

  it("by others after a deletion still gives the lease its new owner", () => {
    api.start();
    api.clock.advance(5_000);
    api.send("DELETE", NODE);
    api.send("POST", "/api/v1/nodes", { metadata: { name: "node-1" } });
    api.send("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1");
    api.clock.advance(11_000);
    expect(api.lease()?.metadata.ownerReferences).toMatchObject([{ uid: api.node()?.metadata.uid }]);
  });
});

describe("the status", () => {
  it("is computed every 10 s, posted unchanged every 5 min (R9.12, R9.14)", () => {
    api.start();
    api.clock.advance(1_000);
    api.forget();
    api.clock.advance(295_000);
    expect(api.sent(`GET ${NODE}`)).toHaveLength(29);
    expect(api.sent("PATCH")).toEqual([]);
    api.clock.advance(15_000);
    expect(api.sent("PATCH")).toEqual([`PATCH ${STATUS}`]);
  });

  it("is unchanged if the API only writes quantities in a shorter form", () => {
    api.start({ maxPods: 1000 });
    api.clock.advance(1_000);
    expect(api.node()?.status?.capacity).toMatchObject({ pods: "1k" });
    api.forget();
    api.clock.advance(60_000);
    expect(api.sent("PATCH")).toEqual([]);
  });

  it("is posted in the next period after a change, with its Event (R9.12)", () => {
    api.start();
    api.clock.advance(1_000);
    api.stats.current = { ...STATS, headroom: { "memory.available": { available: 0, capacity: 1 } } };
    api.clock.advance(10_300);
    expect(api.condition("MemoryPressure")).toMatchObject({ status: "True", reason: "KubeletHasInsufficientMemory" });
    expect(api.events().at(-1)).toBe("NodeHasInsufficientMemory");
    api.stats.current = STATS;
    api.clock.advance(299_000);
    expect(api.condition("MemoryPressure")?.status).toBe("True");
    api.clock.advance(20_000);
    expect(api.condition("MemoryPressure")).toMatchObject({ status: "False", reason: "KubeletHasSufficientMemory" });
    expect(api.eventCount("NodeHasSufficientMemory")).toBe(2);
  });

  it("set to Unknown by a controller is reposted in a period (L51)", () => {
    api.start();
    api.clock.advance(1_000);
    api.send("PATCH", STATUS, {
      status: { conditions: [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }] },
    });
    api.clock.advance(10_300);
    expect(api.condition("Ready")).toMatchObject({ status: "True", reason: "KubeletReady" });
    expect(api.events().at(-1)).toBe("NodeReady");
  });

  it.each([
    [4, 3, "True", ["NodeHasInsufficientMemory"]],
    [5, 4, "False", []],
  ])("after %d failed posts has %d connection errors, pressure %s (R9.9)", (times, calls, status, eventCount) => {
    api.start();
    api.clock.advance(1_000);
    const known = api.events().length;
    api.stats.current = { ...STATS, headroom: { "memory.available": { available: 0, capacity: 1 } } };
    api.refuse("patch", times);
    api.clock.advance(10_300);
    expect([api.reconnects, api.condition("MemoryPressure")?.status, api.events().slice(known)]).toEqual([
      calls,
      status,
      eventCount,
    ]);
  });

  it.each([
    ["patch", `PATCH ${STATUS}`],
    ["get", `GET ${NODE}`],
  ])("whose %s is throttled for 2 s is posted then", (refused, request) => {
    api.start();
    api.clock.advance(1_000);
    api.stats.current = { ...STATS, headroom: { "memory.available": { available: 0, capacity: 1 } } };
    const fault = { kind: "status", code: 429, retryAfterSeconds: 2 } as const;
    api.server.faults.add({ fault, when: ({ verb }) => verb === refused, times: 2 });
    api.forget();
    api.clock.advance(15_000);
    const sent = api.requests.filter(({ method, path }) => `${method} ${path}` === request).map(({ atMs }) => atMs);
    const [first = 0] = sent;
    expect(sent).toEqual([first, first + 2_000, first + 4_000]);
    expect(api.condition("MemoryPressure")?.status).toBe("True");
  });

  it("emits the Event of a reboot once", () => {
    api.send("POST", "/api/v1/nodes", { metadata: { name: "node-1" }, status: { nodeInfo: { bootID: "boot-0" } } });
    api.start();
    api.clock.advance(60_000);
    expect(api.events().filter((reason) => reason === "Rebooted")).toHaveLength(1);
  });

  it("emits Events of a cordon and its end without waiting for a report", () => {
    api.start();
    api.clock.advance(1_000);
    api.send("PATCH", NODE, { spec: { unschedulable: true } });
    api.clock.advance(10_300);
    api.send("PATCH", NODE, { spec: { unschedulable: null } });
    api.clock.advance(10_300);
    expect(api.events().slice(-2)).toEqual(["NodeNotSchedulable", "NodeSchedulable"]);
  });
});

describe("the lease", () => {
  it("is renewed every 10 s × [1, 1.04)", () => {
    api.start();
    api.clock.advance(1_000);
    api.forget();
    api.clock.advance(102_000);
    expect(api.sent("PUT")).toHaveLength(10);
  });

  it("is renewed within 31 s despite two timeouts on dead connections (R9.2)", () => {
    api.start();
    api.clock.advance(11_000);
    const before = Date.parse(String(api.lease()?.spec?.renewTime));
    api.server.faults.add({ fault: { kind: "stall" }, when: ({ verb }) => verb === "update", times: 2 });
    api.clock.advance(31_000 - (api.clock.wallMs() - before));
    expect(Date.parse(String(api.lease()?.spec?.renewTime))).toBeGreaterThan(before);
  });

  it("is renewed again after the API was unavailable for 30 s", () => {
    api.start();
    api.clock.advance(15_000);
    const back = api.server.faults.refuse();
    api.clock.advance(30_000);
    back();
    api.clock.advance(7_000);
    expect(Date.parse(String(api.lease()?.spec?.renewTime))).toBeGreaterThan(api.clock.wallMs() - 7_001);
  });
});
