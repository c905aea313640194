/** What node policies cost a process while every node is well: the messages that its services receive. */
import { expect, test } from "vitest";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import type { Io } from "../../protocols/ports.ts";
import type { ConfiguredPolicy } from "../../services/domain/node-policy.parse.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { PolicyReceiver } from "../../services/platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { policyService } from "../../services/policy/policy.service.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { metricValue } from "../support/metric-value.ts";

const S = 1000;
const MINUTE = 60 * S;
const POOLS = 20;
/** From a start until nothing is repeated for its novelty, and every look after the start is over. */
const AT_REST_MS = 5 * MINUTE;

const LIMITS: Omit<NodePolicySpec, "selector"> = {
  nodeEvictionRate: 0.1,
  maxUnhealthy: "20%",
  circuitBreaker: { percentage: 10, duration: "10m", resetAfter: "30m" },
  stormCooldownDuration: "10m",
  budgets: [{ nodes: "10%" }],
};

/** Forty nodes in twenty pools, and one process with every service. */
class PoolsAtRest extends EvictionWorld {
  readonly #metrics: ReadableMetrics;

  constructor(spec: Omit<NodePolicySpec, "selector"> | null) {
    super({ pulsePeriodMs: S, pulseTimeoutMs: 4 * S });
    const pools = Array.from({ length: POOLS }, (_, index) => `pool-${index}`);
    for (const pool of pools) this.addZone(pool, 2);
    const named = (name: string): ConfiguredPolicy => {
      return { name, spec: { selector: { matchLabels: { "topology.kubernetes.io/zone": name } }, ...spec } };
    };
    const received = { bus: this.busOf("policies", "vigil"), clock: this.clock, log: silentLog };
    const policies = new PolicyReceiver({ ...received, metrics: createMetrics() });
    const policy = policyService(spec === null ? [] : pools.map(named));
    const ledger = (io: Io) => startLedger(io).stop;
    this.#metrics = this.start({ ...EVICTING, policy, ledger }, { member: "vigil", policies }).metrics;
    this.advance(AT_REST_MS);
  }

  /** How many messages of some types its services receive in a minute. */
  async receivedAtRest(...types: readonly string[]): Promise<number> {
    const count = async () => {
      const counts = types.map((type) => metricValue(this.#metrics, "vigil_bus_received_total", { type }));
      return (await Promise.all(counts)).reduce((sum, value) => sum + value, 0);
    };
    const before = await count();
    this.advance(MINUTE);
    return (await count()) - before;
  }
}

test("limits at rest wake only the services that always need them", async () => {
  const world = new PoolsAtRest(LIMITS);
  // Every 10 s each policy once, to the owner's zones, the candidate for its Lease, its memory and the ledger.
  expect(await world.receivedAtRest("judged.limits")).toBe((60 / 10) * POOLS * 4);
});

test("limits wake the node service too where a policy has outOfService", async () => {
  const world = new PoolsAtRest({ ...LIMITS, outOfService: { after: "10m", proof: ["Manual"] } });
  expect(await world.receivedAtRest("judged.limits")).toBe((60 / 10) * POOLS * 5);
});

test("a grace of a policy adds no messages about zones and limits", async () => {
  const [plain, none] = [new PoolsAtRest({ nodeMonitorGracePeriod: "50s" }), new PoolsAtRest(null)];
  const types = ["judged.zone", "judged.limits", "judged.lease"];
  expect(await plain.receivedAtRest(...types)).toBe(await none.receivedAtRest(...types));
});
