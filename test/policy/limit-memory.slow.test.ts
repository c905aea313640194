/** What the limits of policies remember over a restart of everything, in a ConfigMap. */

import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import { type Clock, Urgency, type Wire } from "../../protocols/ports.ts";
import { STANDARD_BOUNDS } from "../../protocols/profile.ts";
import { PolicyReceiver } from "../../services/platform/node-policies/policy-receiver.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { limitMemoryText, readLimitMemories } from "../../services/policy/limit-memory.policy.ts";
import { policyService } from "../../services/policy/policy.service.ts";
import { countOf } from "../../services/structures/counted-spans.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import type { PolicyFields } from "../support/hand-policies.ts";
import { recordingLog } from "../support/recording-log.ts";
import type { StartOptions } from "../support/virtual-cluster.ts";

const S = 1000;
const { limitMemoryCharactersMax } = STANDARD_BOUNDS;
const MINUTE = 60 * S;
type LimitMemory = NonNullable<BodyOf<"judged.memory">["memory"]>;
const MEMORY: LimitMemory = {
  trippedAt: 1_000,
  resetAt: 2_000,
  isStorm: true,
  stormEndedAt: null,
  condemnations: [{ node: "n", at: 500 }],
};
/** How everything starts in a test. */
type Start = Pick<StartOptions, "clockOver" | "wireOver"> & { readonly lateMs?: number };

/** The clocks of a machine: the monotonic one has fractions of a millisecond, the wall clock has none. */
function fractionalClock(clock: Clock): Clock {
  const fraction = (): number => (Math.floor(clock.monotonicMs() / 7) * 0.377) % 1;
  return {
    monotonicMs: () => Math.floor(clock.monotonicMs()) + fraction(),
    wallMs: () => Math.floor(clock.wallMs()),
    after: (delayMs, fire) => clock.after(Math.ceil(delayMs), fire),
    soon: (run) => clock.soon(run),
  };
}

/** A wire on which each response takes 5 ms, so that the server's clock is not known exactly. */
function slowWire(wire: Wire, clock: Clock): Wire {
  const later = (deliver: () => void): void => void clock.after(5, deliver);
  return {
    send: (request, exchange) =>
      wire.send(request, {
        response: (status, headers) => later(() => exchange.response(status, headers)),
        data: (chunk, waitedMs) => later(() => exchange.data(chunk, waitedMs)),
        end: () => later(() => exchange.end()),
        failed: (problem) => later(() => exchange.failed(problem)),
      }),
  };
}

/** Two nodes fall silent, and a breaker for one of them opens for the other. */
function trip(world: EvictionWorld): void {
  world.advance(MINUTE);
  world.silence(["a-0", "a-1"]);
  world.advance(3 * MINUTE);
  expect(world.tainted).toHaveLength(1);
}

describe("the stored text", () => {
  test("holds the memory of each policy", () => {
    const text = limitMemoryText(
      new Map([
        ["gpu", MEMORY],
        ["spot", null],
      ]),
      limitMemoryCharactersMax,
    );
    expect(readLimitMemories(text)).toEqual({ memories: new Map([["gpu", MEMORY]]), problem: null });
  });

  test("counts condemned nodes without names rather than leave them out", () => {
    const condemnations = Array.from({ length: 128 }, (_, index) => ({ node: `${index}`.padEnd(200, "x"), at: index }));
    const many = Array.from({ length: 40 }, (_, index) => [`p${index}`, { ...MEMORY, condemnations }] as const);
    const { memories } = readLimitMemories(limitMemoryText(new Map(many), limitMemoryCharactersMax));
    expect(memories.size).toBe(40);
    const { condemnations: named, earlier = [], ...rest } = memories.get("p0") ?? MEMORY;
    expect({ ...rest, condemnations: named }).toEqual({ ...MEMORY, condemnations: [] });
    expect([earlier.length, countOf(earlier), earlier.at(-1)?.toAt]).toEqual([32, 128, 127]);
  });

  test("counts all nodes of a policy in one span at the shortest", () => {
    const earlier = [
      { fromAt: 100, toAt: 200, count: 7 },
      { fromAt: 300, toAt: 400, count: 5 },
    ];
    const { memories } = readLimitMemories(limitMemoryText(new Map([["gpu", { ...MEMORY, earlier }]]), 0));
    const one = [{ fromAt: 100, toAt: 500, count: 13 }];
    expect(memories.get("gpu")).toEqual({ ...MEMORY, condemnations: [], earlier: one });
  });

  test.each([
    [null, null],
    ["nonsense", null],
    ['{"gpu": {"trippedAt": "yesterday"}}', "the memory of gpu is malformed and counts as none"],
  ])("counts as none when it is %j", (limits, problem) => {
    const { memories, problem: found } = readLimitMemories(limits);
    expect([memories.size, found]).toEqual([0, problem]);
  });
});

