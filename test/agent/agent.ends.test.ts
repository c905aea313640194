/** How an agent starts while its runtime is not ready, how it ends, and what it would register. */
import { beforeEach, describe, expect, it } from "vitest";
import { previewNode } from "../../services/agent/agent.service.ts";
import { settingsOf } from "./agent-fixtures.ts";
import { AgentWorld, NODE, STATUS } from "./agent-world.ts";

let api: AgentWorld;

beforeEach(() => {
  api = new AgentWorld();
});

describe("a start before a runtime", () => {
  it("registers the node, posts Ready 0.1 s after it is up", () => {
    api.stats.runtimeProblem = "RuntimeReady=false";
    api.start();
    api.clock.advance(3_000);
    expect(api.condition("Ready")).toMatchObject({
      status: "False",
      message:
        "[container runtime status check may not have completed yet, container runtime not ready: RuntimeReady=false]",
    });
    api.stats.runtimeProblem = null;
    api.clock.advance(100);
    expect(api.condition("Ready")?.status).toBe("True");
    expect(api.events().at(-1)).toBe("NodeReady");
  });

  it("leaves it to the ordinary period after 120 s (R9.27)", () => {
    api.stats.runtimeProblem = "RuntimeReady=false";
    api.start();
    api.clock.advance(121_000);
    expect(api.log.lines.map(({ message }) => message)).toContain("node was not ready in time after the start");
    api.stats.runtimeProblem = null;
    api.clock.advance(100);
    expect(api.condition("Ready")?.status).toBe("False");
    api.clock.advance(16_000);
    expect(api.condition("Ready")?.status).toBe("True");
  });

  it("falls back to an ordinary sync if the quick one fails", () => {
    api.stats.runtimeProblem = "RuntimeReady=false";
    api.start();
    api.clock.advance(3_000);
    api.refuse("patch", 1);
    api.forget();
    api.stats.runtimeProblem = null;
    api.clock.advance(100);
    expect(api.sent(NODE)).toEqual([`PATCH ${STATUS}`, `GET ${NODE}`, `PATCH ${STATUS}`]);
    expect(api.condition("Ready")?.status).toBe("True");
  });

  it("reports it down after 30 s without an answer (R9.20)", () => {
    api.start();
    api.clock.advance(1_000);
    api.stats.answers = false;
    api.clock.advance(45_000);
    expect(api.condition("Ready")).toMatchObject({ status: "False", message: "container runtime is down" });
  });
});

describe("a graceful stop", () => {
  it.each([
    [false, true],
    [true, false],
  ])("posts the shutdown; with deleteLeaseOnStop %s lease kept: %s", (deleteLeaseOnStop, kept) => {
    const agent = api.start({ deleteLeaseOnStop });
    api.clock.advance(5_000);
    let stopped = 0;
    agent.stop(() => stopped++);
    api.clock.advance(0);
    expect(api.condition("Ready")).toMatchObject({ status: "False", message: "node is shutting down" });
    expect(api.events().at(-1)).toBe("NodeNotReady");
    expect([stopped, api.lease() !== undefined]).toEqual([1, kept]);
    api.forget();
    api.clock.advance(600_000);
    expect([api.sent(), api.clock.pendingTimers]).toEqual([[], 0]);
  });

  const noRoom = (retryAfterSeconds: number): (() => void) => {
    const fault = { kind: "status", code: 429, retryAfterSeconds } as const;
    return api.server.faults.add({ fault, when: () => true, times: Number.POSITIVE_INFINITY });
  };

  it("ends 2 s after the API is free, status and lease written", () => {
    const agent = api.start({ deleteLeaseOnStop: true });
    api.clock.advance(5_000);
    const room = noRoom(60);
    api.clock.advance(7_000);
    let stopped = 0;
    agent.stop(() => stopped++);
    api.clock.advance(3_000);
    room();
    api.clock.advance(2_000);
    expect(api.condition("Ready")).toMatchObject({ status: "False", message: "node is shutting down" });
    expect([stopped, api.lease()]).toEqual([1, undefined]);
  });

  it("throttled for ever ends after 8 s and logs what is unwritten", () => {
    const agent = api.start({ deleteLeaseOnStop: true });
    api.clock.advance(5_000);
    noRoom(60);
    api.clock.advance(7_000);
    let stopped = 0;
    agent.stop(() => stopped++);
    api.clock.advance(8_000);
    expect(stopped).toBe(1);
    const messages = api.log.lines.map(({ message }) => message);
    expect(messages).toContain("lease not deleted");
    expect(messages).toContain("node status not posted, waiting for the next period");
  });

  it("does not delete a lease that was replaced meanwhile", () => {
    const agent = api.start({ deleteLeaseOnStop: true });
    api.clock.advance(5_000);
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    api.send("DELETE", `${leases}/node-1`);
    api.send("POST", leases, { metadata: { name: "node-1" }, spec: { holderIdentity: "another" } });
    agent.stop(() => {});
    api.clock.advance(1_000);
    expect(api.lease()).toMatchObject({ spec: { holderIdentity: "another" } });
  });

  it("before the registration ends at once and registers nothing", () => {
    const agent = api.start();
    let stopped = 0;
    agent.stop(() => stopped++);
    api.clock.advance(60_000);
    expect([stopped, api.sent()]).toEqual([1, []]);
  });
});

describe("a preview", () => {
  it("returns the node that would be registered and sends nothing", () => {
    const { clock, kube, log, metrics, random, stats } = api;
    const shown: unknown[] = [];
    previewNode(
      { clock, kube, log, metrics, random, stats, settings: settingsOf({ zone: "z" }) },
      ({ node }, problems) =>
        shown.push(node.metadata.labels?.["topology.kubernetes.io/zone"], node.status?.capacity?.cpu, problems),
    );
    clock.advance(0);
    expect(shown).toEqual(["z", "4", []]);
    expect(api.sent()).toEqual([]);
  });
});
