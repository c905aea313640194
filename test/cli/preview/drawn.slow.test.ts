/** Previews under policies that seeds draw, held against what then happens in the same cluster. */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../support/random.seeded.ts";
import { expectToHold, policyWorld, previewedOn } from "./preview-world.ts";

const S = 1000;
const SEEDS = 24;
/** Where a limit ends by itself, a run goes on with its next pulse, which comes every 5 s here. */
const LATE_S = 6;
/** How long nothing may happen after the last thing that a preview names. */
const AFTERWARDS_MS = 300 * S;
const DOWN = ["a-0", "a-1", "a-2", "a-3"];

/** What a policy may set; each seed draws some of it. */
const FIELDS: readonly ((random: () => number) => object)[] = [
  () => ({ nodeMonitorGracePeriod: "30s" }),
  (random) => ({ nodeEvictionRate: random() < 0.5 ? 0.05 : 0.5 }),
  (random) => ({ circuitBreaker: { maxNodes: 1 + Math.floor(random() * 2), duration: "5m", resetAfter: "2m" } }),
  () => ({ maxUnhealthy: 3, stormCooldownDuration: "2m" }),
  (random) => ({ budgets: [{ nodes: 1 + Math.floor(random() * 3) }] }),
  () => ({ budgets: [{ nodes: 0, schedule: "*/15 * * * *", duration: "7m" }] }),
  (random) => ({ evictions: { maxPerMinute: 1 + Math.floor(random() * 2) } }),
  () => ({ secondaryNodeEvictionRate: 0.1, unhealthyZoneThreshold: 0.5 }),
];

describe("a preview of seed", () => {
  test.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))("%i comes true", (seed) => {
    const random = seededRandom(seed);
    const drawn = FIELDS.filter(() => random() < 0.35).map((field) => field(random));
    const fields: object = Object.assign({}, ...drawn);
    const world = policyWorld(() => fields);
    const down = DOWN.slice(0, 1 + Math.floor(random() * DOWN.length));
    world.advance(Math.floor(random() * 30) * S);
    const preview = previewedOn(world, { node: down, down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(down);
    const named = [
      ...preview.nodes.map(({ admittedAfterMs }) => admittedAfterMs ?? 0),
      ...preview.pods.map(({ deletedAfterMs }) => deletedAfterMs ?? 0),
    ];
    world.advance(Math.max(...named) + AFTERWARDS_MS);
    expectToHold(preview, world, fromMs, LATE_S);
    expect(preview.nodes.every(({ isDownAlready = false }) => !isDownAlready)).toBe(true);
  });
});