describe("after a restart of everything", () => {
  /** Starts everything; the policy service so much later, in a process of its own. */
  const run = (world: EvictionWorld, fields: PolicyFields, { lateMs = 0, ...machine }: Start = {}) => {
    const selector = { matchLabels: { "topology.kubernetes.io/zone": "a" } };
    const configured = [{ name: "pool", spec: { selector, ...fields } }];
    const policies = new PolicyReceiver({
      clock: world.clock,
      bus: world.busOf("policy", "receiver"),
      log: recordingLog(),
      metrics: createMetrics(),
    });
    const policy = policyService(configured);
    const processes = [
      world.start({ ...EVICTING, ...(lateMs > 0 ? {} : { policy }) }, { ...machine, member: "vigil", policies }),
    ];
    world.advance(lateMs);
    if (lateMs > 0) processes.push(world.start({ policy }, { member: "policies", policies }));
    return () => {
      for (const process of processes) process.kill();
      policies.stop();
    };
  };
  const circuitBreaker = { maxNodes: 1, duration: "5m", resetAfter: "10m" };
  /** Stays open beyond the test. */
  const longOpen = { circuitBreaker: { ...circuitBreaker, duration: "2m", resetAfter: "60m" } };

  const worldOf = () => {
    const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
    world.addZone("a", 5);
    world.addZone("c", 3);
    return world;
  };

  test("a breaker that could not be remembered is open", () => {
    const world = worldOf();
    const kill = run(world, { circuitBreaker });
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name } };
    world.write({ verb: "create", ref: FREEZE_CONFIG_MAP, urgency: Urgency.status, body });
    world.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ verb, resource }) => verb === "patch" && resource.plural === "configmaps",
    });
    world.advance(MINUTE);
    kill();
    run(world, { circuitBreaker });
    world.silence(["a-0"]);
    world.advance(9 * MINUTE);
    expect(world.tainted).toHaveLength(0);
    world.advance(2 * MINUTE);
    expect(world.tainted).toHaveLength(1);
  });

  test("an open breaker stays open until it resets", () => {
    const world = worldOf();
    const kill = run(world, { circuitBreaker });
    trip(world);
    const [first = { name: "" }] = world.tainted;
    world.revive([first.name]);
    world.advance(10 * S);
    kill();
    world.advance(MINUTE);
    run(world, { circuitBreaker });
    world.advance(5 * MINUTE);
    expect(world.tainted).toHaveLength(1);
    world.advance(6 * MINUTE);
    expect(world.tainted).toHaveLength(2);
  });

  test.each([5 * S, 40 * S])("an open breaker stays open, policies %d ms late", (lateMs) => {
    const world = worldOf();
    const kill = run(world, longOpen);
    trip(world);
    kill();
    world.advance(10 * S);
    run(world, longOpen, { lateMs });
    world.advance(3 * MINUTE);
    expect(world.published("judged.limits").at(-1)?.body.memory.trippedAt).toBeGreaterThan(0);
    expect(world.tainted).toHaveLength(1);
  });

  test("a node that has healed still counts in the window", () => {
    const world = worldOf();
    const kill = run(world, { circuitBreaker });
    world.advance(60 * S);
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    world.revive(["a-0"]);
    world.advance(10 * S);
    kill();
    run(world, { circuitBreaker });
    world.silence(["a-1"]);
    world.advance(2 * MINUTE);
    expect(world.tainted.map(({ name }) => name)).toEqual(["a-0"]);
  });

  test("a node that has left counts at the secondary rate", () => {
    const world = worldOf();
    const fields = { maxUnhealthy: 2, stormCooldownDuration: "10m", secondaryNodeEvictionRate: 0.002 };
    const kill = run(world, fields);
    world.advance(MINUTE);
    world.silence(["a-0", "a-1", "a-2"]);
    world.advance(2 * MINUTE);
    world.revive(["a-2"]);
    world.advance(10 * MINUTE + 20 * S);
    const [first = { name: "" }] = world.tainted;
    expect(world.tainted).toHaveLength(1);
    world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name: first.name }, urgency: Urgency.healing });
    world.advance(10 * S);
    kill();
    run(world, fields);
    world.advance(2 * MINUTE);
    expect(world.tainted).toHaveLength(1);
  });

  test("it is repeated while no owner of the limits has it", () => {
    const world = worldOf();
    const kill = run(world, { circuitBreaker });
    const times = (ms: number): number => {
      const before = world.published("judged.memory").length;
      world.advance(ms);
      return world.published("judged.memory").length - before;
    };
    expect(times(MINUTE)).toBeGreaterThan(0);
    expect(times(MINUTE)).toBe(0);
    kill();
    world.start({ policy: policyService([{ name: "pool", spec: { selector: {}, circuitBreaker } }]) }, { member: "x" });
    world.advance(10 * S);
    expect(times(MINUTE)).toBe(12);
  });

  test("a breaker that was configured away is closed", () => {
    const world = worldOf();
    const policy = policyService([]);
    const profile = { circuitBreakerNodesMax: 1, circuitBreakerDurationMs: MINUTE, circuitBreakerResetAfterMs: 0 };
    const start = (more: StartOptions = {}) => world.start({ ...EVICTING, policy }, { member: "vigil", ...more });
    const before = start({ profile });
    trip(world);
    before.kill();
    const without = start();
    world.advance(20 * S);
    without.kill();
    start({ profile });
    world.advance(MINUTE);
    expect(world.published("judged.limits").at(-1)?.body.memory.trippedAt).toBe(null);
  });

  test("an open breaker outlives its deleted ConfigMap", () => {
    const world = worldOf();
    const kill = run(world, longOpen);
    trip(world);
    world.write({ verb: "delete", ref: FREEZE_CONFIG_MAP, urgency: Urgency.healing });
    world.advance(10 * S);
    kill();
    run(world, longOpen);
    world.advance(3 * MINUTE);
    expect(world.tainted).toHaveLength(1);
  });

  test("without limits nothing is stored or read", () => {
    const world = worldOf();
    run(world, { healthyDelay: "1m" });
    world.advance(MINUTE);
    expect(world.published("judged.memory")).toEqual([]);
    expect(world.published("judged.limits")).toEqual([]);
  });

  test("clocks that tick apart store an open breaker once", () => {
    const world = worldOf();
    run(world, { circuitBreaker }, { clockOver: fractionalClock, wireOver: (wire) => slowWire(wire, world.clock) });
    trip(world);
    const versions = new Set<string | undefined>();
    for (let second = 0; second < 120; second++) {
      world.kube.read(FREEZE_CONFIG_MAP, (reply) => {
        if (reply.outcome === "ok") versions.add(reply.object.metadata?.resourceVersion);
      });
      world.advance(S);
    }
    expect(versions.size).toBe(1);
  });

  test("the memory is in its ConfigMap", () => {
    const world = worldOf();
    run(world, { circuitBreaker });
    world.advance(MINUTE);
    let data: unknown = null;
    world.kube.read(FREEZE_CONFIG_MAP, (reply) => {
      if (reply.outcome === "ok") data = reply.object.data;
    });
    world.advance(S);
    expect(data).toEqual({ limits: expect.stringContaining('"pool":{"trippedAt":null') });
  });
});
