/** Scenarios of node policies on virtual time, from --config or the API to what happens to the nodes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { SERVICE_NAMES, type ServiceName, type Stop, Urgency } from "../../protocols/ports.ts";
import { startController } from "../../services/cli/process/controller.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { recordingLog } from "../support/recording-log.ts";
import type { TestKubelet } from "../support/test-kubelet.ts";
import { VirtualWorld } from "../support/virtual-world.ts";

const S = 1000;
const OTHER_SERVICES = SERVICE_NAMES.filter((name) => name !== "policy");
const NO_EXECUTE = "node.kubernetes.io/unreachable:NoExecute";

interface KubeEvent {
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly reason: string;
  readonly type: string;
  readonly message: string;
  readonly count: number;
  readonly firstTimestamp: string;
}

class PolicyWorld extends VirtualWorld {
  readonly log = recordingLog();
  readonly zones = new Map<string, BodyOf<"judged.zone">>();
  /** How often a policy was published. */
  policies = 0;
  readonly #kubelets = new Map<string, TestKubelet>();
  readonly #transport = memoryTransport(this.clock);
  readonly #stops: Stop[] = [];
  #ledger: LedgerReader | null = null;

  /** Nodes of one zone; `pool` is their label. */
  addNodes(zone: string, pool: string, count: number): void {
    const labels = { "topology.kubernetes.io/zone": zone, pool };
    for (let index = 0; index < count; index++) {
      const name = `${pool}-${index}`;
      this.#kubelets.set(name, this.addNode({ name, labels }));
    }
  }

  /** Creates an object that has no place among the kinds of the port. */
  post(path: string, object: unknown): void {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const request = { method: "POST", path, headers, body: JSON.stringify(object) };
    let created = 0;
    const response = (status: number): void => {
      created = status;
    };
    this.api.wire.send(request, { response, data: () => {}, end: () => {}, failed: () => {} });
    this.advance(0);
    expect(created).toBe(201);
  }

  /** The Events about a NodePolicy object, the first one first. */
  eventsAbout(name: string): KubeEvent[] {
    const headers = { accept: "application/json" };
    const chunks: Uint8Array[] = [];
    this.api.wire.send(
      { method: "GET", path: "/api/v1/namespaces/default/events", headers, body: null },
      { response: () => {}, data: (chunk) => chunks.push(chunk), end: () => {}, failed: () => {} },
    );
    this.advance(0);
    const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { items: KubeEvent[] };
    const about = items.filter(({ involvedObject: { kind, name: of } }) => kind === "NodePolicy" && of === name);
    return about.toSorted((left, right) => Date.parse(left.firstTimestamp) - Date.parse(right.firstTimestamp));
  }

  silence(...names: readonly string[]): void {
    for (const name of names) this.#kubelets.get(name)?.stop();
  }

  /** Starts a process; its policies select nodes by their pool. */
  run(
    policies: Readonly<Record<string, Omit<NodePolicySpec, "selector">>>,
    services: readonly ServiceName[] = SERVICE_NAMES,
  ): void {
    const { clock, profile, log } = this;
    const metrics = createMetrics();
    const identity = { transport: this.#transport, cluster: "test", member: `m-${this.#stops.length}` };
    const configured = Object.entries(policies).map(([name, fields]) => {
      return { name, spec: { selector: { matchLabels: { pool: name } }, ...fields } };
    });
    const bus = typedBus({ ...identity, clock, log, metrics, service: "tap", mailboxMessagesMax: 10_000 });
    bus.subscribe("judged.zone", "all", ({ body }) => this.zones.set(body.zone, body));
    bus.subscribe("judged.policy", "all", () => {
      this.policies += 1;
    });
    const controller = startController({
      ...identity,
      clock,
      profile,
      log,
      metrics,
      services,
      random: this.random("services"),
      kube: this.createKube(identity.member, log, metrics),
      isShared: services !== SERVICE_NAMES,
      policies: configured,
      fatal: (problem) => log.error(problem),
    });
    this.#ledger ??= controller.ledger;
    this.#stops.push(() => controller.stop());
  }

  /** Stops every process and starts one with other policies. */
  restart(policies: Readonly<Record<string, Omit<NodePolicySpec, "selector">>>): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.run(policies);
  }

  /** Pulses as a process that runs the service policy and publishes none, until it leaves. */
  addSilentPolicyProcess(): Stop {
    const { clock, log } = this;
    const member = "silent";
    const identity = { transport: this.#transport, cluster: "test", member, service: "fleet" };
    const bus = typedBus({ ...identity, clock, log, metrics: createMetrics(), mailboxMessagesMax: 10_000 });
    const since = clock.wallMs();
    const pulse = (leaving: boolean) =>
      bus.publish("pulse.member", { member, services: ["policy"], since, leaving }, null);
    pulse(false);
    let timer = clock.after(S, function again() {
      pulse(false);
      timer = clock.after(S, again);
    });
    return () => {
      timer.cancel();
      pulse(true);
    };
  }

  explained(policy: string): readonly string[] {
    return this.#ledger?.explainPolicy(policy)?.sentences ?? [];
  }

  isUnknown(node: string): boolean {
    return this.conditions(node).includes("Ready=Unknown");
  }

  tainted(): string[] {
    const names = [...this.#kubelets.keys()];
    return names.filter((name) => this.taints(name).includes(NO_EXECUTE));
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    expect(this.log.lines.filter(({ level }) => level === "error")).toEqual([]);
  }
}

let world: PolicyWorld;
beforeEach(() => {
  world = new PolicyWorld();
});
afterEach(() => world.stop());

describe("graces", () => {
  test("are those of the policy for its nodes, and the flags' for others", () => {
    world.addNodes("a", "gpu", 1);
    world.addNodes("a", "cpu", 2);
    world.run({ gpu: { nodeMonitorGracePeriod: "20s" } });
    world.advance(30 * S);
    world.silence("gpu-0", "cpu-0");
    world.advance(20 * S - 100);
    expect(world.isUnknown("gpu-0")).toBe(false);
    world.advance(200);
    expect([world.isUnknown("gpu-0"), world.isUnknown("cpu-0")]).toEqual([true, false]);
    world.advance(30 * S);
    expect(world.isUnknown("cpu-0")).toBe(true);
  });

  test("may be longer, and end at once when the policy's label goes", () => {
    world.addNodes("a", "edge", 1);
    world.addNodes("a", "cpu", 2);
    world.run({ edge: { nodeMonitorGracePeriod: "10m" } });
    world.advance(30 * S);
    world.silence("edge-0");
    world.advance(120 * S);
    expect(world.isUnknown("edge-0")).toBe(false);
    world.patch({ kind: "Node", namespace: "", name: "edge-0" }, { metadata: { labels: { pool: null } } });
    world.advance(1 * S);
    expect(world.isUnknown("edge-0")).toBe(true);
  });
});

describe("unknown policies", () => {
  test("hold back every verdict until they are known", () => {
    world.addNodes("a", "cpu", 3);
    const leave = world.addSilentPolicyProcess();
    world.run({}, OTHER_SERVICES);
    world.advance(30 * S);
    world.silence("cpu-0");
    world.advance(300 * S);
    expect(world.isUnknown("cpu-0")).toBe(false);
    expect(world.log.lines.filter(({ message }) => message.startsWith("no node policies"))).toHaveLength(1);
    world.run({}, ["policy"]);
    leave();
    world.advance(5 * S);
    expect(world.isUnknown("cpu-0")).toBe(true);
    world.advance(1 * S);
    expect(world.tainted()).toEqual(["cpu-0"]);
  });

  test("hold no healing back", () => {
    world.addNodes("a", "cpu", 3);
    const ref = { kind: "Node", namespace: "", name: "cpu-1" } as const;
    world.patch(ref, { spec: { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoExecute" }] } });
    const leave = world.addSilentPolicyProcess();
    world.run({}, OTHER_SERVICES);
    world.advance(10 * S);
    expect(world.taints("cpu-1")).toEqual([]);
    leave();
  });

  test("are none where no process runs the service: the defaults hold", () => {
    world.addNodes("a", "cpu", 3);
    world.run({}, OTHER_SERVICES);
    world.advance(30 * S);
    world.silence("cpu-0");
    world.advance(52 * S);
    expect(world.tainted()).toEqual(["cpu-0"]);
  });
});

describe("rates", () => {
  const silent = (pool: string, count: number) => Array.from({ length: count }, (_, index) => `${pool}-${index}`);

  test("count per zone and policy, and the rest of the zone keeps its own", () => {
    world.addNodes("a", "gpu", 10);
    world.addNodes("a", "cpu", 10);
    world.run({ gpu: { nodeEvictionRate: 1 } });
    world.advance(30 * S);
    world.silence(...silent("gpu", 4), ...silent("cpu", 4));
    world.advance(54 * S);
    expect(world.tainted().filter((name) => name.startsWith("gpu"))).toHaveLength(4);
    expect(world.tainted().filter((name) => name.startsWith("cpu"))).toHaveLength(1);
    expect([...world.zones.keys()].sort()).toEqual([":\u0000:a", ":\u0000:a\u0000@gpu"]);
  });

  test("follow the threshold of the policy, which disturbs no other node", () => {
    world.addNodes("a", "gpu", 10);
    world.addNodes("a", "cpu", 10);
    world.run({ gpu: { unhealthyZoneThreshold: 0.3 } });
    world.advance(30 * S);
    world.silence(...silent("gpu", 3), ...silent("cpu", 3));
    world.advance(80 * S);
    expect(world.zones.get(":\u0000:a\u0000@gpu")).toMatchObject({ state: "PartialDisruption", taintsPerSecond: 0 });
    expect(world.zones.get(":\u0000:a")).toMatchObject({ state: "Normal", size: 10, notReady: 3 });
    expect(world.tainted().filter((name) => name.startsWith("gpu"))).toEqual([]);
  });

  test("may be 0 in full disruption, while healthy nodes elsewhere spare it", () => {
    world.addNodes("a", "gpu", 4);
    world.addNodes("a", "cpu", 4);
    world.run({ gpu: { fullDisruptionEvictionRate: 0 } });
    world.advance(30 * S);
    world.silence(...silent("gpu", 4));
    world.advance(120 * S);
    expect(world.zones.get(":\u0000:a\u0000@gpu")).toMatchObject({ state: "FullDisruption", halted: false });
    expect(world.tainted()).toEqual([]);
  });

  test("stop for all domains while every one of them is down", () => {
    world.addNodes("a", "gpu", 4);
    world.addNodes("a", "cpu", 4);
    world.run({ gpu: { nodeEvictionRate: 1 } });
    world.advance(30 * S);
    world.silence(...silent("gpu", 4), ...silent("cpu", 4));
    world.advance(200 * S);
    expect([...world.zones.values()].map(({ halted }) => halted)).toEqual([true, true]);
    expect(world.tainted()).toEqual([]);
  });
});

describe("a NodePolicy object", () => {
  const DEFINITION = parse(readFileSync(join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml"), "utf8"));

  beforeEach(() => {
    world.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION);
    world.advance(5 * S);
    world.addNodes("a", "gpu", 2);
    world.addNodes("a", "cpu", 2);
    world.run({});
    world.advance(5 * S);
  });

  const apply = (name: string, spec: object) => {
    const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name }, spec };
    world.post("/apis/vigil.io/v1alpha1/nodepolicies", policy);
  };
  const ofPool = (pool: string, fields: object = {}) => ({ selector: { matchLabels: { pool } }, ...fields });
  const statusOf = (name: string) => world.read({ kind: "NodePolicy", namespace: "", name })?.status;

  test("holds while it exists", () => {
    apply("gpu", ofPool("gpu", { nodeMonitorGracePeriod: "20s" }));
    world.advance(30 * S);
    world.silence("gpu-0", "cpu-0");
    world.advance(21 * S);
    expect([world.isUnknown("gpu-0"), world.isUnknown("cpu-0")]).toEqual([true, false]);
    const ref = { kind: "NodePolicy", namespace: "", name: "gpu" } as const;
    world.write({ verb: "delete", ref, urgency: Urgency.status });
    world.advance(5 * S);
    world.silence("gpu-1");
    world.advance(35 * S);
    expect(world.isUnknown("gpu-1")).toBe(false);
  });

  test("says in its status how many nodes it has", () => {
    apply("gpu", ofPool("gpu", { nodeMonitorGracePeriod: "20s" }));
    world.advance(30 * S);
    expect(statusOf("gpu")).toMatchObject({ observedGeneration: 1, nodes: 2, unhealthy: 0 });
    world.silence("gpu-0");
    world.advance(60 * S);
    expect(statusOf("gpu")).toMatchObject({ nodes: 2, unhealthy: 1 });
  });

  test("says in its status what its limits do, and who freezes it", () => {
    const circuitBreaker = { maxNodes: 1, duration: "10m", resetAfter: "30m" };
    apply("gpu", ofPool("gpu", { budgets: [{ nodes: 2 }], circuitBreaker, unhealthyZoneThreshold: 1 }));
    world.advance(90 * S);
    expect(statusOf("gpu")).toMatchObject({ condemned: 0, recentlyCondemned: 0, breaker: "Closed", budgetLeft: 2 });
    world.silence("gpu-0", "gpu-1");
    world.advance(120 * S);
    const open = { condemned: 1, recentlyCondemned: 1, breaker: "Open", budgetLeft: 1 };
    expect(statusOf("gpu")).toMatchObject({ ...open, breakerResetTime: expect.any(String) });
    expect(statusOf("gpu")).not.toHaveProperty("frozenBy");
    const ref = { kind: "NodePolicy", namespace: "", name: "gpu" } as const;
    const body = { spec: { pauseRequests: [{ name: "alice" }] } };
    world.write({ verb: "patch", patch: "merge", ref, body, urgency: Urgency.status });
    world.advance(10 * S);
    expect(statusOf("gpu")).toMatchObject({ ...open, frozenBy: "alice" });
  });

  test("has one Event for each thing that happens to it", () => {
    const eventsOf = (name: string) =>
      world.eventsAbout(name).map(({ reason, type, count, message }) => [reason, type, count, message]);
    const change = (spec: object, wait: number) => {
      const ref = { kind: "NodePolicy", namespace: "", name: "gpu" } as const;
      world.write({ verb: "patch", patch: "merge", ref, body: { spec }, urgency: Urgency.status });
      world.advance(wait);
    };
    const circuitBreaker = { maxNodes: 1, duration: "10m", resetAfter: "30m" };
    apply("gpu", ofPool("gpu", { circuitBreaker, unhealthyZoneThreshold: 1 }));
    world.advance(90 * S);
    expect(eventsOf("gpu")).toEqual([]);
    world.silence("gpu-0", "gpu-1");
    world.advance(120 * S);
    const opened = [
      "CircuitBreakerOpened",
      "Warning",
      1,
      "The circuit breaker is open, and none of its nodes is evicted",
    ];
    expect(eventsOf("gpu")).toEqual([opened]);
    world.restart({});
    world.advance(60 * S);
    expect(eventsOf("gpu")).toEqual([opened]);
    change({ circuitBreaker: null }, 10 * S);
    change({ pauseRequests: [{ name: "alice" }] }, 10 * S);
    world.restart({});
    world.advance(60 * S);
    change({ pauseRequests: null }, 10 * S);
    apply("other", ofPool("gpu"));
    world.advance(10 * S);
    const ref = { kind: "NodePolicy", namespace: "", name: "other" } as const;
    world.write({ verb: "delete", ref, urgency: Urgency.status });
    world.advance(20 * S);
    expect(eventsOf("gpu")).toEqual([
      opened,
      ["CircuitBreakerReset", "Normal", 1, "The circuit breaker is reset"],
      ["FreezeBegan", "Normal", 1, "Frozen by alice: no pod of its nodes is evicted"],
      ["FreezeEnded", "Normal", 1, "Its nodes are no longer frozen"],
      ["SelectorConflict", "Warning", 1, expect.stringContaining("also selected by other; neither applies there")],
      ["SelectorConflictEnded", "Normal", 1, "No other policy selects its nodes"],
    ]);
  });

  test("keeps an open breaker in its status over a restart", () => {
    const circuitBreaker = { maxNodes: 1, duration: "10m", resetAfter: "30m" };
    apply("gpu", ofPool("gpu", { circuitBreaker, unhealthyZoneThreshold: 1 }));
    world.advance(60 * S);
    world.silence("gpu-0", "gpu-1");
    world.advance(120 * S);
    world.restart({});
    for (let second = 0; second < 90; second++) {
      world.advance(S);
      expect(statusOf("gpu")).toMatchObject({ condemned: 1, breaker: "Open" });
    }
    const ref = { kind: "NodePolicy", namespace: "", name: "gpu" } as const;
    world.write({
      verb: "patch",
      patch: "merge",
      ref,
      body: { spec: { circuitBreaker: null } },
      urgency: Urgency.status,
    });
    world.advance(10 * S);
    expect(statusOf("gpu")).not.toHaveProperty("breaker");
  });

  test("that --config overrides has a status of its own", () => {
    world.restart({ gpu: { mode: "Freeze", budgets: [{ nodes: 1 }] } });
    apply("gpu", ofPool("gpu"));
    world.advance(90 * S);
    expect(statusOf("gpu")).toMatchObject({ nodes: 0, unhealthy: 0 });
    expect(statusOf("gpu")).not.toHaveProperty("frozenBy");
    expect(statusOf("gpu")).not.toHaveProperty("budgetLeft");
  });

  test("and another that selects the same nodes apply to none", () => {
    apply("gpu", ofPool("gpu", { nodeMonitorGracePeriod: "20s" }));
    apply("all", { selector: {}, nodeMonitorGracePeriod: "20s" });
    world.advance(30 * S);
    world.silence("gpu-0", "cpu-0");
    world.advance(30 * S);
    expect([world.isUnknown("gpu-0"), world.isUnknown("cpu-0")]).toEqual([false, true]);
    const isConflicting = { type: "SelectorConflict", status: "True" };
    expect(statusOf("gpu")).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining(isConflicting)]),
    });
    expect(statusOf("all")).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining(isConflicting)]),
    });
    const said = world.log.lines.filter(({ message }) => message.startsWith("several policies select the same nodes"));
    expect(said.map(({ fields }) => fields?.policies)).toEqual(["all, gpu"]);
  });

  test("is explained with each refused field, until it is right", () => {
    const refused = 'A field of it is refused and counts as unset: spec.nodeStartupGracePeriod: "1s": write 20s or';
    apply("gpu", ofPool("gpu", { nodeMonitorGracePeriod: "20s", nodeStartupGracePeriod: "1s" }));
    world.advance(10 * S);
    expect(world.explained("gpu")).toContain("It sets nodeMonitorGracePeriod 20s.");
    expect(world.explained("gpu")).toContainEqual(expect.stringContaining(refused));
    const ref = { kind: "NodePolicy", namespace: "", name: "gpu" } as const;
    const body = { spec: { nodeStartupGracePeriod: null } };
    world.write({ verb: "patch", patch: "merge", ref, body, urgency: Urgency.status });
    world.advance(10 * S);
    expect(world.explained("gpu").join("\n")).not.toContain("refused");
  });

  test("is not published again because of its status", () => {
    for (let index = 0; index < 10; index++) apply(`p-${index}`, ofPool(`p-${index}`));
    world.advance(60 * S);
    const before = world.policies;
    for (let index = 0; index < 5; index++) {
      const ref = { kind: "NodePolicy", namespace: "", name: "p-1" } as const;
      const body = { status: { nodes: 100 + index } };
      world.write({ verb: "patch", patch: "merge", ref, subresource: "status", body, urgency: Urgency.status });
      world.advance(10 * S);
    }
    expect(statusOf("p-1")).toMatchObject({ nodes: 0 });
    // Two of the ten every 5 s, as at rest.
    expect(world.policies - before).toBe((50 / 5) * 2);
  });

  test("with a wrong field says so in the log", () => {
    apply("gpu", ofPool("gpu", { nodeMonitorGracePeriod: "20s", nodeStartupGracePeriod: "1s" }));
    world.advance(30 * S);
    const problem = 'NodePolicy gpu: spec.nodeStartupGracePeriod: "1s": write 20s or longer;';
    expect(world.log.lines.filter(({ message }) => message.startsWith(problem))).toHaveLength(1);
  });
});
