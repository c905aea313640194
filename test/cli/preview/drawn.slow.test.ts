/** Previews under policies that seeds draw, held against what then happens in the same cluster. */
import { describe, test } from "vitest";
import { Cluster } from "../../../services/sandbox/controllers/cluster.ts";
import { startDisruptionBudgets } from "../../../services/sandbox/controllers/disruption-budgets.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { expectToHold, type PreviewWorld, policyWorld, previewedOn } from "./preview-world.ts";

const S = 1000;
const SEEDS = 30;
/** How long nothing may happen after the last thing that a preview names. */
const AFTERWARDS_MS = 300 * S;
const DOWN = ["a-0", "a-1", "a-2", "a-3"];

type Draw = () => number;

/** What a policy may set; each seed draws some of it. */
const FIELDS: readonly ((random: Draw) => object)[] = [
  () => ({ nodeMonitorGracePeriod: "30s" }),
  (random) => ({ nodeEvictionRate: random() < 0.5 ? 0.05 : 0.5 }),
  (random) => ({ circuitBreaker: { maxNodes: 1 + Math.floor(random() * 2), duration: "5m", resetAfter: "2m" } }),
  () => ({ maxUnhealthy: 3, stormCooldownDuration: "2m" }),
  (random) => ({ budgets: [{ nodes: 1 + Math.floor(random() * 3) }] }),
  () => ({ budgets: [{ nodes: 0, schedule: "*/15 * * * *", duration: "7m" }] }),
  () => ({ secondaryNodeEvictionRate: 0.1, unhealthyZoneThreshold: 0.5 }),
];

/** How pods are evicted; each seed draws one. */
const EVICTIONS: readonly ((random: Draw) => object)[] = [
  () => ({}),
  (random) => ({ evictions: { maxPerMinute: 1 + Math.floor(random() * 2) } }),
  () => ({ evictions: { method: "Evict" } }),
  (random) => ({ evictions: { method: "EvictThenDelete", deleteAfter: `${2 + Math.floor(random() * 4)}m` } }),
  () => ({ evictions: { method: "EvictThenDelete", deleteAfter: "3m", maxPerMinute: 2 } }),
];

/** Pods of an application on some nodes, and a disruption budget that needs some of them. */
function addShop(world: PreviewWorld, random: Draw): void {
  startDisruptionBudgets(new Cluster(world.api, world.clock));
  for (const node of [...DOWN, "c-0", "c-1"].filter(() => random() < 0.7)) {
    world.addPod(node, `shop-${node}`, { metadata: { labels: { app: "shop" } } });
  }
  const spec = { minAvailable: 1 + Math.floor(random() * 4), selector: { matchLabels: { app: "shop" } } };
  const metadata = { name: "shop", namespace: "default" };
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec };
  world.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget);
  world.advance(61 * S);
}

describe("a preview of seed", () => {
  test.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))("%i comes true", (seed) => {
    const random = seededRandom(seed);
    const drawn = FIELDS.filter(() => random() < 0.35).map((field) => field(random));
    const evictions = EVICTIONS[seed % EVICTIONS.length]?.(random);
    const fields: object = Object.assign({}, ...drawn, evictions);
    const world = policyWorld(() => fields);
    addShop(world, random);
    const down = DOWN.slice(0, 1 + Math.floor(random() * DOWN.length));
    const isUnderWay = random() < 0.4;
    if (isUnderWay) world.silence(["a-4"]);
    world.advance(Math.floor(random() * (isUnderWay ? 400 : 30)) * S);
    const preview = previewedOn(world, { node: down, down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(down);
    world.advance(preview.overAfterMs + AFTERWARDS_MS);
    expectToHold(preview, world, fromMs);
  });
});
